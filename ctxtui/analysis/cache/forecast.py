"""Forecasts the cache read of the next call in a recorded session, from earlier calls only.

It runs the calls through the cache simulator, with reported lengths of prefixes.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.cache.client_behaviour import ClientBehaviour, Clock
from ctxtui.analysis.cache.miss_cause import (
    IRRELEVANT_AFTER_ASIDE,
    RESUME,
    SHARED_PREFIX_CAUSES,
    MissCause,
    attribute_to_edits,
    cause_from_requests,
    infer_cause,
)
from ctxtui.analysis.cache.prompts import CachePrompts
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.cache.explain import MODEL
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import UNATTENDED, Call, EpochStart
from ctxtui.core.session import ASIDE, Session
from ctxtui.core.usage import Usage
from ctxtui.tokens.cumulate import Cumulated

COVERAGE: Final = 0.95
"""Share of reports that should be between a forecast's floor and ceiling."""
# Reads as shares of the expected ones in other sessions, some partial, 60 full: used until a session has reports.
_TYPICAL_SHARES: Final = (0.1, 0.6, 0.8, 0.9)
_FULL_READS: Final = 60


class ReadShares:
    """Reported reads as shares of the expected ones, at first those of other sessions."""

    def __init__(self) -> None:
        self._shares: list[float] = [*_TYPICAL_SHARES, *([1.0] * _FULL_READS)]

    def learn(self, tokens: int, expected: int) -> None:
        if expected > 0:
            insort(self._shares, min(tokens / expected, 1.0))

    def floor(self, expected: int) -> int:
        """Lower bound of the read in `COVERAGE` of all cases, if `expected` tokens are predicted."""
        rank = max(0, math.floor((1 - COVERAGE) * (len(self._shares) + 1)) - 1)
        return math.floor(expected * self._shares[rank])


_REQUESTS: Final = (ASIDE, "interrupt", "unanswered")
"""Kinds of events, other than calls, that show a request of the client."""
_WRITES: Final = ("write_12h", "write_1h", "write_30m", "write_5m")


class CacheForecast(Struct, frozen=True, kw_only=True):
    """Predicted cache read of `call`, in tokens.

    - `read`: the prediction. For automatic caches 95 % of reports should be between `floor` and `ceiling`; for others
      both equal `read`.
    - `base`: the call whose context it extends; `input`: the predicted input.
    - `cause`: why less than the base's cache is read; without a name if nothing is lost.
    - `inferred`: the cache depends on markers, and those of `call` are not recorded.
    - `outcome`: the simulator's result.
    """

    call: Call
    base: Call
    input: int
    read: int
    floor: int
    ceiling: int
    cause: MissCause
    inferred: bool
    outcome: CacheOutcome

    @property
    def previous_input(self) -> int:
        """Input tokens of `base`; 0: not reported."""
        return self.base.usage.input if self.base.usage else 0

    @property
    def alarm(self) -> bool:
        """Whether a miss is forecast: a read of at most half of the previous input."""
        return self.read * 2 <= self.previous_input


class ReadFloors(NamedTuple):
    """Prefix tokens that are still readable after a miss.

    - `unexpired_prefix`: system prompt and tools, while their own breakpoint lives.
    - `shared_prefix`: kept alive by other sessions, after everything else has expired.
    """

    unexpired_prefix: int = 0
    shared_prefix: int = 0


def _is_new_epoch(forecast: CacheForecast) -> bool:
    return forecast.call.epoch != forecast.base.epoch


def predicted_usage(forecast: CacheForecast) -> Usage:
    """Usage that a predicted call would report."""
    simulated, unread = forecast.outcome.to_usage(), forecast.input - forecast.read
    names = [name for name in _WRITES if getattr(simulated, name)]
    fresh = min(unread, simulated.fresh) if names else unread
    unwritten = unread - fresh
    written: dict[str, Any] = {}
    for name in names:
        written[name] = unwritten if name == names[-1] else min(unwritten, getattr(simulated, name))
        unwritten -= written[name]
    return Usage(fresh=fresh, cache_read=forecast.read, **written)


class CacheForecaster:
    """Forecasts the reads of a session's calls, in order; learns from each report.

    `inputs` predicts the input of calls; the caller must pass the reports to it.
    """

    def __init__(
        self,
        session: Session,
        rules: Callable[[Call], CacheRules],
        counts: Callable[[str], Cumulated],
        inputs: Forecaster,
    ) -> None:
        self._session = session
        self._tree = session.tree
        self._rules = rules
        self._inputs = inputs
        self._simulator = Simulator()
        self.prompts = CachePrompts(session.tree, rules, counts, inputs)
        self._behaviours: dict[tuple[str, str], ClientBehaviour] = {}
        self._shares = defaultdict[str, ReadShares](ReadShares)
        self._clocks = defaultdict[str, Clock](Clock)
        self._left: dict[str, CacheOutcome] = {}
        """By call id: what the call left in the cache, if its markers are recorded."""
        self._requests: dict[str, list[float]] = {}
        """By id of the call before: times of requests that are no calls."""
        self._happenings_read = 0
        self._threads_sent: dict[int, str] = {}
        """By last node of a context: the thread of the last call that sent it."""

    def forecast(self, call: Call, input_forecast: Forecast) -> CacheForecast:
        """Forecast the cache read of `call`, the next one; `input_forecast` predicts its input."""
        behaviour = self._behaviour_of(call)
        prompt = self.prompts.prompt(call, input_forecast.predicted, behaviour.life)
        rules = prompt.rules
        outcome = self._simulator.predict(prompt, self.time_of(call, input_forecast.step.person_wrote))
        cause = self._find_cause(input_forecast, outcome)
        expected = min(max(self._predict_read(input_forecast, outcome, cause.name), 0), input_forecast.predicted)
        read = expected
        if rules.mechanism.keeps_every_prefix and not cause.name and behaviour.lags:
            # The provider's cache has not caught up: it returns what it had for the call before.
            read = min(expected, behaviour.behind)
        floor, ceiling = read, read
        if rules.mechanism.keeps_every_prefix:
            floor = min(read, self._shares[call.model].floor(expected))
            ceiling = max(read, rules.reported_read(input_forecast.predicted, input_forecast.predicted))
        is_inferred = rules.mechanism.writes_at_markers and self.prompts.markers(call) is None
        return CacheForecast(
            call=call,
            base=input_forecast.step.base,
            input=input_forecast.predicted,
            read=read,
            floor=floor,
            ceiling=ceiling,
            cause=cause,
            inferred=is_inferred,
            outcome=outcome,
        )

    def start_what_if(self, call: Call, total: int) -> tuple[Simulator, CachedPrompt, float]:
        """Return the caches, `call` as a prompt of `total` tokens, and its earliest time.

        The caches must not be changed. The time is in Unix seconds; 0 if unknown.
        """
        return (
            self._simulator,
            self.prompts.prompt(call, total, self._behaviour_of(call).life),
            self._clocks[call.thread].earliest(call),
        )

    def life(self, call: Call) -> str:
        """Lifetime that the client wrote last in this thread with this model ("": the default)."""
        return self._behaviour_of(call).life

    def floors(self, call: Call) -> ReadFloors:
        """Least tokens that `call` is expected to read after a miss. 0: unknown, or left to the simulator."""
        behaviour = self._behaviour_of(call)
        if (
            not self._rules(call).mechanism.writes_at_markers
            or self.prompts.markers(call) is not None
            or not behaviour.caches
            or self.prompts.has_assumed_markers(call)
        ):
            return ReadFloors()
        unexpired_prefix = (
            behaviour.unexpired_prefix
            if behaviour.unexpired_prefix is not None
            else max(self.prompts.front(call), behaviour.shared_prefix)
        )
        return ReadFloors(unexpired_prefix, behaviour.shared_prefix)

    def learn(self, call: Call, forecast: CacheForecast | None, input_forecast: Forecast | None) -> None:
        """Learn from the report of `call`; without `forecast` it begins its thread."""
        usage, clock = call.usage, self._clocks[call.thread]
        if usage is not None and usage.has_cache:
            behaviour = self._behaviour_of(call)
            if forecast is not None and input_forecast is not None:
                self._learn_report(forecast, input_forecast, behaviour, usage.cache_read)
            behaviour.learn_writes(usage)
            cached = self.prompts.learn_report(call, first=forecast is None)
            if forecast is None:
                # A thread may begin in the middle of a conversation (resumed or copied): its messages are not shared.
                behaviour.shared_prefix = min(usage.cache_read, self.prompts.before_messages(call))
            if cached:
                prompt = self.prompts.prompt(
                    call, usage.input, behaviour.life, has_time=clock.has_time(call), answered=True
                )
                sent = self._simulator.send(prompt, clock.latest(call), began=clock.earliest(call))
                if self.prompts.markers(call) is not None:
                    self._left[call.id] = sent
        clock.tick(call)
        if not call.keeps_warm:
            self._threads_sent[call.sent_head] = call.thread
        elif call.sent_head in self._threads_sent and usage is not None and usage.cache_read:
            self._clocks[self._threads_sent[call.sent_head]].use(call)

    def time_of(self, call: Call, person_wrote: bool) -> float:
        """Time of `call` in the simulation (Unix seconds). `person_wrote`: the user wrote before it."""
        # The simulator knows only calls, but other requests of the client keep entries alive too: so the time since the
        # last of either is added to the time of the previous call.
        clock = self._clocks[call.thread]
        time = clock.earliest(call)
        if clock.last is None or time <= clock.last:
            return time
        aside = clock.ended if person_wrote and self._behaviour_of(call).asks_aside else None
        used = max(clock.last, self._used_between(clock.call, time), aside or 0.0)
        return clock.last + max(0.0, time - used)

    def _used_between(self, call_id: str, until: float) -> float:
        """Time of the last request after `call_id` up to `until` that is no call (Unix seconds). 0: none."""
        events = self._session.happenings[self._happenings_read :]
        self._happenings_read += len(events)
        for event in events:
            # An interrupted tool was no request.
            if event.kind in _REQUESTS and event.at is not None and "for tool use" not in event.text:
                self._requests.setdefault(event.after, []).append(event.at)
        return max((time for time in self._requests.get(call_id, ()) if time <= until), default=0.0)

    def _learn_report(
        self, forecast: CacheForecast, input_forecast: Forecast, behaviour: ClientBehaviour, read: int
    ) -> None:
        missed, cause = read * 2 <= forecast.previous_input, forecast.cause.name
        if cause == RESUME or (
            not cause and forecast.call.epoch.start == EpochStart.RESUME and _is_new_epoch(forecast)
        ):
            behaviour.caches_lost += missed
            behaviour.caches_kept += not missed
        if missed and cause in SHARED_PREFIX_CAUSES:
            behaviour.shared_prefix = read
        elif missed and read and cause:
            behaviour.unexpired_prefix = read
        expected = forecast.outcome.read
        if forecast.outcome.prompt.rules.mechanism.keeps_every_prefix:
            behaviour.learn_read(read, expected, not cause)
            if not cause:
                self._shares[forecast.call.model].learn(read, expected)
        elif input_forecast.step.person_wrote and not missed and cause in IRRELEVANT_AFTER_ASIDE:
            answer = forecast.input - expected - self.prompts.weigher(forecast.call)(input_forecast.step.added)
            behaviour.learn_aside(read - expected > max(answer / 2, 0))

    def _find_cause(self, input_forecast: Forecast, outcome: CacheOutcome) -> MissCause:
        call, step, behaviour = input_forecast.call, input_forecast.step, self._behaviour_of(input_forecast.call)
        left = self._left.get(step.base.id)
        if left is None or self.prompts.markers(call) is None:
            cause = infer_cause(self._tree, call, step, outcome, self._clocks[call.thread], behaviour)
        else:
            before = self.prompts.sent_request(step.base, left.prompt)
            now = self.prompts.sent_request(call, outcome.prompt)
            cause = cause_from_requests(self._tree, before, now, left, outcome)
        return attribute_to_edits(self._tree, step.base, call, cause)

    def _predict_read(self, input_forecast: Forecast, outcome: CacheOutcome, cause: str) -> int:
        rules, behaviour, step = outcome.prompt.rules, self._behaviour_of(input_forecast.call), input_forecast.step
        aside = (
            rules.mechanism.writes_at_markers
            and step.person_wrote
            and behaviour.asks_aside
            and cause in IRRELEVANT_AFTER_ASIDE
        )
        if self.prompts.markers(input_forecast.call) is not None and not aside:
            return outcome.read
        if cause == RESUME:
            # The simulator does not know that the requests of a restarted client begin differently.
            return behaviour.shared_prefix
        if cause == MODEL:
            return outcome.read
        if cause in SHARED_PREFIX_CAUSES:
            return max(outcome.read, behaviour.shared_prefix)
        if aside:
            new = round(self.prompts.weigher(input_forecast.call)(step.added))
            return max(outcome.read, input_forecast.predicted - new)
        if outcome.hit is not None and outcome.read >= (behaviour.unexpired_prefix or 0):
            return outcome.read
        if not behaviour.caches:
            return outcome.read
        if behaviour.unexpired_prefix is not None:
            return behaviour.unexpired_prefix
        if rules.mechanism.takes_breakpoints:
            # Entries end at breakpoints, which the simulator knows: no prefix before them is read.
            return max(outcome.read, behaviour.shared_prefix)
        front = self.prompts.front(input_forecast.call)
        if rules.mechanism.keeps_every_prefix:
            return rules.reported_read(front, input_forecast.predicted)
        return max(front, behaviour.shared_prefix)

    def _behaviour_of(self, call: Call) -> ClientBehaviour:
        key = (call.thread, call.model)
        behaviour = self._behaviours.get(key)
        if behaviour is None:
            rules = self._rules(call)
            # Clients send requests beside calls only for a person at the screen; recorded requests include them.
            unseen = self.prompts.markers(call) is None and not call.extra.get(UNATTENDED)
            aside = int(rules.asks_aside and unseen)
            behaviour = self._behaviours[key] = ClientBehaviour(
                stayed_behind=int(rules.settles),
                asides=aside,
                turns=aside,
                caches_kept=int(rules.keeps_resumed),
            )
        return behaviour
