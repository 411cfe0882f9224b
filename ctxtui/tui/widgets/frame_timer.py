"""When a screen is painted: at Textual's pace, and at once where a key waits for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from textual._time import get_time
from textual.timer import EventTargetGone, Timer

PERIOD: Final = 1 / 60
"""Seconds between two frames that no key waits for (Textual's own figure)."""


class FrameTimer(Timer):
    """Textual's timer of a screen's frames, which halts for one to two periods behind each of them, so that what comes
    together is one frame. A key that comes meanwhile would wait, for a mark that moved on a map: `hurry` ends the halt.
    """

    _urgent: asyncio.Event | None = None

    def hurry(self) -> None:
        """The next frame does not wait for its turn."""
        if self._urgent is not None:
            self._urgent.set()

    async def _run(self) -> None:
        urgent = self._urgent = asyncio.Event()
        wanted: asyncio.Event = self._active
        start, count = get_time(), 0
        while True:
            await wanted.wait()
            urgent.clear()
            try:
                await self._tick(next_timer=get_time(), count=count)
            except EventTargetGone:
                break
            count += 1
            # The grid of Textual's timer: the end of the period that has begun is passed over.
            turn = start + (int((get_time() - start) / PERIOD) + 2) * PERIOD
            with suppress(TimeoutError):
                async with asyncio.timeout(turn - get_time()):
                    await urgent.wait()
