"""What a session's reports have taught so far: call by call, as it grows, nothing gone through twice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from ctxtui.analysis.forecast import Forecaster
from ctxtui.core.call import Fidelity
from ctxtui.core.session import Session
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, prior

_STEP: Final = 1.2
"""Weights are given out anew when the reports learnt from have grown by this factor: every figure changes with them."""

_AT_ONCE: Final = 512
"""Calls that are looked up in one go."""


class ForecastRange(NamedTuple):
    """What was foretold of a call's input, in tokens, with its 90 % interval."""

    predicted: int
    lo: int
    hi: int


class Learning:
    """Feeds the calls of `session` to a forecaster and keeps what was foretold of each, by call id.

    The newest call of a thread waits until another follows: a fuller record may still replace it, unless the request
    itself is on record.
    """

    def __init__(
        self, session: Session, cumulated: Callable[[str], Cumulated], card: Callable[[str], ModelCard]
    ) -> None:
        self.forecaster = Forecaster(session, cumulated, card)
        """What makes forecasts, and learns from reports."""
        self.forecasts: dict[str, ForecastRange] = {}
        """What was foretold of each call that was learnt from, by call id."""
        self._card = card
        self._session = session
        self._cumulated = cumulated
        self._waiting: dict[str, str] = {}
        self._read = 0
        self._ahead: tuple[int, list[str]] = (0, [])
        """Calls that are looked up already: the number of the first, from 0, and their ids."""
        self._given = 0
        self._weights: dict[str, Weights] = {}
        self._carrying: dict[str, bool] = {}

    @property
    def is_settled(self) -> bool:
        """Whether all calls were gone through, and none was replaced since it was learnt from."""
        return self._read == len(self._session.calls) and self.forecaster.is_settled

    def advance(self) -> None:
        """Learn from the calls that are new and counted."""
        while (id_ := self._next()) is not None:
            call = self._session.calls[id_]
            before = self._waiting.get(call.thread)
            if before is not None:
                if not self._counted(before):
                    return
                self._learn(before)
            self._waiting[call.thread] = id_
            self._read += 1
        self._at_once()

    def _next(self) -> str | None:
        """The first call that was not gone through."""
        first, ids = self._ahead
        if not first <= self._read < first + len(ids):
            # Some in one go: another thread may be folding calls in.
            ids = list(islice(self._session.calls, self._read, self._read + _AT_ONCE))
            self._ahead = self._read, ids
        return ids[self._read - self._ahead[0]] if ids else None

    def _at_once(self) -> None:
        """Learn from waiting calls of which all is known: a request and its answer are on record as they went."""
        for thread, id_ in list(self._waiting.items()):
            call = self._session.calls[id_]
            if call.fidelity == Fidelity.WIRE and call.usage is not None and self._counted(id_):
                self._learn(id_)
                del self._waiting[thread]

    def give(self, *, all_there_is: bool = False) -> bool:
        """Give out the weights as they are now, if enough was learnt since the last time; whether they are new. With
        `all_there_is` anything that was learnt is enough: whoever reads all of it at once says the same."""
        learnt = self.forecaster.learnt
        carrying = self.forecaster.carrying
        least = self._given + 1 if all_there_is else max(1.0, self._given * _STEP)
        if learnt < least and carrying == self._carrying:
            return False
        self._given, self._carrying = learnt, carrying
        self._weights = self.forecaster.weights()
        return True

    def weights(self, model: str) -> Weights:
        """The weights of `model` as they were given out last."""
        return self._weights.get(model) or prior(self._card(model))

    def _counted(self, id_: str) -> bool:
        call = self._session.calls[id_]
        return self._cumulated(call.model).counted(max(call.sent_head, call.response_head))

    def _learn(self, id_: str) -> None:
        call, forecaster = self._session.calls[id_], self.forecaster
        forecast = forecaster.forecast(call) if call.usage is not None else None
        if forecast is not None:
            self.forecasts[id_] = ForecastRange(forecast.predicted, forecast.lo, forecast.hi)
        forecaster.learn(call, forecast)
