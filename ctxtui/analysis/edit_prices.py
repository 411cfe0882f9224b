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
    """Prices edits of the context `before`, for the next request with that context (`question`).

    `weigh` gives tokens of features in that request, `measure` the features of a block. `terms` are those by which the
    whole request is counted.
    """

    before: Applied
    question: PriceQuestion
    weigh: Weigh
    measure: Measure
    terms: CountingTerms

    def tag(self, after: Applied, literals: Literals | None = None) -> PriceTag:
        """Price the edits in `after`; quotes are found with the `literals` of the context."""
        return price_tag(
            self.before,
            after,
            self.question,
            self._token_counter,
            (self._count_without, self._count_request(after)),
            literals,
        )

    @cached_property
    def _token_counter(self) -> CountCache:
        return CountCache(lambda block: round(self.weigh(self.measure(block))))

    @cached_property
    def _count_without(self) -> RequestCount:
        return self._count_request(self.before)

    def _count_request(self, applied: Applied) -> RequestCount:
        return count_under(self.terms, applied, self.measure)
