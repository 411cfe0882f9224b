"""When a screen is painted: at Textual's pace, and at once where a key waits for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from textual._time import get_time
from textual.timer import EventTargetGone, Timer

PERIOD: Final = 1 / 60
"""Seconds between two frames that no key waits for (Textual's own figure)."""
APART: Final = 1.5 * PERIOD
"""Seconds from one of them to the next at least: what comes more often is shown together, and each of thirty changes a
second, which come a little early or late, by itself."""


class FrameTimer(Timer):
    """Textual's timer of a screen's frames, which halts behind each of them, so that what comes together is one frame.
    A key that comes meanwhile would wait, for a mark that moved on a map: `hurry` ends the halt."""

    _urgent: asyncio.Event | None = None

    def hurry(self) -> None:
        """The next frame does not wait for its turn."""
        if self._urgent is not None:
            self._urgent.set()

    async def _run(self) -> None:
        urgent = self._urgent = asyncio.Event()
        wanted: asyncio.Event = self._active
        count = 0
        while True:
            await wanted.wait()
            urgent.clear()
            begun = get_time()
            try:
                await self._tick(next_timer=begun, count=count)
            except EventTargetGone:
                break
            count += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(begun + APART - get_time()):
                    await urgent.wait()
