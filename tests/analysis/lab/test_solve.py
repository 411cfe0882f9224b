"""Solvers: the best on all, each held out once; keeping a cache warm against writing it again; breakpoints placed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.lab.solve import evaluate_pauses, fit_variants, keep_warm_break_even
from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.core.edit_kinds import BREAKPOINT
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.lab.breakpoints import strategy_breakpoints
from tests.analysis.lab.recordings import grown
from tests.analysis.lab.test_laws import bench
from tests.cases.long_runs import long_run

RATES = MarkerRates(1.0, 0.1, {300.0: 1.25, 3600.0: 2.0})


def test_the_best_is_held_against_sessions_that_it_was_not_fitted_to() -> None:
    costs = {
        "a": {"as_recorded": 1.0, "x": 0.5, "y": 0.8},
        "b": {"as_recorded": 1.0, "x": 1.4, "y": 0.8},
        "c": {"as_recorded": 1.0, "x": 0.6, "y": 0.9},
    }
    found = fit_variants(costs)
    assert found is not None
    assert (found.best, found.tried) == ("x", 3) or found.best == "y"
    sums = {name: sum(one[name] for one in costs.values()) for name in costs["a"]}
    assert found.best == min(sums, key=lambda name: sums[name])
    assert [(fold.session, fold.chosen) for fold in found.folds] == [("a", "y"), ("b", "x"), ("c", "y")]
    assert [round(fold.saves, 3) for fold in found.folds] == [0.2, -0.4, 0.1]
    assert found.held_out == pytest.approx(-0.1 / 3)
    assert found.saves > (found.held_out or 0.0)


def test_of_one_session_nothing_is_held_out() -> None:
    found = fit_variants({"a": {"as_recorded": 1.0, "x": 0.5}})
    assert found is not None
    assert (found.best, found.folds, found.held_out) == ("x", (), None)
    assert fit_variants({}) is None


def test_keeping_warm_pays_up_to_its_break_even() -> None:
    session = grown(long_run(2, turns=3), "anthropic", Random(2))
    made = bench(session)
    call = list(session.calls.values())[-1]
    short, long = keep_warm_break_even(cache_rules_by_call(made.book)(call), RATES, 1000)
    assert (short.life, short.requests, short.seconds) == (300.0, 11, 3600.0)
    assert (long.life, long.requests) == (3600.0, 18)
    for one in (short, long):
        assert one.requests * one.read < one.write - one.read <= (one.requests + 1) * one.read + 1e-9
    within, beyond = evaluate_pauses([(301.0, 1000)], short, RATES), evaluate_pauses([(3601.0, 1000)], short, RATES)
    assert (within.longer, within.cheaper) == (1, 1)
    assert within.saved == pytest.approx(1000 * (1.25 - 0.1) - 1000 * 0.1)
    assert (beyond.longer, beyond.cheaper, beyond.saved) == (1, 0, 0.0)
    assert evaluate_pauses([(299.0, 1000)], short, RATES).longer == 0


def test_a_strategy_is_placed_as_breakpoints_that_stand() -> None:
    session = grown(long_run(4, turns=3), "anthropic", Random(4))
    made = bench(session)
    call = list(session.calls.values())[-1]
    context = Context.of_call(session.tree, call)
    edits = strategy_breakpoints(context, call, made.book, "moving-tail")
    assert len(edits) == 2
    assert {edit.kind for edit in edits} == {BREAKPOINT}
    assert len(apply(context, edits).marks) == 2
    assert strategy_breakpoints(context, call, made.book, "none") == ()
    assert strategy_breakpoints(context, call, made.book, "recorded") == ()


_COSTS = st.lists(st.floats(0.1, 2.0), min_size=4, max_size=4)


@given(st.lists(_COSTS, min_size=4, max_size=7), _COSTS, st.data())
def test_what_a_session_comes_to_has_no_part_in_what_is_chosen_for_it(
    family: list[list[float]], other: list[float], data: st.DataObject
) -> None:
    def named(costs: list[float]) -> dict[str, float]:
        return dict(zip("wxyz", costs, strict=True))

    sessions = {str(n): named(costs) for n, costs in enumerate(family)}
    held = data.draw(st.sampled_from([*sessions]))
    before, after = fit_variants(sessions), fit_variants(sessions | {held: named(other)})
    assert before is not None and after is not None
    (own,) = (fold for fold in before.folds if fold.session == held)
    (changed,) = (fold for fold in after.folds if fold.session == held)
    assert own.chosen == changed.chosen
    assert changed.saves == pytest.approx(1 - named(other)[changed.chosen]), "it is held against its own figures alone"
    assert changed.own >= changed.saves
