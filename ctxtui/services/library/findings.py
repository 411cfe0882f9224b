"""Findings of a session: problems in a thread, and their fixes with their prices."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.analysis.cache.cached_input import SHORTEST_CACHED
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.guard import Guard
from ctxtui.analysis.findings.finding import Finding, FindingInputs, NoFinding
from ctxtui.analysis.findings.priced import Findings, PricedFinding, rank_findings, staged_blocks
from ctxtui.analysis.findings.registry import find_all
from ctxtui.analysis.lab.on_record import NO_MARKER_RUNS, MarkerRuns
from ctxtui.analysis.lab.placed_markers import LIFETIMES, spell_name
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import EditedThread
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.cache.marker_placement import PREFIX_STRATEGIES, STRATEGIES, static_end
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.risk import loses_text, risk_of
from ctxtui.curation.policies.safe_edits import removes_most
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.config.package_data import guard_rules
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curate_context
from ctxtui.services.lab.breakpoints import strategy_breakpoints
from ctxtui.services.lab.marker_costs import run_marker_strategies


def price_findings(
    account: Account, counter: Counter, chosen: ChosenCall, settings: Settings, edits: Sequence[Edit] = ()
) -> Findings:
    """Find the problems up to the `chosen` call, with their fixes and savings.

    `edits` are those in force, whose cost is not part of any finding.
    """
    session, book, horizon = account.session, account.book, settings.horizon
    calls = session.thread_calls(chosen.thread)
    if not chosen.number:
        lacks = ("no call is recorded: nothing was paid or carried yet",)
        return Findings(thread=chosen.thread, number=0, calls=0, horizon=horizon, lacks=lacks)
    share, table = account.usable_share, account.table
    finder = account.miss_finder()
    base = curate_context(
        book,
        counter,
        chosen,
        edits=edits,
        under=edits,
        after=True,
        usable_share=share,
        prices=table,
        other_forecasts=lambda: finder.forecasts,
    )
    running = RunningTotals(book, chosen.call.model)
    running.advance()
    costs = ThreadCosts(book, chosen.thread, running, account.costs, chosen.number)
    priced = any(account.costs.get(call.id) is not None for call in costs.calls)
    inputs = FindingInputs(
        book=book,
        policy_context=replace(base.policy_context, computed=base.applied),
        calls=costs.calls,
        costs=costs,
        missed=account.misses(finder).misses,
        rates=account.rates,
        markers=_run_markers(account, costs.calls) if priced else NO_MARKER_RUNS,
        policies=load_policies(),
        priced=priced,
        minimum=lambda model: book.card(model).cache_minimum or SHORTEST_CACHED,
        guard=Guard(guard_rules()),
    )
    thread_costs = ThreadCosts(book, chosen.thread, running, account.costs) if chosen.number < len(calls) else costs
    thread = EditedThread(thread_costs.ledger, calls, account.charge)
    results = [
        finding if isinstance(finding, NoFinding) else _price_finding(finding, inputs, base, chosen, thread, horizon)
        for finding in find_all(inputs)
    ]
    silent = [finding for finding in results if isinstance(finding, NoFinding) and finding.why]
    priced_findings = [finding for finding in results if isinstance(finding, PricedFinding)]
    ranked_findings, small = rank_findings(priced_findings)
    result = Findings(
        thread=chosen.thread,
        number=chosen.number,
        calls=len(calls),
        horizon=horizon,
        priced=tuple(ranked_findings),
        lacks=(*_missing_data(costs.calls, priced), *map(str, (*silent, *small))),
        absent=tuple(finding.kind for finding in results if isinstance(finding, NoFinding) and not finding.why),
    )
    if not result.edits:
        return result
    after = inputs.policy_context.under(result.edits).applied
    return replace(result, together=None if after.refused else base.prices.tag(after))


def _run_markers(account: Account, calls: Sequence[Call]) -> MarkerRuns:
    """The recording under marker strategies.

    Empty if the provider of `calls` takes no markers.
    """
    rules = cache_rules_by_call(account.book)
    if not any(rules(call).mechanism.writes_at_markers for call in calls):
        return NO_MARKER_RUNS
    static = static_end(account.session.tree, calls[-1].sent_head) != ROOT
    names = [spell_name(strategy.name) for strategy in STRATEGIES if static or strategy.name not in PREFIX_STRATEGIES]
    return run_marker_strategies(account, [*LIFETIMES, *names])


def _price_finding(
    finding: Finding, inputs: FindingInputs, base: Curation, chosen: ChosenCall, thread: EditedThread, horizon: int
) -> PricedFinding | NoFinding:
    """Price a finding, or return why it proposes nothing; `thread` includes the later calls."""
    if not finding.edits:
        cache = finding.cache
        return PricedFinding(
            finding=finding,
            horizon=horizon,
            marks=strategy_breakpoints(base.context, chosen.call, inputs.book, cache) if cache else (),
            proved=inputs.markers.edited_calls(cache, inputs.calls),
        )
    policy_context, number = inputs.policy_context, len(inputs.calls)
    after = policy_context.under(finding.edits).applied
    # Only a redaction may remove text that later blocks quote.
    tag = base.prices.tag(after, policy_context.literals if finding.warning else None)
    if finding.warning:
        # Unlike other findings it is shown even if its redaction saves nothing.
        if not tag.refused:
            return _with_price(finding, policy_context, after, tag, horizon)
        why = f"the provider would refuse the redaction: {tag.refused}"
        return PricedFinding(finding=replace(finding, edits=(), by_hand=why), horizon=horizon)
    if tag.refused:
        return NoFinding(finding.kind, f"the provider would refuse it: {tag.refused}")
    if tag.freed <= 0:
        return NoFinding(finding.kind, "it frees nothing")
    if removes_most(policy_context.applied, after):
        return NoFinding(
            finding.kind,
            "most of the conversation would go" + ("; the list of policies has it" if finding.policy else ""),
        )
    so_far = thread.calls_under(policy_context, after, tag, until=number)
    if so_far is not None and so_far.usd is not None:
        # A fix that would have cost more than it saved is no loss so far.
        finding = replace(finding, so_far=-so_far.usd if so_far.usd < 0 else None, calls=so_far.calls)
    priced = _with_price(finding, policy_context, after, tag, horizon)
    return replace(priced, rest=thread.calls_under(policy_context, after, tag, since=number), proved=so_far)


def _with_price(finding: Finding, here: PolicyContext, after: Applied, tag: PriceTag, horizon: int) -> PricedFinding:
    staged = staged_blocks(here, after, finding.edits)
    return PricedFinding(
        finding=finding,
        horizon=horizon,
        tag=tag,
        risk=risk_of(here.context, finding.edits),
        loses_text=loses_text(here.context, finding.edits),
        blocks=staged.blocks,
        longer=staged.longer,
        along=staged.along,
    )


def _missing_data(calls: Sequence[Call], priced: bool) -> list[str]:
    texts = []
    if len(calls) == 1:
        texts.append("one call: carried, missed and unused content shows from the second call on")
    if not any(call.usage is not None for call in calls):
        texts.append("no usage was reported: cache and costs are not known")
    elif not priced:
        texts.append("no price is known for the model: findings are ranked by tokens")
    return texts
