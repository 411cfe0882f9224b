"""Waiting for what a screen shows later."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.pilot import Pilot

LONG = 120.0
"""Seconds: child processes share the cores with other tests."""


async def from_palette(pilot: Pilot[None], name: str) -> None:
    """Do the command that the palette finds first under `name`."""
    await pilot.press("ctrl+p", *("space" if char == " " else char for char in name))
    await pilot.pause()
    await pilot.press("enter")
    await pilot.pause()


async def until(pilot: Pilot[None], there: Callable[[], bool]) -> None:
    """Wait until `there` says yes, and once more for what that brings."""
    end = time.monotonic() + LONG
    while not there():
        if (error := pilot.app._exception) is not None:
            # A worker's own, with where it was raised; what is waited for does not come any more.
            raise getattr(error, "error", error)
        if time.monotonic() > end:
            raise AssertionError(f"it did not come in {LONG:g} s")
        await pilot.pause(0.02)
    await pilot.pause(0.02)


async def do(pilot: Pilot[None], name: str) -> None:
    """Do the command of the class `name`, as the palette does."""
    await pilot.app.screen.run_action(f"command('{name}')")
    await pilot.pause()
