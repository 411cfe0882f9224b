"""The ledger over sessions: a call that two of them hold counts once, and only calls of the time that is asked for."""

from __future__ import annotations

import pytest

from ctxtui.analysis.money.tool_costs import ToolCosts
from ctxtui.services.library.tool_ledger import tools_ledger
from ctxtui.views.model.session_summary import CallSpent, SessionSummary


def session(key: str, ids: str, *, mtime: float = 100.0, known: bool = True) -> SessionSummary:
    """A session of one-letter calls at the times of their letters, each $1, in all of which a tool was carried; it was
    called in the first and the last."""
    spent = tuple(CallSpent(one, 10, 10, cost=1.0, started=ord(one)) for one in ids)
    state, tokens = ("loaded", 50) if known else ("unknown", None)
    carried = ((0, len(ids)),) if known else ()
    tool = ToolCosts(
        server="git",
        name="log",
        mcp=True,
        tokens=tokens,
        state=state,
        carried=carried,
        called=(0, len(ids) - 1),
        results=20,
        schema_usd=0.5 * len(ids),
        use_usd=0.25 * len(ids),
    )
    return SessionSummary(key=key, known=True, spent=spent, tools=(tool,), mtime=mtime)


def test_a_call_that_two_sessions_hold_counts_once() -> None:
    found = tools_ledger([session("one", "abcd"), session("two", "cdef", mtime=200.0)])
    ((log,),) = (server.tools for server in found.servers)
    assert (found.sessions, found.unrecorded) == (2, 0)
    assert (log.carried, log.called, log.sessions, log.used_in) == (6, 3, 2, 2)
    assert log.schema_usd == pytest.approx(3.0) and log.use_usd == pytest.approx(1.5)
    assert log.results == 30 and log.last_used == ord("f")


def test_a_call_that_one_session_holds_twice_counts_once() -> None:
    ((log,),) = (server.tools for server in tools_ledger([session("one", "aab")]).servers)
    assert (log.carried, log.called) == (2, 2) and log.schema_usd == pytest.approx(1.0)


def test_a_copy_adds_nothing() -> None:
    one, both = (
        tools_ledger(given) for given in ([session("one", "ab")], [session("one", "ab"), session("two", "ab")])
    )
    assert one == both


def test_only_calls_since_a_time_count() -> None:
    found = tools_ledger([session("one", "abcd")], since=ord("c"))
    ((log,),) = (server.tools for server in found.servers)
    assert (log.carried, log.called, log.schema_usd, log.results) == (2, 1, pytest.approx(1.0), 10)
    assert tools_ledger([session("one", "abcd")], since=ord("e")).servers == []


def test_a_session_without_definitions_is_said_to_be_one() -> None:
    found = tools_ledger([session("one", "ab"), session("two", "cd", known=False)])
    ((log,),) = (server.tools for server in found.servers)
    assert (found.sessions, found.unrecorded, log.unrecorded, log.carried, log.called) == (2, 1, 1, 2, 4)


def test_a_call_without_a_price_is_told() -> None:
    free = session("one", "ab")
    unpriced = tuple(one._replace(cost=None, unpriced=True) for one in free.spent)
    ((log,),) = (
        server.tools for server in tools_ledger([SessionSummary(key="x", spent=unpriced, tools=free.tools)]).servers
    )
    assert log.unpriced == 2 and log.schema_usd == 0
