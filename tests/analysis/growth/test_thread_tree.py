"""Threads as a family: the tree, and the figures of each."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.analysis.growth.thread_tree import thread_nodes
from ctxtui.core.call import Call, Epoch, EpochStart
from ctxtui.core.session import CallSeen, Session, ThreadSeen
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost
from tests.cases.sessions import Story, with_subagents


def reported(call: Call) -> int | None:
    return call.usage.input if call.usage is not None else None


def test_peaks_totals_and_costs_are_each_threads_own() -> None:
    session = with_subagents()
    costs = {id_: Cost(0.1, fresh=0.01, read=0.02, write=0.03, output=0.04, version="t") for id_ in session.calls}
    rows = {row.id: row for row in thread_nodes(session, costs, reported)}
    for id_, row in rows.items():
        used = [call.usage.input for call in session.thread_calls(id_) if call.usage]
        assert (row.calls, row.peak, row.sent, row.tokens) == (len(used), max(used), sum(used), used[-1])
        assert row.usd is not None and abs(row.usd - 0.1 * len(used)) < 1e-9 and row.priced
    assert rows["main"].depth == 0 and {rows[id_].depth for id_ in rows if id_ != "main"} == {1}
    assert all(row.since >= 0 for row in rows.values())


def test_what_is_not_priced_or_has_no_price_is_not_called_nothing() -> None:
    session = with_subagents()
    assert all(row.usd is None and not row.priced for row in thread_nodes(session, {}, reported))
    unknown = thread_nodes(session, dict.fromkeys(session.calls), reported)
    assert all(row.usd is None and row.priced for row in unknown)
    first = next(iter(session.calls.values()))
    own = replace(first, usage=replace(first.usage or Usage(), cost=1.5))
    session.apply(CallSeen(own))
    assert all(row.usd is None for row in thread_nodes(session, dict.fromkeys(session.calls), reported))


def test_threads_in_a_ring_come_last_and_none_is_lost() -> None:
    session = Session()
    for id_, parent in (("a", "b"), ("b", "a"), ("c", ""), ("d", "c")):
        session.apply(ThreadSeen(id_, id_, parent))
    rows = thread_nodes(session, {}, reported)
    assert [(row.id, row.depth) for row in rows[:3]] == [("main", 0), ("c", 1), ("d", 2)]
    assert {row.id for row in rows} == {"main", "a", "b", "c", "d"}


def test_a_thread_knows_after_which_call_it_began_and_how_often_it_was_compacted() -> None:
    main = Story()
    main.user("go").call("a").user("on").call("b")
    main.epoch = Epoch(2, EpochStart.COMPACTION, "9k → 1k")
    main.user("more").call("c")
    child = Story("child", main.session)
    child.clock = main.clock - 30
    main.session.apply(ThreadSeen("child", "child", "main"))
    child.user("help").call("there")
    rows = {row.id: row for row in thread_nodes(main.session, {}, reported)}
    assert rows["child"].since == 2 and rows["child"].parent == "main"
    assert (rows["main"].folds, rows["child"].folds) == (1, 0)
