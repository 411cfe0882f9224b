"""Advice: policies whose edits would save money from now on, or would have from the start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import CallCharge
from ctxtui.analysis.money.savings import Saving, price_policy
from ctxtui.analysis.money.statement import Statement
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.policy_context import Settings as PolicySettings
from ctxtui.curation.policies.search import Remedy, search
from ctxtui.curation.price.advice import Advice, find_advice
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curate_context


class SearchResult(Struct, frozen=True):
    """The context after a call, and its remedies: combinations of policies with their edits."""

    base: Curation
    remedies: tuple[Remedy, ...]

    def ahead(self, horizon: int) -> list[Advice]:
        """Advice from here on, over `horizon` calls."""
        return find_advice(self.base.policy_context, self.remedies, self.base.prices.tag, horizon)

    def from_the_start(self, thread: ThreadCosts, charge: CallCharge) -> list[Saving]:
        """Savings of single policies if they had been used from the thread's first call on."""
        savings = (price_policy(thread, self.base.context, remedy, charge) for remedy in self.remedies)
        return [saving for saving in savings if saving is not None]


def search_remedies(
    book: Book, counter: Counter, chosen: ChosenCall, prices: PriceTable, share: float, edits: Sequence[Edit] = ()
) -> SearchResult:
    """Search for remedies in the context after the answer of the `chosen` call.

    The context is under the applied `edits`. `share` is the usable share of the context window, 0 to 1. Everything in
    `book` must be counted.
    """
    base = curate_context(
        book, counter, chosen, edits=edits, under=edits, after=True, usable_share=share, prices=prices
    )
    # `budget` itself searches for remedies.
    policies = [policy for policy in load_policies().values() if policy.name != budget.NAME]
    return SearchResult(base, tuple(search(base.policy_context, policies)))


def advise(
    statement: Statement, account: Account, counter: Counter, settings: Settings, edits: Sequence[Edit] = ()
) -> None:
    """Set `statement.ahead`, and add the policies' savings to `statement.savings`.

    Both are for the main thread, or the first one with calls, under the applied `edits`. No effect before the first
    call.
    """
    chosen = choose_call(account.session)
    if not chosen.number or chosen.call.sent_head == ROOT:
        return
    search_result = search_remedies(account.book, counter, chosen, account.table, settings.usable_share, edits)
    statement.ahead = [_without_code(advice) for advice in search_result.ahead(settings.horizon)]
    thread = next((costs for costs in account.threads() if costs.thread == chosen.thread), None)
    if thread is not None:
        statement.savings = sorted(
            [*statement.savings, *search_result.from_the_start(thread, account.charge)],
            key=lambda saving: -saving.saves,
        )


def _without_code(advice: Advice) -> Advice:
    """`advice` without its policies' code, so that it can be pickled.

    The code may be a third party's.
    """
    steps = tuple(Step(replace(step.policy, propose=_propose_nothing), step.settings) for step in advice.remedy.steps)
    return replace(advice, remedy=replace(advice.remedy, steps=steps, applied=None))


def _propose_nothing(policy_context: PolicyContext, settings: PolicySettings) -> Iterable[Edit]:
    return ()
