"""Advice: what would help a session, from here on and from its beginning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import CallCharge
from ctxtui.analysis.money.savings import Cure, by_policy
from ctxtui.analysis.money.statement import Statement
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.search import Remedy, search
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.policies.situation import Settings as PolicySettings
from ctxtui.curation.price.advice import Advice, find_advice
from ctxtui.pricing.price import PriceTable
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curated


class Searched(Struct, frozen=True, dict=True):
    """A call's next context, and every remedy that the search found for it."""

    base: Curation
    found: tuple[Remedy, ...]

    def ahead(self, horizon: int) -> list[Advice]:
        """What helps from here on over `horizon` calls."""
        return find_advice(self.base.situation, self.found, self.base.prices.tag, horizon)

    def from_the_start(self, thread: ThreadCosts, charge: CallCharge) -> list[Cure]:
        """What single policies would have saved, had they been there from the first call of the thread on."""
        made = (by_policy(thread, self.base.context, one, charge) for one in self.found)
        return [one for one in made if one is not None]


def searched(
    book: Book, counter: Counter, chosen: ChosenCall, prices: PriceTable, share: float, edits: Sequence[Edit] = ()
) -> Searched:
    """Search for what helps the context behind the answer of the `chosen` call under the `edits` that are applied;
    `share` of its window is meant to be filled. Everything in `book` must be counted."""
    base = curated(book, counter, chosen, edits=edits, under=edits, after=True, usable_share=share, prices=prices)
    rest = [policy for policy in every_policy().values() if policy.name != budget.NAME]
    return Searched(base, tuple(search(base.situation, rest)))


def advise(what: Statement, account: Account, counter: Counter, settings: Settings, edits: Sequence[Edit] = ()) -> None:
    """Add to the statement of a session what would help its main thread, which goes on under the applied `edits`."""
    chosen = choose(account.session)
    if not chosen.number or chosen.call.sent_head == ROOT:
        return
    found = searched(account.book, counter, chosen, account.table, settings.usable_share, edits)
    what.ahead = [_portable(one) for one in found.ahead(settings.horizon)]
    thread = next((one for one in account.threads() if one.thread == chosen.thread), None)
    if thread is not None:
        what.cures = sorted([*what.cures, *found.from_the_start(thread, account.charge)], key=lambda cure: -cure.saves)


def _portable(one: Advice) -> Advice:
    """`one` as it can be handed from process to process: without the code of its policies, which a third party may have
    written."""
    steps = tuple(Step(replace(step.policy, propose=_nothing), step.settings) for step in one.remedy.steps)
    return replace(one, remedy=replace(one.remedy, steps=steps, applied=None))


def _nothing(situation: PolicyContext, settings: PolicySettings) -> Iterable[Edit]:
    return ()
