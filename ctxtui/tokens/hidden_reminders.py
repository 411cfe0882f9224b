"""Predicts periodic client text that is billed, not recorded (Claude Code's todo reminder).

Only the reports show it: now and then a call has more tokens than its blocks explain, each time about as many more. The
interval between two such calls is learnt, in answers and in parts of answers (two *clocks*), to predict the next one.
"""

from __future__ import annotations

from typing import Final

_MIN_TOKENS: Final = 40.0
_MAX_TOKENS: Final = 220.0
"""Sizes of a plausible reminder."""
_MIN_DEVIATIONS: Final = 1.6
"""Standard deviations that an error must exceed to count as a reminder."""
_MIN_RATE: Final = 0.55
"""A reminder is predicted if in more than this share of cases one came after as many steps."""
_FADE: Final = 0.8
"""Factor by which older observations count less with each new one."""
_MAX_SIZES: Final = 5
"""Number of last reminders whose sizes are remembered."""
_MIN_SIZES: Final = 3
"""Reminders needed for a prediction."""

Steps = tuple[int, int]
"""Steps of both clocks up to a call: the parts of the answer before it, and 1 for the answer itself."""


class ReminderPredictor:
    """Learns from each call's unexplained tokens when reminders come and how long they are."""

    def __init__(self) -> None:
        self._since: list[int] = [0, 0]
        """Steps of each clock since the last reminder."""
        self._seen: tuple[dict[int, tuple[float, float]], ...] = ({}, {})
        """By clock and steps since the last reminder: how often one came, and out of how many times (both fade)."""
        self._sizes: list[float] = []
        """Tokens of the last reminders."""

    def expect(self, steps: Steps) -> float:
        """Tokens expected to be added before a call that is `steps` further; mostly 0."""
        if len(self._sizes) < _MIN_SIZES:
            return 0.0
        size = self._median_size()
        if sum(0.7 * size <= s <= 1.4 * size for s in self._sizes) < _MIN_SIZES:
            return 0.0
        due = max(self._reminder_rate(clock, self._since[clock] + step) for clock, step in enumerate(steps))
        return size if due > _MIN_RATE else 0.0

    def learn(self, steps: Steps, error: float, deviation: float) -> None:
        """Learn from the `error` of a call that is `steps` further.

        The error is its tokens beyond those of its blocks; `deviation` is the error's standard deviation in tokens.
        """
        alike = (
            0.65 * self._median_size() <= error <= 1.5 * self._median_size() if len(self._sizes) >= _MIN_SIZES else True
        )
        if alike and _MIN_TOKENS <= error <= _MAX_TOKENS:
            if error <= _MIN_DEVIATIONS * deviation:
                # Ambiguous: nothing is learnt.
                self._since = [now + step for now, step in zip(self._since, steps, strict=True)]
            else:
                self._advance(steps, came=True)
                self._sizes = [*self._sizes, error][-_MAX_SIZES:]
        else:
            self._advance(steps, came=False)
            if error > 1.5 * _MAX_TOKENS:
                self._since = [0, 0]

    def _advance(self, steps: Steps, came: bool) -> None:
        for clock, step in enumerate(steps):
            steps_since = self._since[clock] + step
            hits, times = self._seen[clock].get(steps_since, (0.0, 0.0))
            self._seen[clock][steps_since] = (_FADE * hits + came, _FADE * times + 1)
            self._since[clock] = 0 if came else steps_since

    def _reminder_rate(self, clock: int, steps: int) -> float:
        """Estimated share of cases in which a reminder came after so many steps.

        Without observations for this number of steps, those for one or two steps less are used, else it is a quarter.
        """
        counts = self._seen[clock]
        hits, times = counts.get(steps, (0.0, 0.0))
        if not times and (before := max((k for k in counts if k < steps), default=0)) >= steps - 2 and before:
            hits, times = counts[before]
        return (hits + 0.3) / (times + 1.2)

    def _median_size(self) -> float:
        return sorted(self._sizes)[len(self._sizes) // 2]
