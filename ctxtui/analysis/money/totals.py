"""What a session comes to, with its subagents and without: the one place where calls and their money are added up, for
Home, the header, `cost`, `show` and `sessions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.money.spending import SpendingRow, row_of
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.pricing.price import Cost

NOTHING: Final = SpendingRow("")


class SessionTotals(Struct, frozen=True):
    """The calls of a session's `main` thread and those of all `others`, of which `agents` threads are subagents whose
    calls have a report. What is not priced, or reported in part, is counted in its row: the row's USD is then the least
    that it can be."""

    main: SpendingRow = NOTHING
    others: SpendingRow = NOTHING
    agents: int = 0

    @property
    def is_split(self) -> bool:
        """Whether threads beside the main one used anything; a sum has tokens and may count for no call."""
        return self.others.calls > 0 or self.others.tokens > 0

    @property
    def whole(self) -> SpendingRow:
        """Everything."""
        return self.main.plus(*self.others[1:])

    def plus(self, other: SessionTotals) -> SessionTotals:
        """Together with another session, whose calls are others."""
        return SessionTotals(
            self.main.plus(*other.main[1:]), self.others.plus(*other.others[1:]), self.agents + other.agents
        )

    def as_fields(self) -> dict[str, Any]:
        """As JSON names it."""
        return {
            **row_fields(self.whole),
            "main": row_fields(self.main),
            "subagents": {"threads": self.agents, **row_fields(self.others)},
        }


def row_fields(row: SpendingRow) -> dict[str, Any]:
    """A sum as JSON names it: ``cost_usd`` is null where a price is missing or an answer is reported in part,
    ``cost_usd_at_least`` what is known."""
    return {
        "calls": row.calls,
        "tokens": row.tokens,
        "cost_usd": None if row.at_least else row.usd,
        "cost_usd_at_least": row.usd,
        "unpriced_calls": row.unpriced,
        "partial_calls": row.partial,
    }


OWN: Final = "~"
"""What stands before the id of a thread that is no subagent: no other thread began it, or it is the client's own
requests, for titles or summaries."""


def side_of(session: Session, call: Call, main: str) -> str:
    """The thread that a session started for `call`: "" for its `main` one, behind `OWN` what is no subagent."""
    if call.thread == main:
        return ""
    began = session.threads[call.thread].parent if call.thread in session.threads else ""
    own = not began or call.fidelity == Fidelity.TOTALS or call.extra.get("purpose")
    return f"{OWN}{call.thread}" if own else call.thread


def added(calls: Iterable[tuple[str, SpendingRow]]) -> SessionTotals:
    """Calls added up, each with its thread as `side_of` gives it."""
    main, others, agents = NOTHING, NOTHING, set[str]()
    for thread, row in calls:
        if thread:
            others = others.plus(*row[1:])
            agents |= {thread} if row.tokens and not thread.startswith(OWN) else set()
        else:
            main = main.plus(*row[1:])
    return SessionTotals(main, others, len(agents))


def main_thread(session: Session) -> str:
    """The thread that a session is opened at."""
    try:
        return choose_call(session).thread
    except NotFound:
        return MAIN


def session_totals(
    session: Session, costs: Mapping[str, Cost | None], calls: Iterable[Call] | None = None
) -> SessionTotals:
    """What `calls` (None: all of them) of a session come to; `costs` has the price of each by id."""
    own = main_thread(session)
    every = session.calls.values() if calls is None else calls
    return added((side_of(session, call, own), row_of(call, costs.get(call.id), "")) for call in every)
