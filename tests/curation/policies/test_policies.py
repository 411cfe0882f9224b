"""Laws of every policy: it is reversible and legal, removes no pinned block, settles at once and stays settled."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block
from ctxtui.core.edit import REVERT, USER, Edit, make
from ctxtui.core.edit_kinds import DROP, PIN, TRUNCATE
from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.policies.policy import Step, run, run_all
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.profile import make_step, parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.risk import risk_of
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from ctxtui.wire.grammar import RESPONSES
from tests.cases.sessions import Story, use
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES
from tests.curation.test_random_edits import STRICT
from tests.offline.signing import sign_all

EAGER: dict[str, dict[str, Any]] = {
    "sliding_window": {"n": 3, "slack": 0},
    "keep_rounds": {"n": 1, "slack": 0, "limit": 600},
    "truncate_results": {"limit": 100},
    "clear_tool_results": {"trigger": 10, "keep": 1, "at_least": 1},
    "dedupe_reads": {"minimum": 1, "at_least": 1},
    "externalize_large": {"code": 10, "size": 100},
    "compact_json": {"least": 0},
    "trim_old_turns": {"least": 0},
    "strip_images": {"keep": 0},
    "strip_thinking": {"at_least": 0},
    "minimise_schemas": {"description": 4},
    "drop_unused_tools": {"rounds": 1},
    "tabulate_trials": {"least": 1},
    "summarize_every": {"k": 1, "keep": 0},
    "summarize_at": {"tokens": 200, "keep": 1},
    "generation_window": {"n": 1, "boundary": "."},
    "hybrid": {"n": 3, "slack": 0, "limit": 100},
    "stateless": {},
    "budget": {"target": 300, "keep": 0, "cut": 100},
}


def count(block: Block) -> int:
    return 3 if block.kind == HEADER else 4 + len(block.body) // 4


def policy_context_of(context: Context, log: Any = (), **more: Any) -> PolicyContext:
    items = context.items
    return PolicyContext(
        context=context, log=tuple(log), tokens=lambda position: count(items[position].block), count=count, **more
    )


def some_pins(rng: Random, context: Context) -> list[Edit]:
    chosen = [rng.randrange(len(context)) for _ in range(rng.randint(0, 3))]
    kinds = [rng.choice([PIN, PIN, TRUNCATE, DROP]) for _ in chosen]
    return [make(k, context.targets([p]), id=f"u{n}") for n, (k, p) in enumerate(zip(kinds, chosen, strict=True))]


def about(context: Context, log: list[Edit]) -> set[tuple[str, int | None]]:
    """Who has which positions in hand."""
    return {(edit.author, context.find(target)) for edit in log for target in edit.targets}


def test_every_policy_is_tried() -> None:
    assert set(EAGER) == set(POLICIES)
    for policy in POLICIES.values():
        assert policy.about and set(policy.notes) == set(policy.defaults)


@pytest.mark.parametrize("name", sorted(POLICIES))
@settings(max_examples=1000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 20)
@given(st.integers(0, 10_000))
def test_laws(name: str, seed: int) -> None:
    rng = Random(f"{name} {seed}")
    dialect = rng.choice(sorted(SHAPES))
    body = SHAPES[dialect](rng)
    body = sign_all(body) if dialect == "anthropic" else body
    context, request = context_of(body, dialect)
    card = model_table().card(body["model"])
    rules = rules_for(dialect, card)
    user = some_pins(rng, context)
    before = policy_context_of(context, user, rules=rules)
    step = Step(POLICIES[name], EAGER[name])
    made = run(step, before)
    assert made == run(step, before)
    # Who looks for what risks less does not ask it.
    assert all(risk_of(context, [edit]) >= step.policy.least for edit in made)
    after = before.under(made)
    # Law 10: nothing new on its own result.
    assert run(step, after) == []
    applied = after.applied
    # Law 4: no pinned block is changed, and reverting everything is nothing.
    pinned = {p for e in user if e.kind == PIN for t in e.targets if (p := context.find(t)) is not None}
    assert not {p for p, change in applied.changes.items() if p in pinned and change.edit.author != USER}
    reverts = [Edit(f"r{n}", REVERT, reverts=edit.id) for n, edit in enumerate(made)]
    assert apply(context, [*user, *made, *reverts], rules).sent == before.applied.sent
    # Law 10: a reverted edit stays reverted.
    again = run(step, before.under([*made, *reverts]))
    assert not about(context, made) & about(context, again)
    # Law 5: what leaves is legal.
    if not applied.refused:
        out = encode_outgoing(
            applied, request.skeleton, dialect=dialect, model=body["model"], limits=card.request_limits
        )
        assert [r.rule for r in STRICT[dialect](canonical.loads(out.body))] == []


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_what_was_decided_stays_when_the_client_appends(name: str) -> None:
    acted = 0
    for seed in range(12):
        rng = Random(f"grow {seed}")
        dialect = ["anthropic", "openai_chat", "openai_responses"][seed % 3]
        context, _ = context_of(SHAPES[dialect](rng), dialect)
        step = Step(POLICIES[name], EAGER[name])
        cut = next((m.start for m in reversed(context.messages) if m.role == "user"), len(context))
        shorter = Context(context.tree, context.nodes[max(0, cut - 1)], dialect, context.params, context.markers)
        made = run(step, policy_context_of(shorter))
        later = policy_context_of(context, made)
        more = run(step, later)
        acted += bool(made)
        escalates = name in ("keep_rounds", "budget", "generation_window")
        assert escalates or not about(context, made) & about(context, more)
        assert run(step, later.under(more)) == []
    # No random context lists trials; `test_trials` has some that do.
    assert acted or name in ("compact_json", "dedupe_reads", "tabulate_trials")


def test_profiles_are_read_and_errors_name_their_place() -> None:
    profile = parse_profile(
        'name = "small"\n[[policy]]\nuse = "truncate_results"\nlimit = 100\n[[policy]]\nuse = "hybrid"\n',
        POLICIES,
    )
    assert [(step.policy.name, dict(step.settings)) for step in profile.steps] == [
        ("truncate_results", {"limit": 100}), ("hybrid", {}),
    ]  # fmt: skip
    assert not profile.armed
    for text, message in [
        ("x", "not TOML"),
        (f"x = {'[' * 5000}", "not TOML"),
        (f"x = {'1' * 5000}", "not TOML"),
        ("", r"no \[\[policy\]\] table @ f"),
        ("a = 1\n[[policy]]\nuse='hybrid'", "unknown key 'a'"),
        ("[[policy]]\nn = 1", "must say `use = NAME` @ f: policy 1"),
        ("name = 3\n[[policy]]\nuse = 'hybrid'", "name must be a text, not 3 @ f"),
        ("armed = 'yes'\n[[policy]]\nuse = 'hybrid'", "armed must be true or false, not 'yes' @ f"),
        ("[[policy]]\nuse = 'hybrid'\nx = 1", "hybrid has no setting 'x' @ f: policy 1; settings: n, keep_first"),
        ("[[policy]]\nuse = 'hybrid'\nn = 'x'", "hybrid: n must be int, not 'x' @ f: policy 1"),
    ]:
        with pytest.raises(BadConfig, match=message):
            parse_profile(text, POLICIES, "f")
    with pytest.raises(NotFound, match=r"no policy 'hybird'; did you mean hybrid\?"):
        make_step("hybird", POLICIES)


def test_a_profile_runs_its_policies_on_each_others_results() -> None:
    context, _ = context_of(SHAPES["openai_chat"](Random(1)), "openai_chat")
    steps = parse_profile(
        "[[policy]]\nuse='sliding_window'\nn=3\nslack=0\n[[policy]]\nuse='truncate_results'\nlimit=50",
        POLICIES,
    ).steps
    made = run_all(steps, policy_context_of(context))
    assert {edit.author for edit in made} == {"sliding_window", "truncate_results"}
    assert run_all(steps, policy_context_of(context, made)) == []


def test_a_window_drops_what_was_cut_before_and_keeps_the_newest_call() -> None:
    result = "a line of a long result\n" * 40
    messages: list[Any] = [{"role": "user", "content": "begin"}]
    context, request = context_of({"model": "m", "max_tokens": 9, "messages": messages}, "anthropic")
    log: list[Edit] = []
    profile = (
        Step(POLICIES["truncate_results"], {"limit": 100}),
        Step(POLICIES["sliding_window"], {"n": 1, "slack": 0}),
    )
    for n in range(6):
        call = {"type": "tool_use", "id": f"c{n}", "name": "t", "input": {}}
        answer = {"type": "tool_result", "tool_use_id": f"c{n}", "content": result}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
        context, request = context_of({"model": "m", "max_tokens": 9, "messages": messages}, "anthropic")
        made = run_all(profile, policy_context_of(context, log, rules=rules_for("anthropic")))
        log += made
        applied = apply(context, log, rules_for("anthropic"))
        sent = canonical.loads(encode_outgoing(applied, request.skeleton, dialect="anthropic", model="m").body)[
            "messages"
        ]
        assert [one["role"] for one in sent] == ["user", "assistant", "user"], n
        assert sent[1]["content"][0]["id"] == f"c{n}", "the newest call stays, with its result"


def test_a_window_keeps_the_task_behind_memory() -> None:
    story = Story().user("the user likes it short", mark="memory").user("the task")
    for n in range(6):
        story.call(use(f"c{n}", "t")).results((f"c{n}", "found"))
    context = Context(story.session.tree, story.head)
    policy_context = policy_context_of(context)
    assert policy_context.lead_count == 1
    made = run(Step(POLICIES["sliding_window"], {"n": 3, "slack": 0}), policy_context)
    applied = apply(context, made, rules_for("anthropic"))
    left = [item.block.body for item in applied.sent]
    assert any(b"the task" in body for body in left) and any(b"likes it short" in body for body in left)
    assert sum(b"tool_result" in body for body in left) == 1


def test_without_an_earlier_round_nothing_is_summarised() -> None:
    messages = [{"role": "user", "content": "x" * 2_000}, {"role": "assistant", "content": "y" * 2_000}]
    context, _ = context_of({"model": "m", "messages": messages}, "anthropic")
    for keep in (0, 1):
        step = Step(POLICIES["summarize_at"], {"tokens": 1, "keep": keep, "keep_first": 0})
        assert run(step, policy_context_of(context)) == []


def test_a_boundary_that_is_no_expression_is_named() -> None:
    context, _ = context_of(SHAPES["anthropic"](Random(1)), "anthropic")
    for boundary in ("(", "a{99999999999}", "*"):
        with pytest.raises(BadConfig, match="generation_window: boundary is not a regular expression"):
            run(Step(POLICIES["generation_window"], {"boundary": boundary}), policy_context_of(context))


def test_a_namespace_stays_while_one_of_its_tools_is_called() -> None:
    definitions = [
        {"type": "namespace", "name": name, "tools": [{"type": "function", "name": tool} for tool in tools]}
        for name, tools in (("crm", ("find", "note")), ("shop", ("buy", "sell")))
    ]
    body: dict[str, Any] = {"model": "gpt-5", "tools": definitions, "input": [{"role": "user", "content": "go"}]}
    find = {"type": "function_call", "call_id": "c", "name": "find", "namespace": "crm", "arguments": "{}"}
    body["input"] += [find, {"type": "function_call_output", "call_id": "c", "output": "done"}]
    whole, _ = context_of(body, RESPONSES)
    context = Context(whole.tree, whole.nodes[-3], RESPONSES, whole.params, {})
    step = Step(POLICIES["drop_unused_tools"], {"rounds": 0})
    assert len(run(step, policy_context_of(context))) == 2
    assert context.grow_to(whole.head) is context
    (edit,) = run(step, policy_context_of(context))
    assert context.reading(context.find(edit.targets[0]) or 0).name == "shop"


@pytest.mark.parametrize("keep", range(7))
def test_the_newest_images_stay(keep: int) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    turns = [{"role": "user", "content": [image]}, {"role": "assistant", "content": "seen"}]
    context, _ = context_of({"model": "m", "max_tokens": 1, "messages": turns * 3}, "anthropic")
    edits = run(Step(POLICIES["strip_images"], {"keep": keep}), policy_context_of(context))
    assert [context.find(edit.targets[0]) for edit in edits] == context.images[: max(0, 3 - keep)]


def test_thinking_is_stripped_turn_after_turn_until_one_strip_is_reverted() -> None:
    messages: list[Any] = []
    log: list[Edit] = []
    step = Step(POLICIES["strip_thinking"], {"at_least": 0})
    for n in range(4):
        thinking = {"type": "thinking", "thinking": f"hm {n}", "signature": "s"}
        answer = {"role": "assistant", "content": [thinking, {"type": "text", "text": "answer"}]}
        messages += [{"role": "user", "content": f"question {n}"}, answer]
        context, _ = context_of({"model": "m", "max_tokens": 9, "messages": messages}, "anthropic")
        made = run(step, policy_context_of(context, log))
        assert [context.find(edit.targets[0]) for edit in made] == context.thinking[max(0, n - 1) : n]
        log += made
        reverted = [*log, *(Edit(f"r{edit.id}", REVERT, reverts=edit.id) for edit in log[:1])]
        assert run(step, policy_context_of(context, reverted)) == []


def test_a_summary_names_the_turns_that_it_replaces() -> None:
    messages: list[Any] = [{"role": "user", "content": "begin"}]
    log: list[Edit] = []
    heads = []
    step = Step(POLICIES["summarize_at"], {"tokens": 1, "keep": 1, "length": 40})
    for n in range(4):
        messages += [
            {"role": "assistant", "content": f"answer {n} " * 99},
            {"role": "user", "content": f"question {n}"},
        ]
        context, _ = context_of({"model": "m", "max_tokens": 9, "messages": messages}, "anthropic")
        made = run(step, policy_context_of(context, log))
        heads += [str(edit.params["text"]).partition(",")[0] for edit in made]
        log += made
    assert heads == ["[Summary of turns 1-2", "[Summary of turn 3", "[Summary of turn 4"]
