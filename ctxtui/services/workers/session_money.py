"""The cost of one session and its reasons, for commands that add up many sessions.

A call that is in several recordings counts in one of them, its owner, which is known only when all are read. So a
command gets the calls of each session first, and asks again for the `own` calls of a session if others own some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.findings.cache_markers import DEFAULT_STRATEGY
from ctxtui.analysis.money import savings
from ctxtui.analysis.money.block_costs import ThreadCosts, thread_costs
from ctxtui.analysis.money.edited_calls import EditedCalls, EditedThread
from ctxtui.analysis.money.savings import Saving, cleared_nodes
from ctxtui.analysis.money.spending import (
    UNKNOWN,
    SpendingRow,
    mark_lower_bounds,
    rows_by_call,
    rows_by_category,
    rows_by_tool,
    sum_rows,
)
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
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.editing.edited_request import try_applied_edits
from ctxtui.services.lab.marker_costs import run_marker_strategies
from ctxtui.services.library.session_actions import is_subscription
from ctxtui.services.library.summarize import spending_of_call
from ctxtui.services.library.totals.spending import CATEGORY, DAY, MODEL, PROJECT, THREAD, TOOL, day_of
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.session_work import Say
from ctxtui.views.model.session_summary import CallSpent

COST: Final = "ctxtui.services.workers.session_money:cost"
WHY: Final = "ctxtui.services.workers.session_money:why"
_BLOCK_GROUPINGS: Final = frozenset({CATEGORY, TOOL})
"""Groupings that need token counts."""


class CostRequest(NamedTuple):
    """The settings, and:

    - `by`: the rows, one of `totals.spending.WAYS`; "": one row.
    - `own`: the paid ids of the calls to count (None: all).
    """

    settings: Settings
    by: str = ""
    own: frozenset[str] | None = None


class SessionCost(NamedTuple):
    """The cost of a session.

    - `spent`: that of each call.
    - `recorded_and_listed`: (recorded, list price) in USD of each call with both.
    - `versions`: the price tables used, in order of calls.
    """

    spent: list[CallSpent]
    sums: SessionTotals
    rows: list[SpendingRow]
    recorded_and_listed: list[tuple[float, float]]
    versions: tuple[str, ...]


def cost(named: Named, request: CostRequest, say: Say) -> SessionCost:
    """Compute a session's cost for ``ctxtui cost``; `say` gets the progress."""
    settings, by, own = request
    session = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB")).session
    ids = _call_ids(session, own)
    with cached_counter(settings) as counter:
        if by in _BLOCK_GROUPINGS:
            say("counting tokens")
            account = make_account(session, counter, settings)
        else:
            account = priced_account(session, book_for(session, counter, settings), settings)
        calls = [call for id_, call in session.calls.items() if id_ in ids]
        prices = [(call, price) for call in calls if (price := account.costs[call.id]) is not None]
        amounts = [(recorded_usd(call), price.usd) for call, price in prices]
        return SessionCost(
            _call_costs(session, ids, account.costs),
            session_totals(session, account.costs, calls),
            _group_costs(account, calls, ids, by),
            [(recorded, listed) for recorded, listed in amounts if recorded is not None],
            tuple(dict.fromkeys(price.version for _, price in prices)),
        )


def _group_costs(account: Account, calls: list[Call], own: frozenset[str], by: str) -> list[SpendingRow]:
    session = account.session
    if by in _BLOCK_GROUPINGS:
        costs = {id_: price if id_ in own else None for id_, price in account.costs.items()}
        threads = thread_costs(account.book, costs)
        shared = (
            rows_by_category(threads, costs, own)
            if by == CATEGORY
            else rows_by_tool(threads, costs, account.book.names, own)
        )
        total = sum_rows(rows_by_call(calls, account.costs))
        return mark_lower_bounds(shared, total.unpriced, total.partial)
    namers: dict[str, Callable[[Call], str]] = {
        MODEL: lambda call: call.model or UNKNOWN,
        THREAD: lambda call: session.threads[call.thread].label or call.thread,
        DAY: lambda call: day_of(call.at),
        PROJECT: lambda call: session.about.cwd or UNKNOWN,
        "": lambda call: "",
    }
    return rows_by_call(calls, account.costs, namers[by])


class StatementRequest(NamedTuple):
    """The settings, and:

    - `between`: only calls between two Unix times (None: all).
    - `alone`: it is the only session: it gets a statement even without any call, and advice unless `between` is given.
    - `own`: the paid ids of the calls to count (None: all).
    """

    settings: Settings
    between: tuple[float, float] | None = None
    alone: bool = False
    own: frozenset[str] | None = None


class SessionStatement(NamedTuple):
    """The cost of each call, and their statement (None: there are no calls)."""

    spent: list[CallSpent]
    statement: Statement | None
    error: str = ""
    """The reason if applied edits are left out."""


def why(named: Named, request: StatementRequest, say: Say) -> SessionStatement:
    """Compute a session's cost with its reasons and advice; `say` gets the progress."""
    settings, between, alone, own = request
    loaded = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB"))
    session = loaded.session
    ids = frozenset(id_ for id_ in _call_ids(session, own) if _is_between(session.calls[id_], between))
    if not ids and not alone:
        return SessionStatement([], None)
    say("adding up")
    trouble = ""
    with cached_counter(settings) as counter:
        account = make_account(session, counter, settings)
        statement = account.statement(ids if len(ids) < len(session.calls) else None)
        if alone and between is None:
            edits, trouble = try_applied_edits(loaded, settings, choose_call(session))
            advise(statement, account, counter, settings, edits)
        statement.savings = measure_savings(account, counter, statement.savings)
        statement.subscription = is_subscription(named, settings)
    return SessionStatement(_call_costs(session, ids, account.costs), statement, trouble)


def _call_ids(session: Session, own: frozenset[str] | None) -> frozenset[str]:
    """The ids of all calls, or of the `own` ones by their paid ids; of several copies the first."""
    if own is None:
        return frozenset(session.calls)
    first: dict[str, str] = {}
    for id_, call in session.calls.items():
        if not call.is_copy:
            first.setdefault(paid_id(call), id_)
    return frozenset(id_ for paid, id_ in first.items() if paid in own)


def _call_costs(session: Session, ids: frozenset[str], costs: Mapping[str, Cost | None]) -> list[CallSpent]:
    return [spending_of_call(call, costs[id_]) for id_, call in session.calls.items() if id_ in ids]


def _is_between(call: Call, between: tuple[float, float] | None) -> bool:
    return between is None or between[0] <= (call.at or 0.0) < between[1]


_STRATEGY_BY_KIND = {savings.HOUR: "1h", savings.MINUTES: "5m", savings.CACHE: DEFAULT_STRATEGY}


def measure_savings(account: Account, counter: Counter, candidates: Sequence[Saving]) -> list[Saving]:
    """Measure the savings of `candidates`; return those above zero, the largest first.

    Other markers are tried in the lab. Cleared results are priced at their call and over the recorded calls after it.
    """
    threads = {thread.thread: thread for thread in account.threads()}
    markers = run_marker_strategies(
        account, [_STRATEGY_BY_KIND[saving.kind] for saving in candidates if saving.kind in _STRATEGY_BY_KIND]
    )
    measured = []
    for saving in candidates:
        thread, edited_calls = threads[saving.thread], None
        if saving.kind in _STRATEGY_BY_KIND:
            edited_calls = markers.edited_calls(_STRATEGY_BY_KIND[saving.kind], thread.calls)
        elif saving.kind == savings.CLEAR:
            edited_calls = _price_clearing(account, counter, thread, saving)
        measured.append(
            saving if edited_calls is None or edited_calls.usd is None else replace(saving, saves=-edited_calls.usd)
        )
    return sorted((saving for saving in measured if saving.saves > 0), key=lambda saving: -saving.saves)


def _price_clearing(account: Account, counter: Counter, thread: ThreadCosts, saving: Saving) -> EditedCalls | None:
    """The effect of clearing at the call of `saving` on it and on later calls.

    None as in `EditedThread.calls_under`.
    """
    before = ChosenCall(saving.thread, saving.call - 1, thread.calls[saving.call - 2])
    base = curate_context(account.book, counter, before, after=True, prices=account.table)
    context = base.context
    nodes = (node for node in cleared_nodes(thread, saving) if context.tree.holds(context.head, node))
    edits = [make(REPLACE, context.targets([context.position(node)]), {"text": CLEARED}) for node in sorted(nodes)]
    after = base.policy_context.under(edits).applied
    edited = EditedThread(thread.ledger, thread.calls, account.charge)
    return edited.calls_under(base.policy_context, after, base.prices.tag(after), since=saving.call - 1)
