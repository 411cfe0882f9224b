"""Totals of a session, with and without its subagents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.money.spending import SpendingRow, call_row
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.pricing.price import Cost

NOTHING: Final = SpendingRow("")


class SessionTotals(Struct, frozen=True):
    """Calls of a session's `main` thread and of all `others`.

    `agents` of those are subagents that used tokens.
    """

    main: SpendingRow = NOTHING
    others: SpendingRow = NOTHING
    agents: int = 0

    @property
    def is_split(self) -> bool:
        """Whether threads besides the main one used anything.

        A sum has tokens and may count for no call.
        """
        return self.others.calls > 0 or self.others.tokens > 0

    @property
    def total(self) -> SpendingRow:
        return self.main.plus(*self.others[1:])

    def plus(self, totals: SessionTotals) -> SessionTotals:
        return SessionTotals(
            self.main.plus(*totals.main[1:]), self.others.plus(*totals.others[1:]), self.agents + totals.agents
        )

    def as_fields(self) -> dict[str, Any]:
        """Fields of the totals in JSON."""
        return {
            **row_fields(self.total),
            "main": row_fields(self.main),
            "subagents": {"threads": self.agents, **row_fields(self.others)},
        }


def row_fields(row: SpendingRow) -> dict[str, Any]:
    """Fields of a sum in JSON."""
    return {
        "calls": row.calls,
        "tokens": row.tokens,
        "cost_usd": None if row.at_least else row.usd,
        "cost_usd_at_least": row.usd,
        "unpriced_calls": row.unpriced,
        "partial_calls": row.partial,
    }


OWN_PREFIX: Final = "~"
"""Prefix of the id of a thread that is no subagent: it was started by no other thread, or it holds the client's own
requests, for titles or summaries."""


def thread_side(session: Session, call: Call, main: str) -> str:
    """Thread that `call` counts for ("": the `main` one).

    Another thread has `OWN_PREFIX` if it is no subagent.
    """
    if call.thread == main:
        return ""
    began = session.threads[call.thread].parent if call.thread in session.threads else ""
    is_own_request = not began or call.fidelity == Fidelity.TOTALS or call.extra.get("purpose")
    return f"{OWN_PREFIX}{call.thread}" if is_own_request else call.thread


def add_calls(calls: Iterable[tuple[str, SpendingRow]]) -> SessionTotals:
    """Add up calls, each with its thread from `thread_side`."""
    main, other_sum, agents = NOTHING, NOTHING, set[str]()
    for thread, row in calls:
        if thread:
            other_sum = other_sum.plus(*row[1:])
            agents |= {thread} if row.tokens and not thread.startswith(OWN_PREFIX) else set()
        else:
            main = main.plus(*row[1:])
    return SessionTotals(main, other_sum, len(agents))


def main_thread(session: Session) -> str:
    """Thread that a session is opened at; `MAIN` if it has none."""
    try:
        return choose_call(session).thread
    except NotFound:
        return MAIN


def session_totals(
    session: Session, costs: Mapping[str, Cost | None], calls: Iterable[Call] | None = None
) -> SessionTotals:
    """Totals of `calls` (None: all) of a session; `costs` has the price of each by id."""
    main_id = main_thread(session)
    every = session.calls.values() if calls is None else calls
    return add_calls((thread_side(session, call, main_id), call_row(call, costs.get(call.id), "")) for call in every)
