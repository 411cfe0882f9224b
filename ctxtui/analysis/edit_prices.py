"""Prices of edits of one context for the next request, on top of the edits already applied."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from ctxtui.analysis.cache.what_if import Weigh
from ctxtui.analysis.request_counts import CountingTerms, count_under
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.search import CountCache
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.price.price_tag import PriceQuestion, PriceTag, price_tag
from ctxtui.curation.price.request_count import Measure, RequestCount


class EditPrices(Struct, frozen=True, dict=True):
    """Everything that a price tag needs besides the edits.

    `before` is the context without them, `question` the next request with it; `weigh` gives tokens of features in
    that request, `measure` the features of a block, and `terms` are used to count requests.
    """

    before: Applied
    question: PriceQuestion
    weigh: Weigh
    measure: Measure
    terms: CountingTerms

    def tag(self, after: Applied, literals: Literals | None = None) -> PriceTag:
        """Price the edits in `after`; quotes are found only with the `literals` of the context."""
        return price_tag(self.before, after, self.question, self._count, (self._without, self._under(after)), literals)

    @cached_property
    def _count(self) -> CountCache:
        return CountCache(lambda block: round(self.weigh(self.measure(block))))

    @cached_property
    def _without(self) -> RequestCount:
        return self._under(self.before)

    def _under(self, applied: Applied) -> RequestCount:
        return count_under(self.terms, applied, self.measure)
