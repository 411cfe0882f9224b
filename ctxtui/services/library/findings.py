"""Findings of a session: what is the case in a thread, what cures it, and what that saves by the price tag."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.analysis.cache.losses import SHORTEST_CACHED
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.findings.finding import Finding, FindingInputs, Silent
from ctxtui.analysis.findings.priced import Findings, PricedFinding, ranked, staged_blocks
from ctxtui.analysis.findings.registry import findings
from ctxtui.analysis.lab.on_record import NOT_TRIED, UnderMarkers
from ctxtui.analysis.lab.placed_marks import LIVES, spelled
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import EditedThread
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.cache.marker_placement import PREFIX_STRATEGIES, STRATEGIES, static_end
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.curation.policies.risk import loses_text, risk_of
from ctxtui.curation.policies.safe_edits import removes_most
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cached_by
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curated
from ctxtui.services.lab.breakpoints import placed_breakpoints
from ctxtui.services.lab.marker_costs import under_markers


def findings_of(
    account: Account, counter: Counter, chosen: ChosenCall, settings: Settings, edits: Sequence[Edit] = ()
) -> Findings:
    """The findings up to the `chosen` call under the `edits` that stand, whose own price is none of theirs; the account
    is counted."""
    session, book, horizon = account.session, account.book, settings.horizon
    calls = session.thread_calls(chosen.thread)
    if not chosen.number:
        lacks = ("no call is recorded: nothing was paid or carried yet",)
        return Findings(thread=chosen.thread, number=0, calls=0, horizon=horizon, lacks=lacks)
    share, table = account.usable_share, account.table
    finder = account.miss_finder()
    base = curated(
        book,
        counter,
        chosen,
        edits=edits,
        under=edits,
        after=True,
        usable_share=share,
        prices=table,
        beside=lambda: finder.forecasts,
    )
    running = RunningTotals(book, chosen.call.model)
    running.advance()
    costs = ThreadCosts(book, chosen.thread, running, account.costs, chosen.number)
    priced = any(account.costs.get(call.id) is not None for call in costs.calls)
    given = FindingInputs(
        book=book,
        situation=replace(base.situation, known=base.applied),
        calls=costs.calls,
        costs=costs,
        missed=account.misses(finder).found,
        rates=account.rates,
        markers=_markers(account, costs.calls) if priced else NOT_TRIED,
        policies=every_policy(),
        priced=priced,
        minimum=lambda model: book.card(model).cache_minimum or SHORTEST_CACHED,
    )
    whole = ThreadCosts(book, chosen.thread, running, account.costs) if chosen.number < len(calls) else costs
    thread = EditedThread(whole.ledger, calls, account.charge)
    told = [
        one if isinstance(one, Silent) else _priced(one, given, base, chosen, thread, horizon)
        for one in findings(given)
    ]
    silent = [one for one in told if isinstance(one, Silent) and one.why]
    every = [one for one in told if isinstance(one, PricedFinding)]
    found, small = ranked(every)
    made = Findings(
        thread=chosen.thread,
        number=chosen.number,
        calls=len(calls),
        horizon=horizon,
        found=tuple(found),
        lacks=(*_lacking(costs.calls, priced), *map(str, (*silent, *small))),
        absent=tuple(one.kind for one in told if isinstance(one, Silent) and not one.why),
    )
    if not made.edits:
        return made
    after = given.situation.under(made.edits).applied
    return replace(made, together=None if after.refused else base.prices.tag(after))


def _markers(account: Account, calls: Sequence[Call]) -> UnderMarkers:
    """The recording under every strategy; nothing where the provider of `calls` takes no markers."""
    rules = cached_by(account.book)
    if not any(rules(call).mechanism.writes_at_markers for call in calls):
        return NOT_TRIED
    static = static_end(account.session.tree, calls[-1].sent_head) != ROOT
    names = [spelled(one.name) for one in STRATEGIES if static or one.name not in PREFIX_STRATEGIES]
    return under_markers(account, [*LIVES, *names])


def _priced(
    finding: Finding, given: FindingInputs, base: Curation, chosen: ChosenCall, thread: EditedThread, horizon: int
) -> PricedFinding | Silent:
    """A finding with its price, or why it proposes nothing; `thread` has the later calls, too."""
    if not finding.edits:
        cache = finding.cache
        return PricedFinding(
            finding=finding,
            horizon=horizon,
            marks=placed_breakpoints(base.context, chosen.call, given.book, cache) if cache else (),
            proved=given.markers.of(cache, given.calls),
        )
    here, number = given.situation, len(given.calls)
    after = here.under(finding.edits).applied
    tag = base.prices.tag(after)
    if tag.refused:
        return Silent(finding.kind, f"the provider would refuse it: {tag.refused}")
    if tag.freed <= 0:
        return Silent(finding.kind, "it frees nothing")
    if removes_most(here.applied, after):
        return Silent(
            finding.kind,
            "most of the conversation would go" + ("; the list of policies has it" if finding.policy else ""),
        )
    staged = staged_blocks(here, after, finding.edits)
    so_far = thread.under(here, after, tag, until=number)
    if so_far is not None and so_far.usd is not None:
        # Of a cure that costs more than it saves from the first call on nothing was paid too much.
        finding = replace(finding, so_far=-so_far.usd if so_far.usd < 0 else None, calls=so_far.calls)
    return PricedFinding(
        finding=finding,
        horizon=horizon,
        tag=tag,
        risk=risk_of(here.context, finding.edits),
        loses_text=loses_text(here.context, finding.edits),
        rest=thread.under(here, after, tag, since=number),
        proved=so_far,
        blocks=staged.blocks,
        longer=staged.longer,
        along=staged.along,
    )


def _lacking(calls: Sequence[Call], priced: bool) -> list[str]:
    found = []
    if len(calls) == 1:
        found.append("one call: what is carried, missed or never used shows from the second on")
    if not any(call.usage is not None for call in calls):
        found.append("no call was reported: nothing is told of the cache or of what was paid")
    elif not priced:
        found.append("no price is known for the model: findings are ranked by tokens")
    return found
