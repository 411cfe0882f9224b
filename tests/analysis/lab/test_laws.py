"""The lab's laws: nothing done is as recorded; a variant comes to what its edits come to when they are priced alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import unrecorded_tokens
from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import LabInputs
from ctxtui.analysis.request_counts import count_request
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy import Policy, Step, run_all
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.settings import Settings
from ctxtui.services.lab.experiment import lab_inputs_of_session
from ctxtui.tokens.weights import weigh
from tests.analysis.lab.recordings import COUNTER, grown
from tests.cases.long_runs import long_run
from tests.curation.shaped import SHAPES
from tests.sampling import few, few_rows

NOTHING = Policy("nothing", "does nothing", lambda policy_context, settings: ())
EAGER: dict[str, dict[str, object]] = {
    "sliding_window": {"n": 4, "slack": 1},
    "keep_rounds": {"n": 1, "slack": 1},
    "clear_tool_results": {"trigger": 300, "keep": 1, "at_least": 20},
    "summarize_at": {"tokens": 900, "keep": 1},
    "summarize_every": {"k": 2, "keep": 1},
    "truncate_results": {"limit": 200, "keep_last": 1},
    "externalize_large": {"code": 100, "size": 400},
    "dedupe_reads": {"minimum": 10, "at_least": 20},
    "hybrid": {"n": 4, "slack": 1, "limit": 300},
    "budget": {"target": 1500},
}
"""Settings under which policies act on short sessions."""


def bench(session: Session) -> LabInputs:
    return lab_inputs_of_session(session, COUNTER, Settings())


def variant(name: str) -> Variant:
    return Variant(policy=name, steps=(Step(POLICIES[name], EAGER.get(name, {})),))


def plainly(book: Book, calls: list[Call], step: Step, usable: Callable[[Call], int]) -> list[int]:
    """What each call comes to when everything is worked out anew for it: the edits so far, applied to the whole."""
    log: tuple[Edit, ...] = ()
    found = []
    for call in calls:
        context = Context.of_call(book.session.tree, call, call.sent_head)
        rules = rules_for(context.dialect, book.card(call.model))
        literals = Literals(context)
        literals.advance()
        measure, weights = book.measure(call.model), book.weights(call.model)

        def count(block, measure=measure, weights=weights):  # type: ignore[no-untyped-def]
            return 0 if block.kind == "header" else round(weigh(measure(block), weights))

        start = book.session.tree[context.head].turn_start
        asked = book.session.tree[start].depth - 1 if start and book.card(call.model).strips_thinking else 0

        def size(p, context=context, count=count, asked=asked):  # type: ignore[no-untyped-def]
            return 0 if p < asked and p in context.thinking else count(context.items[p].block)

        made = run_all(
            [step],
            PolicyContext(
                context=context,
                log=log,
                tokens=size,
                count=count,
                usable=usable(call),
                rules=rules,
                literals=literals,
                hidden=HIDDEN.get(call.id, 0),
            ),
        )
        if not apply(context, (*log, *made), rules).refused:
            log = (*log, *made)
        found.append(count_request(book, call, apply(context, log, rules)).body)
    return found


HIDDEN: dict[str, int] = {}


@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(12)]
)
@pytest.mark.parametrize("name", few([name for name in EAGER if name != "budget"], 5))
@pytest.mark.parametrize("dialect", list(SHAPES))
def test_each_call_comes_to_what_its_edits_come_to_on_the_whole_context(name: str, dialect: str, seed: int) -> None:
    rng = Random(f"{name} {dialect} {seed}")
    session = grown(SHAPES[dialect](rng), dialect, rng)
    made = bench(session)
    calls = list(session.calls.values())
    before = len(session.tree)
    run = run_experiment(made, [Variant(), variant(name)])[1]
    expected = plainly(made.book, calls, Step(POLICIES[name], EAGER[name]), made.usable)
    # What reports show to be gone is in no request's figure, but in what a call came to.
    told = [n for n, call in enumerate(calls) if not made.book.contexts.absences_at(call.response_head)]
    assert [run.calls[n].context for n in told] == [expected[n] for n in told]
    assert len(session.tree) >= before
    adds_up(run)


@pytest.mark.parametrize(
    ("name", "wire"),
    few_rows(
        [
            pytest.param(name, wire, marks=[] if wire or name in ("budget", "summarize_at") else pytest.mark.slow)
            for name in ("budget", "keep_rounds", "hybrid", "summarize_at", "clear_tool_results")
            for wire in (True, False)
        ]
    ),
)
def test_a_long_run_comes_to_the_same(name: str, wire: bool) -> None:
    session = grown(long_run(3, turns=4), "anthropic", Random(name), wire=wire)
    made = bench(session)
    own, run = run_experiment(made, [Variant(), variant(name)])
    assert run.edits, "the policy did nothing: nothing is tested"
    calls = list(session.calls.values())
    HIDDEN.clear()
    if not wire:
        counted = [
            count_request(made.book, call, apply(Context.of_call(session.tree, call), ())).body for call in calls
        ]
        HIDDEN.update({call.id: one.context - n for call, one, n in zip(calls, own.calls, counted, strict=True)})
    expected = plainly(made.book, calls, Step(POLICIES[name], EAGER[name]), made.usable)
    HIDDEN_NOW = [one.context - n for one, n in zip(run.calls, expected, strict=True)]
    recorded = [apply(Context.of_call(session.tree, call), ()) for call in calls]
    plain = [count_request(made.book, call, one).body for call, one in zip(calls, recorded, strict=True)]
    assert [one.context - n for one, n in zip(own.calls, plain, strict=True)] == HIDDEN_NOW
    HIDDEN.clear()
    adds_up(run)
    adds_up(own)


@pytest.mark.parametrize("dialect", list(SHAPES))
@pytest.mark.parametrize("seed", few(range(8), 2))
def test_a_policy_that_does_nothing_is_as_recorded(dialect: str, seed: int) -> None:
    rng = Random(f"nothing {dialect} {seed}")
    session = grown(SHAPES[dialect](rng), dialect, rng, wire=seed % 2 == 0)
    own, idle = run_experiment(bench(session), [Variant(), Variant(policy="nothing", steps=(Step(NOTHING),))])
    assert own.calls == idle.calls
    assert (own.rewrites, own.dependence, own.usd) == (idle.rewrites, idle.dependence, idle.usd)


def test_its_own_report_is_not_looked_at() -> None:
    """A call whose report is absurd comes to what its blocks come to."""
    from msgspec.structs import replace

    from ctxtui.core.session import CallSeen

    def contexts(times: int) -> list[int]:
        session = grown(long_run(5, turns=3), "anthropic", Random(5), wire=False)
        last = list(session.calls.values())[-1]
        assert last.usage is not None
        session.apply(CallSeen(replace(last, usage=replace(last.usage, fresh=last.usage.fresh * times))))
        return [call.context for call in run_experiment(bench(session), [Variant()])[0].calls]

    once, tenfold = contexts(1), contexts(10)
    assert abs(once[-1] - tenfold[-1]) < 0.02 * once[-1]


def adds_up(run: VariantRun) -> None:
    """Law 6: what is read, written and fresh is what is sent."""
    for call in run.calls:
        if call.read is not None:
            assert call.write is not None
            assert call.fresh is not None
            assert call.read >= 0
            assert call.write >= 0
            assert call.fresh >= 0
            assert call.read + call.write + call.fresh == call.context


def test_what_is_lacking_comes_from_the_reports_before() -> None:
    """Of a transcript the first call lacks what no report has told yet; the second has it."""
    session = grown(long_run(1, turns=3), "anthropic", Random(1), wire=False)
    made = bench(session)
    run = run_experiment(made, [Variant()])[0]
    first, second = list(session.calls.values())[:2]
    assert first.usage is not None
    assert second.usage is not None
    assert unrecorded_tokens(made.book, first) == 0 or run.calls[0].context < first.usage.input
    assert abs(run.calls[1].context - second.usage.input) < 0.2 * second.usage.input


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat"])
@pytest.mark.parametrize("seed", few(range(2)))
def test_variants_that_are_tried_together_come_to_what_each_comes_to_alone(dialect: str, seed: int) -> None:
    # What one variant found of the recorded requests, the others go by.
    tried = [
        Variant(),
        *map(variant, ("sliding_window", "keep_rounds", "truncate_results", "budget")),
        Variant(cache="1h"),
    ]
    together = run_experiment(bench(grown(SHAPES[dialect](Random(seed)), dialect, Random(seed))), tried)
    alone = [
        run_experiment(bench(grown(SHAPES[dialect](Random(seed)), dialect, Random(seed))), [one])[0] for one in tried
    ]
    assert list(map(figures, together)) == list(map(figures, alone))


def figures(run: VariantRun) -> tuple[object, ...]:
    """All that came of it, but for the numbers of the nodes that were made."""
    calls = [replace(call, head=0) for call in run.calls]
    return calls, run.models, run.dependence, run.summaries, run.edits, run.refused
