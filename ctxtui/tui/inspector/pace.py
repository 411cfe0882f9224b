"""When the figures of a session that grows are brought up to date: at once after a rest, else a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LEAST: Final = 0.2
"""Seconds between two rounds of work at least, as long as the session grows ..."""
TIMES: Final = 12
"""... and times as long as a round took: work takes a thirteenth of a processor ..."""
MOST: Final = 4.0
"""... but for sessions so long that figures would be older than so many seconds."""
QUIET: Final = 0.25
"""Seconds without growth after which what came is worked out, whatever the last round took."""


class Pace:
    """Says how long a worker has to wait until its next round. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = 0.0
        self._rested = 0.0
        self.asked = True
        """Whether the user waits for something; so it is until a first round of the grown session is over."""

    def grew(self) -> None:
        """There is more of the session."""
        self._rested = self._clock() + QUIET

    def worked(self, seconds: float) -> None:
        """A round is over, and took so many seconds of a processor."""
        self.asked = False
        self._due = self._clock() + min(MOST, max(LEAST, TIMES * seconds))

    def ask(self) -> None:
        """The user waits for what there is to do."""
        self._due, self.asked = 0.0, True

    def left(self) -> float:
        """Seconds until the next round may begin."""
        return max(0.0, min(self._due, self._rested) - self._clock())
