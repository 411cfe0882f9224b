"""The next requests of an open session, computed in a worker and cached until something changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import latest_expiry
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.core.call import Call
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.price.dependence import Literals
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.editing.edited_request import UnderEdits
from ctxtui.services.editing.next_request import Next, following_request
from ctxtui.services.study.study import Study
from ctxtui.views.model.scene import Scene

Later = Callable[[Callable[[], None]], None]
"""Runs a function in a worker, before other work."""

LONG_CONTEXT_BLOCKS: Final = 20_000
"""From so many blocks on, the next request of a context takes a second or more, and a hundred megabytes."""


def should_forecast_ahead(book: Book, scene: Scene, now: float) -> bool:
    """Whether to forecast the request after the call shown without being asked. For a long context only if part of it
    may still be cached `now` (Unix seconds).
    """
    call, head = scene.call, scene.tip or scene.head
    if scene.session.tree[head].depth < LONG_CONTEXT_BLOCKS:
        return True
    return now < latest_expiry(cache_rules_by_call(book)(call), call.ended or call.started)


class _Asked(Struct, eq=False, dict=True):
    """A requested forecast; `found` is set when it is computed."""

    under: Applied | None
    last: bool = False
    """True if it follows the last call of its thread."""
    found: Next | None = None


class NextRequestCache:
    """The requests that would follow the shown call of `study`, without edits and under the applied ones."""

    def __init__(self, study: Study, clock: Callable[[], float] = time.time) -> None:
        self._study = study
        self._clock = clock
        self._replay: Replay | None = None
        self._here: Hashable = None
        self._known: list[_Asked] = []
        self._learnt: CallForecaster | None = None
        self._last: tuple[Hashable, int, Next] | None = None
        """The last forecast without edits: its call and context, the last node, the result."""
        self.literals: Literals | None = None
        """Literals of the context whose next call was forecast; None before."""

    @property
    def foretelling(self) -> bool:
        """Whether a forecast is being computed."""
        return any(one.found is None for one in self._known)

    def of(
        self, scene: Scene, context: Context, applied: Applied | None, later: Later, *, live: bool = False
    ) -> Next | None:
        """The request that would follow the call shown with `context`, under `applied` (None: without edits). None
        while it is computed, which `later` does in a worker. A live session's is sent now, a recorded one's when the
        call shown had ended.
        """
        study, call = self._study, scene.call
        here = (call.id, context.head, id(context), study.book.version, len(study.session.calls), live)
        if here != self._here:
            self._here, self._known = here, []
        if live and any(one.found is not None and self._expired(one.found) for one in self._known):
            self._known = []
        under = applied if applied is not None and (applied.is_changed or applied.marks) else None
        asked = next((one for one in self._known if one.under is under), None)
        if asked is None:
            asked = _Asked(under, scene.last)
            self._known.append(asked)
            calls, at = list(scene.calls[: scene.index + 1]), self._clock() if live else None
            later(partial(self._work, asked, context, context.head, calls, at))
        return asked.found

    def earlier(self, scene: Scene, context: Context, applied: Applied, *, live: bool) -> Next | None:
        """The request without edits, from before the context grew, to show until `of` has the new one. None if there is
        none.
        """
        if self._last is None or applied.is_changed or applied.marks:
            return None
        of, head, found = self._last
        same = of == self._followed(scene.call, context, live) and context.tree.holds(context.head, head)
        return replace(found, coming=replace(found.coming, outdated=True)) if same else None

    def _followed(self, call: Call, context: Context, live: bool) -> Hashable:
        return call.id, id(context), self._study.book.version, live

    def _expired(self, found: Next) -> bool:
        """Whether its cached prefix has expired since it was computed."""
        expiry = found.asked.expiry
        return expiry is not None and found.asked.now < expiry <= self._clock()

    def _work(self, asked: _Asked, context: Context, head: int, calls: Sequence[Call], at: float | None) -> None:
        study, under = self._study, asked.under
        if asked not in self._known:
            # The context has grown since, so the result is no longer needed.
            return
        made = UnderEdits.of(under) if under is not None else None
        study.count_all()
        learnt = study.train_forecasts()
        if asked.last and study.session.order[calls[-1].thread][-1] != calls[-1].id:
            # As above; besides, `learnt` includes later calls, which this forecast must not use.
            return
        if self._replay is None:
            self._replay = Replay(study.book, cache_rules_by_call(study.book), lambda: self._learnt)
        self._learnt = learnt
        found = following_request(self._replay, study.book, calls[-1], head, calls, study.pricer, at, made)
        if self.literals is None or not self.literals.belongs_to(context):
            self.literals = Literals(context, self.literals)
        # Only up to the requested head: the screen may grow the context meanwhile.
        self.literals.advance_to(context.tree[head].depth)
        asked.found = found
        if under is None:
            self._last = self._followed(calls[-1], context, at is not None), head, found
