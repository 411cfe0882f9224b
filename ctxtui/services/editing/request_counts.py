"""What requests under edits come to, kept from one key to the next."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.request_counts import CountingTerms, count_under, counting_terms
from ctxtui.core.block import Block
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.services.study.study import Study
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.views.model.scene import Scene

_KEPT: Final = 4
"""Counts that are kept: of the request without edits, under the applied ones, under the staged ones."""


class RequestCounts:
    """The counts of the requests that were asked for last, in the session of `study`."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._known: list[tuple[Applied, object, RequestCount]] = []
        self._terms: tuple[object, CountingTerms | None] = (None, None)

    def of(self, scene: Scene, applied: Applied) -> RequestCount | None:
        """What the request under `applied` comes to; None while something of it is being counted."""
        study, call = self._study, scene.call
        figures = scene.figures
        key = (call.id, study.book.version, figures.context_tokens, figures.not_recorded, figures.attached)
        known = next((one for one in self._known if _is_same(one[0], applied) and one[1] == key), None)
        if known is not None:
            self._known = [*(one for one in self._known if one is not known), known]
            return known[2]
        if not study.book.counted(call.model, applied.context.head):
            return None
        waiting: list[Block] = []

        def measure(block: Block) -> Features:
            found = study.features_of(call.model, block)
            if found is None:
                waiting.append(block)
            return NOTHING if found is None else found

        of = (applied.context.head, applied.context, study.book.cumulated(call.model), study.book.version)
        if self._terms[0] != (key, of) or self._terms[1] is None:
            self._terms = (key, of), counting_terms(study.book, call, applied.context)
        assert self._terms[1] is not None
        made = count_under(self._terms[1], applied, measure)
        if waiting:
            return None
        self._known = [*self._known[1 - _KEPT :], (applied, key, made)]
        return made


def _is_same(one: Applied, other: Applied) -> bool:
    """Whether two results are one request: of a context as it came each result has an object of its own."""
    bare = not one.touched and not other.touched and one.context is other.context and one.length == other.length
    return one is other or (bare and one.withheld == other.withheld)
