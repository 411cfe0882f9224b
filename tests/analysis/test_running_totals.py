"""Running totals and the ledger add up to the figures and the prices."""

from __future__ import annotations

import pytest

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.figures import block_figure, figures
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT
from tests.cases.scenes import study_of
from tests.cases.sessions import compacted, every_category, long_session, with_subagents

MAKE = [every_category, compacted, with_subagents]


@pytest.mark.parametrize("make", MAKE)
def test_rows_are_the_figures_of_their_blocks(make) -> None:  # type: ignore[no-untyped-def]
    study = study_of(make())
    for call in study.session.calls.values():
        running = study.running(call.model)
        for node in study.session.tree.path(call.sent_head):
            if study.session.tree[node].block.kind != "header":
                assert running.block_tokens(node) == block_figure(study.book, call, node).tokens
        got = figures(study.book, call)
        assert running.read_tokens(call.sent_head, call.sent_head) == sum(got.categories.values())
        assert sum(running.sums(call.sent_head, call.sent_head)) == sum(got.categories.values())


@pytest.mark.parametrize("make", [*MAKE, lambda: long_session(200)])
def test_every_dollar_of_input_is_in_one_category(make) -> None:  # type: ignore[no-untyped-def]
    study = study_of(make())
    known = study.thread(MAIN)
    assert known.ledger is not None and known.ledger.done == len(known.calls)
    spent = 0.0
    for number, call in enumerate(known.calls, 1):
        cost = study.costs[call.id]
        assert cost is not None
        spent += cost.fresh + cost.read + cost.write
        assert sum(known.ledger.categories(number)) == pytest.approx(spent)


def naive(study, node: int, calls: int) -> float:  # type: ignore[no-untyped-def]
    """A block's cost, call by call."""
    known, tree = study.thread(MAIN), study.session.tree
    ledger, tokens, usd = known.ledger, study.running(known.calls[0].model).block_tokens(node), 0.0
    for n, call in enumerate(known.calls[:calls]):
        if tree.holds(call.sent_head, node):
            usd += tokens * ledger.rates_of(n).rate(tree[node].depth)
        elif tree.holds(call.response_head, node):
            usd += tokens * ledger.rates_of(n).answer
    return usd


def test_a_block_costs_what_its_calls_took_for_it() -> None:
    study = study_of(long_session(300))
    known = study.thread(MAIN)
    assert known.ledger is not None
    running = study.running(known.calls[0].model)
    for node in range(1, len(study.session.tree), 97):
        for calls in (1, 64, 65, 200, 300):
            got = known.ledger.block_usd(node, running.block_tokens(node), calls)
            if got is not None and study.session.tree[node].block.kind != "header":
                assert got == pytest.approx(naive(study, node, calls), abs=1e-9)


def test_going_back_and_on_changes_nothing() -> None:
    study = study_of(long_session(150))
    known = study.thread(MAIN)
    assert known.ledger is not None
    whole = [known.ledger.categories(n) for n in range(151)]
    for kept in (149, 128, 64, 63, 1, 0):
        known.ledger.truncate(kept)
        assert known.ledger.done == kept
        while known.ledger.advance(known.calls, study.costs, 40) < 150:
            pass
        assert [known.ledger.categories(n) for n in range(151)] == whole


def test_nothing_is_claimed_before_it_is_counted() -> None:
    from tests.cases.sessions import book_of

    session: Session = every_category()
    running = RunningTotals(book_of(session, counted=False), "claude-opus-4-20250514")
    assert running.is_counted(ROOT) and not running.is_counted(5)
    ledger = CostLedger(book_of(session, counted=False), running, BlockLifetimes(session.tree))
    assert ledger.advance(session.thread_calls(), {}, 10) == 0
    assert ledger.block_usd(5, 10, 0) is None
