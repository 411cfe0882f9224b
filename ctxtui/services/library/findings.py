"""Findings of a session: what is the case in a thread, what cures it, and what that saves by the price tag."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.losses import SHORTEST_CACHED
from ctxtui.analysis.cache.marker_trials import tried_markers
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.findings.finding import Finding, FindingInputs, Silent
from ctxtui.analysis.findings.priced import PricedFinding, ranked, staged_blocks
from ctxtui.analysis.findings.registry import findings
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.call import EDITS, Call
from ctxtui.core.edit import Edit, in_force
from ctxtui.core.session import Session
from ctxtui.curation.policies.risk import risk_of
from ctxtui.curation.policies.safe_edits import empties
from ctxtui.curation.price.advice import saved_over
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cached_by
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curated, what_followed
from ctxtui.services.lab.marker_costs import marker_rates
from ctxtui.services.library.finding_proofs import TOO_LONG, is_long, proved


class Findings(Struct, frozen=True, kw_only=True):
    """What was found in `thread` up to call `number`, of `calls` in all, what risks least first. `together` is the
    price of all their edits at once (None: there are none); savings overlap, so it is less than their sum. `lacks` says
    what could not be told or is not proposed, and why."""

    thread: str
    number: int
    calls: int
    horizon: int
    found: tuple[PricedFinding, ...] = ()
    together: PriceTag | None = None
    lacks: tuple[str, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits of the context, those that save most first; the same edit once. Breakpoints are staged each by
        themselves: what they save is in no price tag of one request."""
        return tuple({edit.id: edit for one in self.found for edit in one.finding.edits}.values())

    @property
    def saves(self) -> float | None:
        """USD that all edits together save over the horizon."""
        return saved_over(self.together, self.horizon) if self.together is not None else None


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
        placing=tried_markers(book, cached_by(book), marker_rates(table), chosen.thread) if priced else None,
        policies=every_policy(),
        priced=priced,
        minimum=lambda model: book.card(model).cache_minimum or SHORTEST_CACHED,
    )
    pricing = _Pricing(given, base, chosen, calls[chosen.number :], account, horizon)
    told = [one if isinstance(one, Silent) else pricing.priced(one) for one in findings(given)]
    silent = [one for one in told if isinstance(one, Silent)]
    stand = unsent(session, chosen.call, edits)
    every = [one for one in told if isinstance(one, PricedFinding)]
    found, small = ranked(proved(account, chosen, given.situation.context, every, stand))
    lacks = (*_lacking(costs.calls, priced), *([TOO_LONG] if found and is_long(chosen, base.context) else ()))
    made = Findings(
        thread=chosen.thread,
        number=chosen.number,
        calls=len(calls),
        horizon=horizon,
        found=tuple(found),
        lacks=(*lacks, *map(str, (*silent, *small))),
    )
    if not made.edits:
        return made
    after = given.situation.under(made.edits).applied
    return replace(made, together=None if after.refused else base.price(after))


def unsent(session: Session, call: Call, edits: Iterable[Edit]) -> list[Edit]:
    """Those of the `edits`, a log, that stand and under which `call` did not leave yet: what was recorded is what the
    others left."""
    edits = in_force(edits)
    told = call.extra.get(EDITS)
    applied = told.get("applied") if isinstance(told, dict) else None
    if isinstance(applied, list):
        return [edit for edit in edits if edit.id not in applied]
    if not call.edited:
        return edits
    left = {session.tree[node].block.digest for node in session.tree.path(call.sent_head)}
    return [edit for edit in edits if _stands(edit, left) or (call.started is not None and edit.at > call.started)]


def _stands(edit: Edit, left: Container[str]) -> bool:
    """Whether a block that `edit` changes or takes out is still among what `left`."""
    changes = edit.does.rewrites or edit.does.takes_away
    return changes and any(target.digest in left for target in edit.targets)


class _Pricing:
    """Prices findings on one context."""

    def __init__(
        self,
        given: FindingInputs,
        base: Curation,
        chosen: ChosenCall,
        later: Sequence[Call],
        account: Account,
        horizon: int,
    ) -> None:
        self._given, self._base, self._horizon = given, base, horizon
        later = later if given.situation.context.nodes else ()
        self._followed = what_followed(given.situation, later, given.costs.running, account.table)

    def priced(self, finding: Finding) -> PricedFinding | Silent:
        """A finding with its price, or why it proposes nothing."""
        if not finding.edits:
            return PricedFinding(finding=finding, horizon=self._horizon)
        after = self._given.situation.under(finding.edits).applied
        tag = self._base.price(after)
        if tag.refused:
            return Silent(finding.kind, f"the provider would refuse it: {tag.refused}")
        if tag.freed <= 0:
            return Silent(finding.kind, "it frees nothing")
        if empties(self._given.situation.applied, after):
            return Silent(finding.kind, "most of the conversation would go; the list of policies has it")
        staged = staged_blocks(self._given.situation, after, finding.edits)
        return PricedFinding(
            finding=finding,
            horizon=self._horizon,
            tag=tag,
            risk=risk_of(self._given.situation.context, finding.edits),
            rest=self._followed.under(after, tag),
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
