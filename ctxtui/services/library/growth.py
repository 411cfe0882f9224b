"""The growth of a session's context and its forecast."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, unsent_call
from ctxtui.analysis.content.duplicates import DuplicateFinder, duplicates_in
from ctxtui.analysis.figures import figures
from ctxtui.analysis.growth.feasible import GrowthReport, check_feasibility
from ctxtui.analysis.growth.growth import Growth, thread_growth
from ctxtui.analysis.growth.phases import TURN, build_phases
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.spending import call_row
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.note import Note
from ctxtui.services.counting.accounts import Account
from ctxtui.services.library.preflight import preflight
from ctxtui.services.study.phase_rules import find_phases

NAMED = "named"
"""The rule for phases from the user's notes."""


def thread_costs_of(account: Account, thread: str) -> ThreadCosts:
    """Costs of a thread's blocks, counted by its last call's model."""
    calls = account.session.thread_calls(thread)
    running = RunningTotals(account.book, calls[-1].model)
    running.advance()
    return ThreadCosts(account.book, thread, running, account.costs)


def growth_report(
    account: Account, chosen: ChosenCall, notes: Iterable[Note] = (), rule: str = "", ahead: int = 10
) -> GrowthReport:
    """The growth of the thread of `chosen` in a counted `account`. Raises `BadPattern`.

    - `rule`: divides it into phases (`phase_rules`).
    - `ahead`: how many further phases (turns or rounds, if the user named fewer than two) are projected.
    """
    session, book = account.session, account.book
    calls = session.thread_calls(chosen.thread)
    if not calls:
        return GrowthReport(Growth(thread=chosen.thread, lacks=("no call is recorded",)))
    since = unsent_call(session, chosen.thread)
    contexts = [*calls, *([since] if since is not None else [])]
    starts = find_phases(session, contexts, rule, notes)
    has_own_phases = any(start.own for start in starts)

    rows = build_phases(
        contexts,
        starts,
        lambda call: figures(book, call).context_tokens,
        lambda call: (call_row(call, account.costs.get(call.id), ""), True),
    )
    if rows[-1].first > len(calls):
        rows[-1] = replace(rows[-1], name=f"{rows[-1].name}, not sent yet")
    costs = thread_costs_of(account, chosen.thread)
    finder = DuplicateFinder(session.tree, book.names, session.about.cwd)
    last = calls[-1].sent_head
    finder.search_path(last)
    duplicate_tokens = sum(
        costs.running.block_tokens(duplicate.node) for duplicate in duplicates_in(finder.duplicates, session.tree, last)
    )
    priced = any(account.costs.get(call.id) is not None for call in calls)
    growth = thread_growth(
        book, costs, rows, rule or (NAMED if has_own_phases else TURN), duplicate_tokens, priced=priced, since=since
    )
    flight = preflight(
        book, ChosenCall(chosen.thread, len(calls), calls[-1]), ahead, account.usable_share, account.table
    )
    window = flight.window
    feasible = check_feasibility(flight.outlook, rows, window.usable, window.window or window.limit)
    return GrowthReport(growth, flight, feasible)
