"""What would help a context from here on: policies tried one by one and in pairs, priced, ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.edit_prices import EditPrices
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.search import search
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.advice import Advice, advice
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag, pays_back


class AdviceSearch(Struct, frozen=True, kw_only=True):
    """What a search needs: the context under all its edits (`situation`), and the `prices` of those that are in
    question (None: no price is known)."""

    situation: PolicyContext
    prices: EditPrices | None

    def priced(self, after: Applied) -> PriceTag | None:
        """The price of the edits in `after`; None where it cannot be told."""
        return self.prices.tag(after) if self.prices is not None else None

    def advice(
        self,
        policies: Iterable[Policy],
        horizon: int,
        staged: PriceTag | None,
        stopped: Callable[[], bool] = lambda: False,
        enough: Callable[[], bool] = lambda: False,
    ) -> list[Advice]:
        """What would help besides what is `staged` and costs that already, by risk, then by what it saves over
        `horizon` calls. Where it is `enough` no more is looked for, and what was found is priced; once it is `stopped`,
        nobody waits for anything."""
        situation = self.situation

        def price(after: Applied) -> PriceTag | None:
            found = self.priced(after)
            return None if found is None else without(found, staged)

        found = takewhile(lambda _: not stopped() and not enough(), search(situation, policies))
        try:
            return advice(situation, found, price, horizon, stopped)
        finally:
            situation.forget()


def without(found: PriceTag, staged: PriceTag | None) -> PriceTag:
    """`found` with its money less what the edits that are `staged` cost then anyway."""
    already = {one.name: one for one in staged.moments} if staged is not None else {}
    moments = (_more(one, already[one.name]) if one.name in already else one for one in found.moments)
    return replace(found, moments=tuple(moments))


def _more(moment: ApplyMoment, already: ApplyMoment) -> ApplyMoment:
    once = None if moment.once is None or already.once is None else moment.once - already.once
    per_call = None if moment.per_call is None or already.per_call is None else moment.per_call - already.per_call
    return replace(moment, once=once, per_call=per_call, pays_back=pays_back(once, per_call))
