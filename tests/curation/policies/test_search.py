"""The search for what helps finds what trying everything finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from ctxtui.core.block import HEADER, Block
from ctxtui.core.edit import REVERT, USER, Edit, Target, make
from ctxtui.core.edit_kinds import DEDUPLICATE, DROP, EXTERNALIZE, PIN, STRIP, SUMMARIZE, TRUNCATE
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.curation.context import Context
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Policy, Step, propose_once, run, run_all
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.risk import Risk, drops_only_tools, loses_text, risk_of
from ctxtui.curation.policies.search import LazyProposal, Remedy, search
from ctxtui.services.recordings.open import load
from tests.cases.long_runs import long_run
from tests.curation.conversations import context_of
from tests.pty_app import REPO
from tests.sampling import few

SAMPLES = sorted((REPO / "sessions").glob("*.jsonl"))
RULES = tuple(policy for policy in POLICIES.values() if policy.name != budget.NAME)


def count(block: Block) -> int:
    return 0 if block.kind == HEADER else 1 + len(block.body) // 4


def policy_context_of(context: Context, usable: int = 30_000, **more: object) -> PolicyContext:
    items = context.items
    known = {"log": (), **more}
    return PolicyContext(
        context=context, tokens=lambda position: count(items[position].block), count=count, usable=usable, **known
    )  # type: ignore[arg-type]


def sample(path: Path) -> PolicyContext:
    session = load(path).session
    call = session.thread_calls(MAIN)[-1]
    context = Context.of_call(session.tree, call, call.sent_head)
    return policy_context_of(context, usable=policy_context_of(context).total * 3 // 4)


@cache
def case(name: str) -> PolicyContext:
    if name.isdigit():
        return policy_context_of(context_of(long_run(int(name)), "anthropic")[0])
    return sample(REPO / "sessions" / name)


CASES = [*(path.name for path in SAMPLES), *map(str, range(3))]
QUICK = [pytest.param(name, marks=[pytest.mark.slow] if name[:2] in ("1-", "3-") else []) for name in CASES]
"""The two longest samples take half a minute of brute force."""


@cache
def everything(name: str) -> list[tuple[int, Risk]]:
    """Every policy and every two in either order: what they free, at what risk."""
    return list(_everything(case(name)))


def _everything(policy_context: PolicyContext) -> Iterator[tuple[int, Risk]]:
    total = policy_context.total
    ways: list[tuple[Policy, ...]] = [*((one,) for one in RULES), *permutations(RULES, 2)]
    for way in ways:
        made = run_all([Step(policy) for policy in way], policy_context)
        after = policy_context.under(made)
        if made and not after.applied.refused:
            yield total - after.total, risk_of(policy_context.context, made)


@pytest.mark.parametrize("name", few(QUICK))
def test_it_frees_what_the_best_of_all_pairs_frees(name: str) -> None:
    policy_context = case(name)
    found = list(search(policy_context, RULES))
    for risk in Risk:
        most = max((freed for freed, risks in everything(name) if risks <= risk), default=0)
        mine = max((one.freed for one in found if one.risk <= risk), default=0)
        assert mine >= 0.99 * most, f"at {risk.description}"


@pytest.mark.parametrize("name", QUICK)
def test_what_it_says_is_what_the_edits_do(name: str) -> None:
    policy_context = case(name)
    for one in search(policy_context, RULES):
        assert policy_context.total - policy_context.under(one.edits).total == one.freed > 0
        assert one.risk == risk_of(policy_context.context, one.edits)


@pytest.mark.slow
def test_little_work_still_finds_nearly_the_best() -> None:
    """What two do together is foretold well enough that 2 to 6 of the 30 to 156 pairs suffice. Where the pair that
    promises most proposes nothing in earnest (a summary of what is short by then), the next ones are tried: for that
    one sample needs 15 times its blocks, the others 8."""
    for name in CASES:
        policy_context = case(name)
        few = list(search(policy_context, RULES, work=16 * len(policy_context.context)))
        most = max((freed for freed, _ in everything(name)), default=0)
        assert max((one.freed for one in few), default=0) >= 0.95 * most


def counted(asked: list[str]) -> list[Policy]:
    """Our policies, which note when they are asked."""

    def noting(policy: Policy) -> Policy:
        def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
            asked.append(policy.name)
            yield from policy.propose(policy_context, settings)

        return Policy(policy.name, policy.about, propose, policy.defaults, policy.notes)

    return [noting(policy) for policy in RULES]


def test_its_work_is_bounded_by_blocks() -> None:
    policy_context = case("0")
    asked: list[str] = []
    list(search(policy_context, counted(asked), work=3 * len(policy_context.context)))
    assert len(asked) <= len(RULES) + 3
    asked.clear()
    list(search(policy_context, counted(asked), work=0))
    assert len(asked) == len(RULES), "each one alone is always tried"


def test_who_stops_asking_stops_it() -> None:
    asked: list[str] = []
    next(search(case("1"), counted(asked)))
    assert len(asked) < len(RULES)


def test_it_is_the_same_every_time() -> None:
    assert list(search(case("2"), RULES)) == list(search(case("2"), RULES))


def test_a_policy_that_fails_spoils_nothing() -> None:
    def fails(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
        raise CtxtuiError("broken")

    policy_context = case("0")
    assert list(search(policy_context, [Policy("x", "", fails), *RULES])) == list(search(policy_context, RULES))


def test_a_pinned_block_is_in_no_remedy() -> None:
    plain = case("0")
    most = max(range(len(plain.context)), key=plain.size)
    pinned = policy_context_of(plain.context, log=(make(PIN, plain.context.targets([most])),))
    assert all(most not in one.saved for one in search(pinned, RULES))
    assert any(most in one.saved for one in search(plain, RULES))


def test_risks_are_told_by_what_goes() -> None:
    context, _ = context_of(long_run(3), "anthropic")
    results = [p for p, item in enumerate(context.items) if item.block.kind == "tool_result"]
    twice = next(p for p in results if context.is_duplicate(p))
    once = next(p for p in results if not context.is_duplicate(p))
    tool = context.tools[0]

    def risk(kind: str, position: int, **given: object) -> Risk:
        return risk_of(context, [make(kind, context.targets([position]), given)])  # type: ignore[arg-type]

    assert risk(DEDUPLICATE, twice, text="[as above]") == Risk.NOTHING
    assert risk(DEDUPLICATE, once, text="[Outdated]") == Risk.PARTS, "its words stand nowhere else"
    assert risk(EXTERNALIZE, once, name="x") == Risk.OUTSIDE
    assert risk("compact_json", once) == Risk.NOTHING
    assert risk("compact_json", once, drop=["a"]) == Risk.PARTS
    assert risk("compact_json", once, flatten=["a"]) == Risk.PARTS, "false members are left out"
    assert risk(TRUNCATE, once) == risk(STRIP, once) == risk(DROP, tool) == Risk.PARTS
    assert risk(SUMMARIZE, once, text="x") == Risk.SUMMARY
    assert risk(DROP, once) == Risk.GONE
    assert risk_of(context, []) == Risk.NOTHING and all(one.description for one in Risk)
    gone = make(DROP, [Target("of no block here")], {})
    assert loses_text(context, [gone]) and not drops_only_tools(context, [gone]), "a block that went is no tool"


# The policy that searches


def spent(policy_context: PolicyContext, target: int) -> tuple[list[Edit], PolicyContext]:
    made = run(Step(POLICIES[budget.NAME], {"target": target}), policy_context)
    return made, policy_context.under(made)


@pytest.mark.parametrize("name", few(QUICK))
@pytest.mark.parametrize(
    "share", [pytest.param(0.9, marks=pytest.mark.slow), 0.6, pytest.param(0.3, marks=pytest.mark.slow)]
)
def test_a_budget_is_reached_wherever_any_pair_reaches_it(name: str, share: float) -> None:
    """And at no more risk than the least that suffices, where that leaves the newest rounds alone."""
    policy_context = case(name)
    target = round(policy_context.total * share)
    made, after = spent(policy_context, target)
    tried = [(freed, risk) for freed, risk in everything(name) if policy_context.total - freed <= target]
    if not tried:
        return
    assert after.total <= target
    harmless = [risk for _, risk in tried if risk <= Risk.OUTSIDE]
    if harmless:
        assert risk_of(policy_context.context, made) <= min(harmless)


def test_what_stands_outside_goes_before_what_is_summarised() -> None:
    """Five messages full of code, and nothing else worth taking."""
    policy_context = sample(REPO / "sessions" / "1-pineapple-evolve.jsonl")
    made, after = spent(policy_context, policy_context.total // 4)
    assert after.total <= policy_context.total // 4
    assert {(one.kind, one.author) for one in made} == {(EXTERNALIZE, budget.NAME)}
    assert risk_of(policy_context.context, made) == Risk.OUTSIDE


def test_no_more_goes_than_is_needed() -> None:
    policy_context = sample(REPO / "sessions" / "1-pineapple-evolve.jsonl")
    few, _ = spent(policy_context, round(policy_context.total * 0.8))
    many, _ = spent(policy_context, round(policy_context.total * 0.3))
    assert 0 < len(few) < len(many)


def test_what_a_user_took_back_is_found_by_no_other_policy() -> None:
    policy_context = sample(REPO / "sessions" / "1-pineapple-evolve.jsonl")
    made, _ = spent(policy_context, policy_context.total // 4)
    reverts = [Edit(f"r{n}", REVERT, reverts=one.id) for n, one in enumerate(made)]
    again, _ = spent(policy_context.under([*made, *reverts]), policy_context.total // 4)
    find = policy_context.context.find
    taken = {find(target) for one in made for target in one.targets}
    assert not taken & {find(target) for one in again for target in one.targets}


@pytest.mark.parametrize(("author", "expected"), [(USER, {1}), ("agent", set())])
def test_only_the_users_own_reverts_keep_policies_away(author: str, expected: set[int]) -> None:
    context, _ = context_of(long_run(1), "anthropic")
    edit = make(EXTERNALIZE, context.targets([1]), {"name": "x"}, author="agent")
    log = (edit, Edit("r", REVERT, author=author, reverts=edit.id))
    assert policy_context_of(context, log=log).reverted_by_user == expected


def test_plug_ins_are_searched_too() -> None:
    def clear(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
        yield make_edit(policy_context, "mine", EXTERNALIZE, [1], {"name": "all"})

    body = long_run(1, turns=1, rounds=1)
    body["messages"][0]["content"] = [{"type": "text", "text": "x" * 8_000}]
    del body["tools"]
    context, _ = context_of(body, "anthropic")
    mine = Policy("mine", "", clear)
    policy_context = policy_context_of(context)
    step = Step(budget.make_policy([mine, POLICIES[budget.NAME]]), {"target": policy_context.total - 1_500})
    assert [one.params.get("name") for one in run(step, policy_context)] == ["all"]


def test_one_that_is_asked_once_gives_a_first_answer() -> None:
    policy_context = case("0")
    step = Step(POLICIES["truncate_results"])
    assert propose_once(step, policy_context) == run(step, policy_context) and isinstance(
        next(search(policy_context, RULES)), Remedy
    )


def test_who_is_asked_edit_by_edit_says_no_more_than_is_heard() -> None:
    said: list[str] = []

    def both(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
        for kind, given in ((TRUNCATE, {"head": 1, "tail": 1}), (DROP, {}), (EXTERNALIZE, {"name": "all"})):
            said.append(kind)
            yield make_edit(policy_context, "mine", kind, policy_context.results[:1], given)

    policy_context, mine = case("0"), Policy("mine", "", both)
    asking = LazyProposal(policy_context, mine)
    assert asking.get(lambda one, risk: risk > Risk.PARTS) is None and said == [TRUNCATE, DROP]
    assert asking.get(lambda one, risk: risk > Risk.PARTS) is None and said == [TRUNCATE, DROP]
    whole = asking.get()
    assert said == [TRUNCATE, DROP, EXTERNALIZE] and whole is not None
    assert whole == LazyProposal(policy_context, mine).get()
    assert whole.risk == Risk.GONE and asking.get(lambda one, risk: one.kind == DROP) is None
