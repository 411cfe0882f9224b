"""What the next call of a recorded session reads from the cache, foretold from what was known before it.

The calls are run through the cache simulator. Where the markers are recorded (wire bodies) they are used; where they
are not, the client's habit is inferred from its earlier calls: a marker at the end of each of the last two messages,
with the lifetime that the session itself wrote. Prefixes have the lengths that were reported for them.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.cache.client_habit import Clock, Habit
from ctxtui.analysis.cache.miss_cause import (
    AFTER_ASIDE,
    FROM_OUTSIDE,
    MODEL,
    RESUME,
    Cause,
    by_edits,
    inferred,
    recorded,
)
from ctxtui.analysis.cache.prompts import CachePrompts
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import RequestEnds
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import UNATTENDED, Call, EpochStart
from ctxtui.core.session import ASIDE, Session
from ctxtui.core.usage import Usage
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features

HOLDS: Final = 0.95
"""Share of reports that the band should hold."""
TYPICAL: Final = (0.1, 0.6, 0.8, 0.9)
"""Shares of the expected read in sessions seen before, where less was read ..."""
_WHOLE: Final = 60
"""... beside this many calls that read all of it."""


class Shortfalls:
    """Reports as shares of what was expected."""

    def __init__(self) -> None:
        self._shares: list[float] = [*TYPICAL, *([1.0] * _WHOLE)]

    def learn(self, tokens: int, expected: int) -> None:
        """A call read `tokens` where `expected` were foretold."""
        if expected > 0:
            insort(self._shares, min(tokens / expected, 1.0))

    def floor(self, expected: int) -> int:
        """The least that is read of `expected` tokens in `HOLDS` of all cases."""
        rank = max(0, math.floor((1 - HOLDS) * (len(self._shares) + 1)) - 1)
        return math.floor(expected * self._shares[rank])


_REQUESTS: Final = (ASIDE, "interrupt", "unanswered")
"""Kinds of events beside calls that were requests."""
_WRITES: Final = ("write_12h", "write_1h", "write_30m", "write_5m")
"""The longest lifetime first."""


class CacheForecast(Struct, frozen=True, kw_only=True):
    """What `call` will read, in tokens: `read`, with the band `floor` to `ceiling` that should hold 95 % of reports.

    `base` is the call whose context it extends, `input` its foretold input. `cause` says why part of what the base
    left is lost (see `miss_cause.Cause`), "" where nothing is. `inferred`: the markers are not recorded, the client's
    habit was followed. `outcome` is what the simulator makes of the call.
    """

    call: Call
    base: Call
    input: int
    read: int
    floor: int
    ceiling: int
    cause: Cause
    inferred: bool
    outcome: CacheOutcome

    @property
    def held(self) -> int:
        """The previous input, of which a hit reads more than half."""
        return self.base.usage.input if self.base.usage else 0

    @property
    def alarm(self) -> bool:
        """Whether a miss is foretold."""
        return self.read * 2 <= self.held


class Floors(NamedTuple):
    """Tokens at the front that a call reads where the rest is lost: `warm` while what was sent before is still cached
    (another marker keeps them: system prompt and tools), `cold` when that has expired (other traffic does)."""

    warm: int = 0
    cold: int = 0


def _anew(forecast: CacheForecast) -> bool:
    return forecast.call.epoch != forecast.base.epoch


def usage_of(forecast: CacheForecast) -> Usage:
    """The usage that a foretold call would report: what is not read is written as the simulator has it, or fresh."""
    own, rest = forecast.outcome.to_usage(), forecast.input - forecast.read
    names = [name for name in _WRITES if getattr(own, name)]
    fresh = min(rest, own.fresh) if names else rest
    left = rest - fresh
    written: dict[str, Any] = {}
    for name in names:
        written[name] = left if name == names[-1] else min(left, getattr(own, name))
        left -= written[name]
    return Usage(fresh=fresh, cache_read=forecast.read, **written)


class CacheForecaster:
    """Forecasts of what a session's calls read, in order; what each report teaches is taken in by `learn`.

    `rules` gives how a call is cached, `counts` the running features as its model counts them, `inputs` foretells
    inputs (and is taught by its owner).
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
        self._prompts = CachePrompts(session.tree, rules, counts, inputs)
        self._habits: dict[tuple[str, str], Habit] = {}
        self._shortfalls = defaultdict[str, Shortfalls](Shortfalls)
        self._clocks: dict[str, Clock] = {}
        self._left: dict[str, CacheOutcome] = {}
        self._requests: dict[str, list[float]] = {}
        self._happenings_read = 0

    def forecast(self, call: Call, foretold: Forecast) -> CacheForecast:
        """What `call` reads; its own report is not looked at. `foretold` is its input's forecast."""
        made = self._prompts.prompt(call, foretold.predicted, self._habit(call).life)
        outcome = self._simulator.predict(made, self._at(call, foretold.step.asked))
        cause = self._cause(foretold, outcome)
        whole = min(max(self._read(foretold, outcome, cause.name), 0), foretold.predicted)
        habit, rules = self._habit(call), made.rules
        read = whole
        if rules.mechanism.keeps_every_prefix and not cause.name and habit.lags:
            read = min(whole, habit.behind)
        floor, ceiling = read, read
        if rules.mechanism.keeps_every_prefix:
            floor = min(read, self._shortfalls[call.model].floor(whole))
            ceiling = max(read, rules.reported_read(foretold.predicted, foretold.predicted))
        guessed = rules.mechanism.writes_at_markers and not self._prompts.recorded(call)
        return CacheForecast(
            call=call,
            base=foretold.step.base,
            input=foretold.predicted,
            read=read,
            floor=floor,
            ceiling=ceiling,
            cause=cause,
            inferred=guessed,
            outcome=outcome,
        )

    def asking(self, call: Call, total: int) -> tuple[Simulator, CachedPrompt, float]:
        """The caches as they are (not to be changed), `call` as a prompt of `total` tokens, and when it is sent: what a
        what-if starts from."""
        return (
            self._simulator,
            self._prompts.prompt(call, total, self._habit(call).life),
            self._clock(call).at(call),
        )

    def asked_at(self, call: Call, asked: bool) -> float:
        """When `call` is sent, as the cache sees it (Unix seconds); `asked`: a person spoke before it."""
        return self._at(call, asked)

    def life(self, call: Call) -> str:
        """The lifetime that the client of `call` writes, as far as its earlier calls have shown ("": the default)."""
        return self._habit(call).life

    def tokens(self, call: Call) -> Callable[[Features], float]:
        """What features come to in tokens of the call's model, as far as is learnt."""
        return self._prompts.tokens(call)

    def reported_length(self, call: Call, node: int) -> tuple[int, int]:
        """The last node at or above `node` of whose length a report told before `call`, with that length in tokens."""
        return self._prompts.reported_length(call, node)

    def places(self, call: Call) -> RequestEnds:
        """Where the request ends that `call` would be with another context."""
        return self._prompts.places(call)

    def expect(self, coming: Call, after: Call) -> None:
        """Take it that `coming`, which is not made yet, sets its markers as `after` did."""
        self._prompts.expect(coming, after)

    def floors(self, call: Call) -> Floors:
        """What `call` reads anyway, as far as earlier calls have shown; nothing where its markers are on record: then
        every entry is simulated."""
        habit = self._habit(call)
        if not self._rules(call).mechanism.writes_at_markers or self._prompts.recorded(call) or not habit.caches:
            return Floors()
        if self._prompts.expected(call):
            return Floors()
        warm = habit.warm if habit.warm is not None else max(self._prompts.front(call), habit.cold)
        return Floors(warm, habit.cold)

    def learn(self, call: Call, forecast: CacheForecast | None, foretold: Forecast | None) -> None:
        """Take in the report of `call` and what was foretold of it; without a report only its time."""
        usage, clock = call.usage, self._clock(call)
        if usage is not None and usage.has_cache:
            habit = self._habit(call)
            if forecast is not None and foretold is not None:
                self._told(forecast, foretold, habit, usage.cache_read)
            habit.wrote(usage)
            cached = self._prompts.reported(call, first=forecast is None)
            if forecast is None:
                # A thread may begin in the middle of a conversation (a resumed or copied one): that is no other's.
                habit.cold = min(usage.cache_read, self._prompts.before_messages(call))
            if cached:
                made = self._prompts.prompt(call, usage.input, habit.life, known=clock.known(call), answered=True)
                sent = self._simulator.send(made, clock.latest(call), began=clock.at(call))
                if self._prompts.recorded(call):
                    self._left[call.id] = sent
        clock.tick(call)

    def _at(self, call: Call, asked: bool) -> float:
        """When `call` is sent, as the cache sees it (Unix seconds): as if the requests that are no calls of the record
        had been made at the time of the call before. Lifetimes count from the last use, on record or not."""
        clock = self._clock(call)
        at = clock.at(call)
        if clock.last is None or at <= clock.last:
            return at
        aside = clock.ended if asked and self._habit(call).asks_aside else None
        used = max(clock.last, self._used_between(clock.call, at), aside or 0.0)
        return clock.last + max(0.0, at - used)

    def _used_between(self, call_id: str, until: float) -> float:
        """Time (Unix seconds, at most `until`) of the last request after the call `call_id` that is on record, but no
        call: the client's own, or one that was interrupted. 0 where there was none."""
        happened = self._session.happenings[self._happenings_read :]
        self._happenings_read += len(happened)
        for one in happened:
            # An interrupted tool was no request.
            if one.kind in _REQUESTS and one.at is not None and "for tool use" not in one.text:
                self._requests.setdefault(one.after, []).append(one.at)
        return max((at for at in self._requests.get(call_id, ()) if at <= until), default=0.0)

    def _told(self, forecast: CacheForecast, foretold: Forecast, habit: Habit, read: int) -> None:
        """What the report says of the client's habit and of the provider's cache."""
        missed, cause = read * 2 <= forecast.held, forecast.cause.name
        if cause == RESUME or (not cause and forecast.call.epoch.start == EpochStart.RESUME and _anew(forecast)):
            habit.lost += missed
            habit.kept += not missed
        if missed and cause in FROM_OUTSIDE:
            habit.cold = read
        elif missed and read and cause:
            habit.warm = read
        expected = forecast.outcome.read
        if forecast.outcome.prompt.rules.mechanism.keeps_every_prefix:
            habit.read(read, expected, not cause)
            if not cause:
                self._shortfalls[forecast.call.model].learn(read, expected)
        elif foretold.step.asked and not missed and cause in AFTER_ASIDE:
            answer = forecast.input - expected - self._prompts.tokens(forecast.call)(foretold.step.added)
            habit.aside(read - expected > max(answer / 2, 0))

    def _cause(self, foretold: Forecast, outcome: CacheOutcome) -> Cause:
        """What part of what the base left is lost to."""
        call, step, habit = foretold.call, foretold.step, self._habit(foretold.call)
        left = self._left.get(step.base.id)
        if left is None or not self._prompts.recorded(call):
            found = inferred(self._tree, call, step, outcome, self._clock(call), habit)
        else:
            before, now = self._prompts.sent(step.base, left.prompt), self._prompts.sent(call, outcome.prompt)
            found = recorded(self._tree, before, now, left, outcome)
        return by_edits(self._tree, step.base, call, found)

    def _read(self, foretold: Forecast, outcome: CacheOutcome, cause: str) -> int:
        """Tokens read, if everything goes as it should."""
        rules, habit, step = outcome.prompt.rules, self._habit(foretold.call), foretold.step
        aside = rules.mechanism.writes_at_markers and step.asked and habit.asks_aside and cause in AFTER_ASIDE
        if self._prompts.recorded(foretold.call) and not aside:
            return outcome.read
        if cause in FROM_OUTSIDE:
            return habit.cold if cause == RESUME else max(outcome.read, 0 if cause == MODEL else habit.cold)
        if aside:
            new = round(self._prompts.tokens(foretold.call)(step.added))
            return max(outcome.read, foretold.predicted - new)
        if outcome.hit is not None and outcome.read >= (habit.warm or 0):
            return outcome.read
        if not habit.caches:
            return outcome.read
        if habit.warm is not None:
            return habit.warm
        if rules.mechanism.takes_breakpoints:
            # Entries end where breakpoints stood, and the simulator knows those: no front is read by itself.
            return max(outcome.read, habit.cold)
        front = self._prompts.front(foretold.call)
        if rules.mechanism.keeps_every_prefix:
            return rules.reported_read(front, foretold.predicted)
        return max(front, habit.cold)

    def _habit(self, call: Call) -> Habit:
        key = (call.thread, call.model)
        found = self._habits.get(key)
        if found is None:
            rules = self._rules(call)
            # Its suggestions are for a person at its screen, and where requests are on record they show themselves.
            unseen = not self._prompts.recorded(call) and not call.extra.get(UNATTENDED)
            aside = int(rules.asks_aside and unseen)
            found = self._habits[key] = Habit(
                stays=int(rules.settles),
                asides=aside,
                turns=aside,
                kept=int(rules.keeps_resumed),
            )
        return found

    def _clock(self, call: Call) -> Clock:
        found = self._clocks.get(call.thread)
        return found if found is not None else self._clocks.setdefault(call.thread, Clock())
