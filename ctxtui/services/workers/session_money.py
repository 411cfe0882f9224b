"""What one session cost and why, for commands that add up many (`services.session_work`).

A call that stands in several recordings counts in one of them (`views.model.call_owners`). Which that is is known when
all are read: the command is told which calls a session has, and asks again about its `own` where others own some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.analysis.findings.cache_markers import UNASKED
from ctxtui.analysis.money import savings
from ctxtui.analysis.money.block_costs import ThreadCosts, thread_costs
from ctxtui.analysis.money.edited_calls import EditedCalls, EditedThread
from ctxtui.analysis.money.savings import Cure, cleared_nodes
from ctxtui.analysis.money.spending import OUTPUT, SpendingRow, by_call, by_category, by_tool, summed
from ctxtui.analysis.money.statement import Statement
from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.core.call import Call, paid_id
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.core.session import Session
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.pricing.price import Cost, recorded_usd
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account, priced_account
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.advice import advise
from ctxtui.services.editing.curate import curated
from ctxtui.services.editing.edited_request import known_edits
from ctxtui.services.lab.marker_costs import under_markers
from ctxtui.services.library.session_actions import subscribed
from ctxtui.services.library.summarize import one_spent
from ctxtui.services.library.totals.spending import CATEGORY, DAY, MODEL, PROJECT, THREAD, TOOL, UNKNOWN, day_of
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.session_work import Say
from ctxtui.views.model.session_summary import CallSpent

COST: Final = "ctxtui.services.workers.session_money:cost"
WHY: Final = "ctxtui.services.workers.session_money:why"
_OF_BLOCKS: Final = frozenset({CATEGORY, TOOL})
"""Ways for which tokens are counted."""


class CostAsked(NamedTuple):
    """What a session cost by one of `services.library.totals.spending.WAYS` ("": one row); of its `own` calls, by
    their paid ids (None: of all)."""

    settings: Settings
    by: str = ""
    own: frozenset[str] | None = None


class SessionCost(NamedTuple):
    """What each call `spent`; their sums and rows; of those that have both, USD as recorded and by list price; the
    price tables that were used, in the order of the calls."""

    spent: list[CallSpent]
    sums: SessionTotals
    rows: list[SpendingRow]
    both: list[tuple[float, float]]
    versions: tuple[str, ...]


def cost(named: Named, asked: CostAsked, say: Say) -> SessionCost:
    """What a session cost. Raises what `open_named` raises."""
    settings, by, own = asked
    session = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB")).session
    ids = _ids(session, own)
    with cached_counter(settings) as counter:
        if by in _OF_BLOCKS:
            say("counting tokens")
            found = make_account(session, counter, settings)
        else:
            found = priced_account(session, book_for(session, counter, settings), settings)
        calls = [call for id_, call in session.calls.items() if id_ in ids]
        prices = [(call, price) for call in calls if (price := found.costs[call.id]) is not None]
        known = [(recorded_usd(call), price.usd) for call, price in prices]
        return SessionCost(
            _spent(session, ids, found.costs),
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
    """What each call `spent`, and their statement (None: there is no call)."""

    spent: list[CallSpent]
    made: Statement | None
    trouble: str = ""
    """Why edits that are applied are left out of it."""


def why(named: Named, asked: WhyAsked, say: Say) -> SessionStatement:
    """The statement of a session. Raises what `open_named` raises."""
    settings, between, alone, own = asked
    loaded = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB"))
    session = loaded.session
    ids = frozenset(id_ for id_ in _ids(session, own) if _within(session.calls[id_], between))
    if not ids and not alone:
        return SessionStatement([], None)
    say("adding up")
    trouble = ""
    with cached_counter(settings) as counter:
        one = make_account(session, counter, settings)
        made = one.statement(ids if len(ids) < len(session.calls) else None)
        if alone and between is None:
            edits, trouble = known_edits(loaded, settings, choose(session))
            advise(made, one, counter, settings, edits)
        made.cures = proved_cures(one, counter, made.cures)
        made.subscription = subscribed(named, settings)
    return SessionStatement(_spent(session, ids, one.costs), made, trouble)


def _ids(session: Session, own: frozenset[str] | None) -> frozenset[str]:
    """The ids of all calls, or of those that are its `own` by their paid ids: of several copies the first."""
    if own is None:
        return frozenset(session.calls)
    first: dict[str, str] = {}
    for id_, call in session.calls.items():
        if not call.is_copy:
            first.setdefault(paid_id(call), id_)
    return frozenset(id_ for paid, id_ in first.items() if paid in own)


def _spent(session: Session, ids: frozenset[str], costs: Mapping[str, Cost | None]) -> list[CallSpent]:
    return [one_spent(call, costs[id_]) for id_, call in session.calls.items() if id_ in ids]


def _within(call: Call, between: tuple[float, float] | None) -> bool:
    return between is None or between[0] <= (call.at or 0.0) < between[1]


_CACHES = {savings.HOUR: "1h", savings.MINUTES: "5m", savings.CACHE: UNASKED}


def proved_cures(account: Account, counter: Counter, cures: Sequence[Cure]) -> list[Cure]:
    """Those of `cures` that save anything, what saves most first: other markers by the lab, results that are cleared at
    a call by the price tag of that call and by the recorded ones that followed."""
    threads = {one.thread: one for one in account.threads()}
    markers = under_markers(account, [_CACHES[cure.kind] for cure in cures if cure.kind in _CACHES])
    found = []
    for cure in cures:
        thread, under = threads[cure.thread], None
        if cure.kind in _CACHES:
            under = markers.of(_CACHES[cure.kind], thread.calls)
        elif cure.kind == savings.CLEAR:
            under = _clearing(account, counter, thread, cure)
        found.append(cure if under is None or under.usd is None else replace(cure, saves=-under.usd))
    return sorted((one for one in found if one.saves > 0), key=lambda one: -one.saves)


def _clearing(account: Account, counter: Counter, thread: ThreadCosts, cure: Cure) -> EditedCalls | None:
    """What clearing at the call of `cure` does to it and to those behind it."""
    before = ChosenCall(cure.thread, cure.call - 1, thread.calls[cure.call - 2])
    base = curated(account.book, counter, before, after=True, prices=account.table)
    context = base.context
    nodes = (node for node in cleared_nodes(thread, cure) if context.tree.holds(context.head, node))
    edits = [make(REPLACE, context.targets([context.position(node)]), {"text": CLEARED}) for node in sorted(nodes)]
    after = base.situation.under(edits).applied
    edited = EditedThread(thread.ledger, thread.calls, account.charge)
    return edited.under(base.situation, after, base.prices.tag(after), since=cure.call - 1)
