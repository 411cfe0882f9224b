"""What one session cost and why, for commands that add up many (`services.session_work`).

A call that stands in several recordings counts in the first of them. Which that is only whoever has all of them knows:
he is told which calls a session has, and asks again about those that are its `own` where others had some before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ctxtui.analysis.call_choice import choose
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.spending import OUTPUT, SpendingRow, by_call, by_category, by_tool, summed
from ctxtui.analysis.money.statement import Statement
from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN
from ctxtui.pricing.price import recorded_usd
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, account, priced
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import counter_with_memory
from ctxtui.services.editing.advice import advise
from ctxtui.services.editing.edited_request import known_edits
from ctxtui.services.library.session_actions import subscribed
from ctxtui.services.library.totals.spending import CATEGORY, DAY, MODEL, PROJECT, THREAD, TOOL, UNKNOWN, day_of
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.session_work import Say

COST: Final = "ctxtui.services.workers.session_money:cost"
WHY: Final = "ctxtui.services.workers.session_money:why"
_OF_BLOCKS: Final = frozenset({CATEGORY, TOOL})
"""Ways for which tokens are counted."""


class CostAsked(NamedTuple):
    """What a session cost by one of `services.library.totals.spending.WAYS` ("": one row); of its `own` calls, by
    their ids (None: of all)."""

    settings: Settings
    by: str = ""
    own: frozenset[str] | None = None


class SessionCost(NamedTuple):
    """The calls by their ids, and those that ctxtui `copied` from another session; their sums and rows; of those that
    have both, USD as recorded and by list price; the price tables that were used, in the order of the calls."""

    ids: frozenset[str]
    copied: frozenset[str]
    sums: SessionTotals
    rows: list[SpendingRow]
    both: list[tuple[float, float]]
    versions: tuple[str, ...]


def cost(named: Named, asked: CostAsked, say: Say) -> SessionCost:
    """What a session cost. Raises what `open_named` raises."""
    settings, by, own = asked
    session = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB")).session
    ids = frozenset(session.calls) if own is None else own
    with counter_with_memory(settings) as counter:
        if by in _OF_BLOCKS:
            say("counting tokens")
            found = account(session, counter, settings)
        else:
            found = priced(session, book_for(session, counter, settings), settings)
        calls = [call for id_, call in session.calls.items() if id_ in ids]
        prices = [(call, price) for call in calls if (price := found.costs[call.id]) is not None]
        known = [(recorded_usd(call), price.usd) for call, price in prices]
        return SessionCost(
            ids,
            frozenset(call.id for call in calls if call.is_copy),
            session_totals(session, found.costs, calls),
            _rows(found, calls, ids, by),
            [(recorded, listed) for recorded, listed in known if recorded is not None],
            tuple(dict.fromkeys(price.version for _, price in prices)),
        )


def _rows(found: Account, calls: list[Call], own: frozenset[str], by: str) -> list[SpendingRow]:
    session = found.session
    if by in _OF_BLOCKS:
        costs = {id_: price if id_ in own else None for id_, price in found.costs.items()}
        threads = thread_costs(found.book, costs)
        shared = by_category(threads, costs, own) if by == CATEGORY else by_tool(threads, costs, found.book.names, own)
        whole = summed(by_call(calls, found.costs))
        if whole.partial:
            shared = [row._replace(partial=whole.partial) if row.name == OUTPUT else row for row in shared]
        return [*shared, *([SpendingRow(UNKNOWN, None, unpriced=whole.unpriced)] if whole.unpriced else [])]
    namers: dict[str, Callable[[Call], str]] = {
        MODEL: lambda call: call.model or UNKNOWN,
        THREAD: lambda call: session.threads[call.thread].label or call.thread,
        DAY: lambda call: day_of(call.at),
        PROJECT: lambda call: session.about.cwd or UNKNOWN,
        "": lambda call: "",
    }
    return by_call(calls, found.costs, namers[by])


class WhyAsked(NamedTuple):
    """The statement of a session, of its calls `between` two Unix times (None: of all) and of its `own` calls; one that
    is asked about `alone` has one without any call, too, and is told what would help from here on."""

    settings: Settings
    between: tuple[float, float] | None = None
    alone: bool = False
    own: frozenset[str] | None = None


class SessionStatement(NamedTuple):
    """The calls by their ids, and their statement (None: there is no call)."""

    ids: frozenset[str]
    made: Statement | None
    trouble: str = ""
    """Why edits that are applied are left out of it."""


def why(named: Named, asked: WhyAsked, say: Say) -> SessionStatement:
    """The statement of a session. Raises what `open_named` raises."""
    settings, between, alone, own = asked
    loaded = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB"))
    session = loaded.session
    ids = frozenset(id_ for id_, call in session.calls.items() if _within(call, between)) if own is None else own
    if not ids and not alone:
        return SessionStatement(ids, None)
    say("adding up")
    trouble = ""
    with counter_with_memory(settings) as counter:
        one = account(session, counter, settings)
        made = one.statement(ids if len(ids) < len(session.calls) else None)
        if alone and between is None:
            edits, trouble = known_edits(loaded, settings, choose(session, MAIN))
            advise(made, one, counter, settings, edits)
        made.subscription = subscribed(named, settings)
    return SessionStatement(ids, made, trouble)


def _within(call: Call, between: tuple[float, float] | None) -> bool:
    return between is None or between[0] <= (call.at or 0.0) < between[1]
