"""An open session's next requests, computed in a worker and cached until something changes."""

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
from ctxtui.services.editing.edited_request import SentPath
from ctxtui.services.editing.next_request import PricedRequest, following_request
from ctxtui.services.study.study import Study
from ctxtui.views.model.scene import Scene

Later = Callable[[Callable[[], None]], None]
"""Runs a function in a worker, before other work."""

LONG_CONTEXT_BLOCKS: Final = 20_000
"""From so many blocks on, computing a context's next request takes a second and a hundred megabytes."""


def should_forecast_ahead(book: Book, scene: Scene, now: float) -> bool:
    """Whether to forecast the request after the call shown before the user asks for it.

    For a long context only if part of it may still be cached `now` (Unix seconds).
    """
    call, head = scene.call, scene.tip or scene.head
    if scene.session.tree[head].depth < LONG_CONTEXT_BLOCKS:
        return True
    return now < latest_expiry(cache_rules_by_call(book)(call), call.ended or call.started)


class _PendingForecast(Struct, eq=False):
    """A requested forecast.

    `result` is set when it is computed, `last` if it follows the last call of its thread.
    """

    under: Applied | None
    last: bool
    result: PricedRequest | None = None


class NextRequestCache:
    """The requests that would follow the shown call of `study`, unedited and under edits."""

    def __init__(self, study: Study, clock: Callable[[], float] = time.time) -> None:
        self._study = study
        self._clock = clock
        self._replay: Replay | None = None
        self._key: Hashable = None
        self._pending: list[_PendingForecast] = []
        self._forecaster: CallForecaster | None = None
        self._last: tuple[Hashable, int, PricedRequest] | None = None
        """The last forecast without edits: its call and context, the last node, the result."""
        self.literals: Literals | None = None
        """Literals of the context whose next call was forecast; None before."""

    @property
    def is_forecasting(self) -> bool:
        return any(entry.result is None for entry in self._pending)

    def request_after(
        self, scene: Scene, context: Context, applied: Applied | None, later: Later, *, live: bool = False
    ) -> PricedRequest | None:
        """The request that would follow the call shown with `context`; None while it is computed.

        - `applied`: the context under edits (None: without edits).
        - `later`: runs the computation in a worker.
        - `live`: the session goes on, so the request would be sent now; otherwise it is forecast as sent when the call
          shown ended.
        """
        study, call = self._study, scene.call
        key = (call.id, context.head, id(context), study.book.version, len(study.session.calls), live)
        if key != self._key:
            self._key, self._pending = key, []
        if live and any(entry.result is not None and self._has_expired(entry.result) for entry in self._pending):
            self._pending = []
        edited = applied if applied is not None and (applied.is_changed or applied.marks) else None
        pending = next((entry for entry in self._pending if entry.under is edited), None)
        if pending is None:
            pending = _PendingForecast(edited, scene.last)
            self._pending.append(pending)
            calls, sent_at = list(scene.calls[: scene.index + 1]), self._clock() if live else None
            later(partial(self._compute, pending, context, context.head, calls, sent_at))
        return pending.result

    def earlier(self, scene: Scene, context: Context, applied: Applied, *, live: bool) -> PricedRequest | None:
        """The request before the context grew, to show until `request_after` has the new one.

        None if there is none, or under edits.
        """
        if self._last is None or applied.is_changed or applied.marks:
            return None
        key, head, next_request = self._last
        same = key == self._call_key(scene.call, context, live) and context.tree.holds(context.head, head)
        return replace(next_request, forecast=replace(next_request.forecast, outdated=True)) if same else None

    def _call_key(self, call: Call, context: Context, live: bool) -> Hashable:
        return call.id, id(context), self._study.book.version, live

    def _has_expired(self, next_request: PricedRequest) -> bool:
        """Whether the request's cached prefix has expired since it was computed."""
        expiry = next_request.question.expiry
        return expiry is not None and next_request.question.now < expiry <= self._clock()

    def _compute(
        self, pending: _PendingForecast, context: Context, head: int, calls: Sequence[Call], at: float | None
    ) -> None:
        study, under = self._study, pending.under
        if pending not in self._pending:
            # The context has grown since, so the result is no longer needed.
            return
        under_edits = SentPath.from_applied(under) if under is not None else None
        study.count_all()
        forecaster = study.train_forecasts()
        if pending.last and study.session.order[calls[-1].thread][-1] != calls[-1].id:
            # The thread has grown; `forecaster` has learned from its later calls, which this forecast must not use.
            return
        if self._replay is None:
            self._replay = Replay(study.book, cache_rules_by_call(study.book), lambda: self._forecaster)
        self._forecaster = forecaster
        next_request = following_request(
            self._replay, study.book, calls[-1], head, calls, study.pricer, at, under_edits
        )
        if self.literals is None or not self.literals.belongs_to(context):
            self.literals = Literals(context, self.literals)
        # Only up to the requested head: the screen may grow the context meanwhile.
        self.literals.advance_to(context.tree[head].depth)
        pending.result = next_request
        if under is None:
            self._last = self._call_key(calls[-1], context, at is not None), head, next_request
