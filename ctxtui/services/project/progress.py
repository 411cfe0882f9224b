"""How far reading and counting a project is: told to whoever waits for longer than a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

AFTER: Final = 1.0
"""Seconds after which who waits is told."""
EVERY: Final = 3.0
"""Seconds between two lines."""


class ReadingProgress:
    """`words` say how far it is, "" before the first file; one thread sets them, others read. `tell` hears each."""

    def __init__(self, tell: Callable[[str], object] = lambda words: None) -> None:
        self.words = ""
        self._tell = tell

    def read(self, files: int) -> None:
        """So many files were read."""
        self._say(f"{files:,} files read")

    def counted(self, done: int, of: int) -> None:
        """So many files were counted."""
        self._say(f"{done:,} of {of:,} files counted")

    def _say(self, words: str) -> None:
        self.words = words
        self._tell(words)


async def told(
    work: Awaitable[T], progress: ReadingProgress, say: Callable[[str], object], *, after: float = AFTER
) -> T:
    """What `work` gives; where it takes longer than `after` seconds, `say` hears how far it is."""
    task, pause = asyncio.ensure_future(work), after
    try:
        while not (await asyncio.wait({task}, timeout=pause))[0]:
            say(f"the project: {progress.words}" if progress.words else "reading the files that go along")
            pause = EVERY
    finally:
        if not task.done():
            task.cancel()
    return task.result()
