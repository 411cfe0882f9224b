"""How a session's context grew, and where that leads: what `ctxtui growth` and the screen of growth tell."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, unsent
from ctxtui.analysis.content.duplicates import DuplicateFinder, standing
from ctxtui.analysis.figures import figures
from ctxtui.analysis.growth.feasible import GrowthReport, feasible
from ctxtui.analysis.growth.growth import Growth, growth
from ctxtui.analysis.growth.phases import TURN, phases
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.spending import SpendingRow, row_of
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.call import Call
from ctxtui.core.note import Note
from ctxtui.services.counting.accounts import Account
from ctxtui.services.library.preflight import preflight
from ctxtui.services.study.phase_rules import find_phases

NAMED = "named"
"""What the rule is called where phases are the user's own."""


def costs_of(account: Account, thread: str) -> ThreadCosts:
    """What the blocks of one thread cost; its last call's model counts them."""
    calls = account.session.thread_calls(thread)
    running = RunningTotals(account.book, calls[-1].model)
    running.advance()
    return ThreadCosts(account.book, thread, running, account.costs)


def growth_report(
    account: Account, chosen: ChosenCall, notes: Iterable[Note] = (), rule: str = "", ahead: int = 10
) -> GrowthReport:
    """The growth of the thread of `chosen` in a counted `account`, with its phases by `rule` (see `phase_rules.begun`),
    and whether `ahead` more of them fit. Raises `BadPattern`."""
    session, book = account.session, account.book
    calls = session.thread_calls(chosen.thread)
    if not calls:
        return GrowthReport(Growth(thread=chosen.thread, lacks=("no call is recorded",)))
    since = unsent(session, chosen.thread)
    contexts = [*calls, *([since] if since is not None else [])]
    starts = find_phases(session, contexts, rule, notes)
    own = any(start.own for start in starts)

    def tokens(call: Call) -> int:
        return figures(book, call).context_tokens

    def cost(call: Call) -> tuple[SpendingRow, bool]:
        return row_of(call, account.costs.get(call.id), ""), True

    rows = phases(contexts, starts, tokens, cost)
    if rows[-1].first > len(calls):
        rows[-1] = replace(rows[-1], name=f"{rows[-1].name}, not sent yet")
    costs = costs_of(account, chosen.thread)
    found = DuplicateFinder(session.tree, book.names, session.about.cwd)
    last = calls[-1].sent_head
    found.show(last)
    twice = sum(costs.running.own(one.node) for one in standing(found.found, session.tree, last))
    priced = any(account.costs.get(call.id) is not None for call in calls)
    grown = growth(book, costs, rows, rule or (NAMED if own else TURN), twice, priced=priced, since=since)
    look = preflight(book, ChosenCall(chosen.thread, len(calls), calls[-1]), ahead, account.usable_share, account.table)
    window = look.window
    return GrowthReport(grown, look, feasible(look.outlook, rows, window.usable, window.window or window.limit))
