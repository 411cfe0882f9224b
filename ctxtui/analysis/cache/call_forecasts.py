"""The calls of a session in order, each foretold by those before it and taught to the rest only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.tokens.models import ModelCard


class ForetoldCall(NamedTuple):
    """What was foretold of a call: its input, and what of it is read from the cache; None where nothing tells."""

    input: Forecast | None
    read: CacheForecast | None


class CallForecasts:
    """What the calls taken so far have taught about inputs and about the cache.

    `rules` gives how a call is cached; everything in `book` must be counted as far as the calls reach. `card` gives
    other facts about a model than the book's, counted in the same way.
    """

    def __init__(
        self,
        book: Book,
        rules: Callable[[Call], CacheRules],
        card: Callable[[str], ModelCard] | None = None,
    ) -> None:
        self.inputs = Forecaster(book.session, book.cumulated, card or book.card)
        self.reads = CacheForecaster(book.session, rules, book.cumulated, self.inputs)
        self.taken: list[Call] = []
        """The calls that were learnt from, in order."""

    def foretell(self, call: Call) -> ForetoldCall:
        """What the calls before it tell of `call`, the next one."""
        foretold = self.inputs.forecast(call) if call.usage is not None else None
        return ForetoldCall(foretold, self.reads.forecast(call, foretold) if foretold is not None else None)

    def learn(self, call: Call, foretold: ForetoldCall) -> None:
        """Take in the report of `call`, of which that was foretold."""
        self.reads.learn(call, foretold.read, foretold.input)
        self.inputs.learn(call, foretold.input)
        self.taken.append(call)
