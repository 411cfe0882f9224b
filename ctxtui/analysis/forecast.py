"""Forecasts a call's input from earlier calls, and learns from its report.

Predicted input = the report of the call whose context this one extends + that call's answer + the blocks after it. The
answer counts as reported if that count is plausible, else by its blocks. Blocks count as features x weights; reports
correct the weights (`tokens.calibrate`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.lineage import Lineage, LineageStep
from ctxtui.analysis.read.reported_thinking import CarriedReasoning
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.tokens.calibrate import Calibration, Errors, TokenizerKey, tokenizer_key
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus, sum_features
from ctxtui.tokens.hidden_reminders import ReminderPredictor
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, prior_weights

_MIN_FINAL_SHARE: Final = 0.5
"""A final output count is accepted above this share of the visible answer's tokens ..."""
_MIN_ANSWER_SHARE: Final = 0.9
"""... and one that may be partial (Claude Code writes it before the end of the stream) above this one."""
_MIN_OUTPUT: Final = 20
"""Output tokens up to which a count that may be partial is treated as partial."""
_MAX_SHARE_LEFT: Final = 0.75
"""A report below this share of a request's texts shows that a part of it was removed ..."""
_MIN_TOKENS_LEFT: Final = 256
"""... if it is at least this many tokens: smaller texts are only counted wrongly."""
_TYPICAL: Final = (-2.0, -1.2, -0.8, -0.5, -0.35, -0.25, -0.15, -0.1, 0.0, 0.1, 0.2, 0.3, 0.45, 0.7, 1.1, 1.6, 3.0)
"""Errors of other sessions, in standard deviations: the basis of intervals until a session has errors."""


class Forecast(Struct, frozen=True, kw_only=True):
    """Predicted input of a call in tokens, with its 90 % interval.

    - `step`: what changed since the call whose context it extends (the base).
    - `features`: raw counts of blocks, to which the weights apply.
    - `answers`: 1 if the base's answer counts as reported, else 0.
    - `known_tokens`: tokens that do not depend on weights: the base's report and that answer.
    - `added`: expected tokens that a client adds and does not record.
    - `stripped`: thinking of the previous turn is assumed to be removed.
    - `deviation`: the standard deviation of the forecast.
    """

    call: Call
    step: LineageStep
    predicted: int
    lo: int
    hi: int
    features: Features
    answers: int
    known_tokens: float
    added: float
    stripped: bool
    deviation: float

    @property
    def new(self) -> int:
        """Predicted tokens beyond the base's input."""
        return self.predicted - self.step.usage.input


class Forecaster:
    """Forecasts a session's calls, which must come in order, and learns from their reports.

    `cumulated` gives the running counts of a model, `card` its facts.
    """

    def __init__(
        self, session: Session, cumulated: Callable[[str], Cumulated], card: Callable[[str], ModelCard]
    ) -> None:
        self._session = session
        self._cumulated = cumulated
        self._card = card
        self._calibrations: dict[tuple[TokenizerKey, bool], Calibration] = {}
        """By tokenizer, and whether it is for whole contexts."""
        # The same by model, so that the card is not read again for each call.
        self._by_model: dict[tuple[str, bool], Calibration] = {}
        self._errors = defaultdict[str, Errors](partial(Errors, _TYPICAL))
        self._lineages = defaultdict[str, Lineage](partial(Lineage, session.tree))
        self._reminders = defaultdict[str, ReminderPredictor](ReminderPredictor)
        self._carried = defaultdict[str, CarriedReasoning](CarriedReasoning)

    @property
    def is_settled(self) -> bool:
        """Whether no call was replaced after its report was learnt."""
        return all(lineage.is_unchanged_in(self._session.calls) for lineage in list(self._lineages.values()))

    def calibration(self, model: str) -> Calibration:
        """Calibration of `model`, shared with models that count alike."""
        return self._calibration(model, whole=False)

    def _calibration(self, model: str, *, whole: bool) -> Calibration:
        calibration = self._by_model.get((model, whole))
        if calibration is None:
            card = self._card(model)
            shared = self._calibrations.setdefault((tokenizer_key(card), whole), Calibration(card, whole=whole))
            calibration = self._by_model.setdefault((model, whole), shared)
        return calibration

    @property
    def report_count(self) -> int:
        """Number of learnt reports; one may count twice, for its step and for its whole context."""
        return sum(calibration.learnt for calibration in list(self._calibrations.values()))

    @property
    def uncarried_models(self) -> set[str]:
        """Models whose reasoning does not count in later input."""
        return {model for model, carried in list(self._carried.items()) if not carried.is_carried}

    def carried(self, model: str) -> CarriedReasoning:
        """Evidence of the reports so far: whether reasoning of `model` counts in later input."""
        return self._carried[model]

    def weights(self) -> dict[str, Weights]:
        return {model: self._weights(model) for model in {call.model for call in list(self._session.calls.values())}}

    def _weights(self, model: str) -> Weights:
        weights = self._calibration(model, whole=True).weights
        if self.carried(model).is_carried:
            return weights
        return replace(weights, factors=weights.factors._replace(reported=0.0))

    def forecast(self, call: Call) -> Forecast | None:
        """Forecast the input of `call` without its own report.

        None before the thread's first report. Raises `IndexError` while its context is not counted.
        """
        step = self._lineages[call.thread].step_to(call, self._cumulated(call.model))
        if step is None:
            return None
        stripped, calibration = self._is_stripped(call, step), self.calibration(call.model)
        features, answers, known_tokens = self._split_input(call, step, stripped)
        added = self._reminders[call.thread].expect((step.parts, 1))
        expected, deviation = calibration.expect(features, answers)
        new = expected + added
        low, high = self._errors[call.model].bounds()
        middle = known_tokens + new
        return Forecast(
            call=call,
            step=step,
            predicted=max(0, round(middle)),
            lo=max(0, round(middle + low * deviation)),
            hi=max(0, round(middle + high * deviation)),
            features=features,
            answers=answers,
            known_tokens=known_tokens,
            added=added,
            stripped=stripped,
            deviation=deviation,
        )

    def learn(self, call: Call, forecast: Forecast | None) -> None:
        """Learn from the report of `call`; `forecast` was made for it (None: not possible)."""
        if call.usage is None or not call.usage.input:
            return
        self._lineages[call.thread].add(call, forecast.step if forecast else None)
        if self._card(call.model).plain:
            return
        if forecast is not None:
            self._learn_step(call, forecast)
        self._learn_whole(call, is_first=forecast is None)

    def _learn_step(self, call: Call, forecast: Forecast) -> None:
        assert call.usage is not None
        error = call.usage.input - forecast.predicted
        self._learn_carried(call, forecast, error)
        self._errors[call.model].learn(error / forecast.deviation)
        if not is_informative(forecast, call.usage.input):
            return
        more = error + forecast.added
        self._reminders[call.thread].learn((forecast.step.parts, 1), more, forecast.deviation)
        added = forecast.added if abs(error) < abs(more) else 0.0
        tokens = call.usage.input - forecast.known_tokens - added
        self.calibration(call.model).learn(forecast.features, tokens, forecast.answers)
        # For whole contexts answers count by their blocks, so that their reports calibrate blocks.
        features, known_tokens = forecast.features, forecast.known_tokens
        if forecast.answers:
            # Learning from the report may have changed `carried`, so recompute.
            stripped = self._is_stripped(call, forecast.step)
            features, _, known_tokens = self._split_input(call, forecast.step, stripped, by_blocks=True)
        self._calibration(call.model, whole=True).learn(features, call.usage.input - known_tokens - added)

    def _learn_whole(self, call: Call, *, is_first: bool) -> None:
        """Learn an upper bound of the weights from a request that is recorded in full.

        Providers may add text of their own, so it is only a bound, except for the PDFs of a thread's first request.
        """
        if call.usage is None or call.fidelity != Fidelity.WIRE:
            return
        features = sum_features(self._cumulated(call.model).composition_at(call.sent_head))
        calibration, report = self._calibration(call.model, whole=True), call.usage.input
        if calibration.tokens(features._replace(image=0.0, pages=0.0)) * _MAX_SHARE_LEFT > report >= _MIN_TOKENS_LEFT:
            return  # much of it was never read, so the report has no information about weights
        if calibration.tokens(features) > report > 0:
            calibration.learn(features, report, at_most=True)
        elif is_first and features.pages and report:
            calibration.learn(features, report)

    def _learn_carried(self, call: Call, forecast: Forecast, error: float) -> None:
        step, carried = forecast.step, self.carried(call.model)
        if forecast.answers and step.has_thinking and not forecast.stripped and min(step.net) >= 0:
            reasoning = step.usage.reasoning
            carried.learn(reasoning, error if carried.is_carried else error - reasoning)

    def _split_input(
        self, call: Call, step: LineageStep, stripped: bool, *, by_blocks: bool = False
    ) -> tuple[Features, int, float]:
        """`features`, `answers` and `known_tokens` of `Forecast`.

        `by_blocks` counts every answer by its blocks.
        """
        card, carried = self._card(call.model), self.carried(call.model).is_carried
        known_tokens = step.usage.input * self._model_scale(card, step)
        features, answers = step.net, 0
        if not by_blocks and self._is_answer_reported(call, step, stripped):
            # Reasoning that is not in the recorded answer is not sent back.
            is_not_carried = stripped or not step.has_thinking or not carried
            known_tokens += step.usage.output - (step.usage.reasoning if is_not_carried else 0)
            answers = 1
        else:
            features = plus(features, step.answer if stripped else plus(step.answer, step.thinking))
        if stripped:
            features = minus(features, step.earlier)
            known_tokens -= step.earlier_tokens
        if card.strips_thinking:
            features = plus(features, step.stale)
        if not carried:
            features = features._replace(reported=0.0)
        return features, answers, known_tokens

    def _model_scale(self, card: ModelCard, step: LineageStep) -> float:
        base = self._card(step.base.model)
        if base is card or card.encoding != base.encoding or not (card.factors.text and base.factors.text):
            return 1.0
        return card.factors.text / base.factors.text

    def _is_stripped(self, call: Call, step: LineageStep) -> bool:
        if not step.person_wrote:
            return False
        if not self._card(call.model).strips_thinking or not self.carried(call.model).is_carried:
            return False
        thought = step.thinking != NOTHING or step.earlier != NOTHING or step.earlier_tokens or step.usage.reasoning
        return bool(thought)

    def _is_answer_reported(self, call: Call, step: LineageStep, stripped: bool) -> bool:
        usage = step.usage
        if (
            not step.is_whole_answer
            or self._card(call.model).plain
            or (stripped and step.thinking != NOTHING and not usage.reasoning)
        ):
            return False
        visible = self.calibration(call.model).tokens(step.answer)
        if usage.output_final:
            return usage.output >= _MIN_FINAL_SHARE * visible
        return usage.output > _MIN_OUTPUT and usage.output >= _MIN_ANSWER_SHARE * visible


def is_informative(forecast: Forecast, reported: int) -> bool:
    """Whether `reported` input teaches weights: the context only grew, and by no image."""
    step = forecast.step
    is_unchanged = min(step.net) >= 0 and step.base.model == forecast.call.model
    return is_unchanged and reported >= step.usage.input and not step.added.image


_PUBLISH_FACTOR: Final = 1.2
"""Weights are published again when the number of learnt reports has grown by this factor, as every figure changes."""

_CALLS_READ_AHEAD: Final = 512


class ForecastRange(NamedTuple):
    """Predicted input of a call in tokens, with its 90 % interval."""

    predicted: int
    lo: int
    hi: int


class ForecastLearner:
    """Feeds the calls of `session` to a forecaster, and keeps `forecasts` by call id.

    The newest call of a thread waits until another follows, because a fuller record may replace it. It does not wait
    if its request is recorded in full and has a report.
    """

    def __init__(
        self, session: Session, cumulated: Callable[[str], Cumulated], card: Callable[[str], ModelCard]
    ) -> None:
        self.forecaster = Forecaster(session, cumulated, card)
        self.forecasts: dict[str, ForecastRange] = {}
        self._card = card
        self._session = session
        self._cumulated = cumulated
        self._waiting: dict[str, str] = {}
        self._read = 0
        self._ahead: tuple[int, list[str]] = (0, [])
        """Ids of calls read ahead, with the number of the first, from 0."""
        self._published_reports = 0
        self._weights: dict[str, Weights] = {}
        self._uncarried: set[str] = set()

    @property
    def is_settled(self) -> bool:
        """Whether all calls were processed, and none was replaced afterwards."""
        return self._read == len(self._session.calls) and self.forecaster.is_settled

    def advance(self) -> None:
        """Forecast and learn the calls that are new and counted."""
        while (id_ := self._next_call_id()) is not None:
            call = self._session.calls[id_]
            before = self._waiting.get(call.thread)
            if before is not None:
                if not self._is_counted(before):
                    return
                self._learn(before)
            self._waiting[call.thread] = id_
            self._read += 1
        self._learn_complete_calls()

    def _next_call_id(self) -> str | None:
        first, ids = self._ahead
        if not first <= self._read < first + len(ids):
            # Several at once: another thread may be adding calls.
            ids = list(islice(self._session.calls, self._read, self._read + _CALLS_READ_AHEAD))
            self._ahead = self._read, ids
        return ids[self._read - self._ahead[0]] if ids else None

    def _learn_complete_calls(self) -> None:
        for thread, id_ in list(self._waiting.items()):
            call = self._session.calls[id_]
            if call.fidelity == Fidelity.WIRE and call.usage is not None and self._is_counted(id_):
                self._learn(id_)
                del self._waiting[thread]

    def publish(self, *, all_there_is: bool = False) -> bool:
        """Publish the current weights if enough was learnt since the last time.

        Returns whether it did. With `all_there_is` any new report is enough: thus the result does not depend on how the
        recording was read.
        """
        learnt = self.forecaster.report_count
        uncarried = self.forecaster.uncarried_models
        least = self._published_reports + 1 if all_there_is else max(1.0, self._published_reports * _PUBLISH_FACTOR)
        if learnt < least and uncarried == self._uncarried:
            return False
        self._published_reports, self._uncarried = learnt, uncarried
        self._weights = self.forecaster.weights()
        return True

    def weights(self, model: str) -> Weights:
        return self._weights.get(model) or prior_weights(self._card(model))

    def _is_counted(self, id_: str) -> bool:
        call = self._session.calls[id_]
        return self._cumulated(call.model).is_counted(max(call.sent_head, call.response_head))

    def _learn(self, id_: str) -> None:
        call, forecaster = self._session.calls[id_], self.forecaster
        forecast = forecaster.forecast(call) if call.usage is not None else None
        if forecast is not None:
            self.forecasts[id_] = ForecastRange(forecast.predicted, forecast.lo, forecast.hi)
        forecaster.learn(call, forecast)
