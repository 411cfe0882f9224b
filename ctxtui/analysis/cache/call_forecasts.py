"""Forecasts the calls of a session in order: each from the reports of the calls before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.tokens.models import ModelCard


class CallForecast(NamedTuple):
    """Forecast of a call: its input, and its cache read; None where no forecast is possible."""

    input: Forecast | None
    read: CacheForecast | None


class CallForecaster:
    """Forecasters of inputs and cache reads, and the calls they have learnt.

    Everything in `book` must be counted up to the current call. `card` gives other facts about a model than the book's,
    for benchmarks; it must count in the same way.
    """

    def __init__(
        self, book: Book, rules: Callable[[Call], CacheRules], card: Callable[[str], ModelCard] | None = None
    ) -> None:
        self.inputs = Forecaster(book.session, book.cumulated, card or book.card)
        self.reads = CacheForecaster(book.session, rules, book.cumulated, self.inputs)
        self.calls: list[Call] = []

    def forecast(self, call: Call) -> CallForecast:
        """Forecast `call`, the next one, from the learnt calls; nothing for a call without a report."""
        input_forecast = self.inputs.forecast(call) if call.usage is not None else None
        read = self.reads.forecast(call, input_forecast) if input_forecast is not None else None
        return CallForecast(input_forecast, read)

    def learn(self, call: Call, forecast: CallForecast) -> None:
        self.reads.learn(call, forecast.read, forecast.input)
        self.inputs.learn(call, forecast.input)
        self.calls.append(call)
