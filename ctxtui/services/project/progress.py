"""Reports the progress of reading and counting a project when it takes longer than a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

FIRST_REPORT_SECONDS: Final = 1.0
REPORT_INTERVAL: Final = 3.0


class ReadingProgress:
    """The progress as `text`, "" before the first report; one thread writes it, others read.

    `tell` is called with each new text.
    """

    def __init__(self, tell: Callable[[str], object] = lambda words: None) -> None:
        self.text = ""
        self._tell = tell

    def files_read(self, files: int) -> None:
        self._report(f"{files:,} files read")

    def files_counted(self, done: int, of: int) -> None:
        self._report(f"{done:,} of {of:,} files counted")

    def _report(self, words: str) -> None:
        self.text = words
        self._tell(words)


async def report_progress(work: Awaitable[T], progress: ReadingProgress, say: Callable[[str], object]) -> T:
    """Await `work`; call `say` with the progress if it takes longer than `FIRST_REPORT_SECONDS`."""
    task, pause = asyncio.ensure_future(work), FIRST_REPORT_SECONDS
    try:
        while not (await asyncio.wait({task}, timeout=pause))[0]:
            say(f"the project: {progress.text}" if progress.text else "reading files")
            pause = REPORT_INTERVAL
    finally:
        if not task.done():
            task.cancel()
    return task.result()
