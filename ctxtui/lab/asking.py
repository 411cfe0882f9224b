"""A recorded call, or the one after it, as a question to the cache simulator: what a what-if starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ctxtui.cache.prompt import Prompt
from ctxtui.cache.rules import Rules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import Call, Skeleton
from ctxtui.lab.book import Book
from ctxtui.lab.cache_forecast import CacheForecast, CacheForecaster
from ctxtui.lab.forecast import Forecaster
from ctxtui.wire.request import Request


class Asking(NamedTuple):
    """The caches before a request, the request, and when it is sent (Unix seconds).

    `forecast` is what is foretold of it beyond the simulator, from what the client did before: the same forecast that
    the audit holds against the reports. None where no earlier call tells.
    """

    simulator: Simulator
    prompt: Prompt
    at: float
    forecast: CacheForecast | None = None


def before(book: Book, rules: Callable[[Call], Rules], call: Call) -> Asking:
    """`call` as it was sent, after every call that the session made before it. Everything must be counted."""
    inputs, reads = _replayed(book, rules, call, inclusive=False)
    foretold = inputs.forecast(call)
    total = call.usage.input if call.usage else foretold.predicted if foretold else _counted(book, call)
    return Asking(*reads.asking(call, total))


def following(book: Book, rules: Callable[[Call], Rules], call: Call, head: int, at: float | None = None) -> Asking:
    """The request that would follow `call` with the context `head`, sent `at` (None: when `call` ended)."""
    inputs, reads = _replayed(book, rules, call, inclusive=True)
    started = at if at is not None else call.ended or call.started
    coming = replace(
        call,
        id=f"after {call.id}",
        raw_head=head,
        sent_head=head,
        response_head=head,
        started=started,
        first_byte=None,
        ended=None,
        usage=None,
        skeleton=_bare(call.skeleton),
    )
    foretold = inputs.forecast(coming)
    forecast = reads.forecast(coming, foretold) if foretold is not None else None
    return Asking(*reads.asking(coming, foretold.predicted if foretold else _counted(book, coming)), forecast)


def _bare(skeleton: Skeleton | None) -> Skeleton | None:
    """What is known beforehand of how the next request is written: its parameters, where its marker sets itself."""
    if skeleton is None or "cache_control" not in Request((), skeleton).params:
        return None
    parts = {key: value for key, value in skeleton.parts.items() if key in ("frame", "styles")}
    return Skeleton(skeleton.dialect, parts)


def _replayed(
    book: Book, rules: Callable[[Call], Rules], last: Call, *, inclusive: bool
) -> tuple[Forecaster, CacheForecaster]:
    inputs = Forecaster(book.session, book.cumulated, book.card)
    reads = CacheForecaster(book.session, rules, book.cumulated, inputs)
    for call in list(book.session.calls.values()):
        if call.id == last.id and not inclusive:
            break
        foretold = inputs.forecast(call) if call.usage is not None else None
        forecast = reads.forecast(call, foretold) if foretold is not None else None
        reads.learn(call, forecast, foretold)
        inputs.learn(call, foretold)
        if call.id == last.id:
            break
    return inputs, reads


def _counted(book: Book, call: Call) -> int:
    return sum(book.sums(call.model, call.sent_head))
