"""The progress line on a terminal's standard error, and output that is redrawn in place."""

from __future__ import annotations

import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Final

from ctxtui.services.config.settings import Settings

if TYPE_CHECKING:
    from ctxtui.services.counting.counting import Counter

SILENT_SECONDS: Final = 0.7
"""Seconds without output before a progress line is shown."""
UPDATE_SECONDS: Final = 0.2
"""Seconds between two drawings of the progress line."""


class Working:
    """A progress line while the block runs: ``with Working("counting tokens") as work``.

    A nested line replaces the outer one.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._progress = ""
        self._since = 0.0
        self._outer: Working | None = None
        self._ended = threading.Event()

    def show(self, text: str) -> None:
        """Show `text` as the progress; before the first one, the seconds so far are shown."""
        self._progress = text

    def bytes(self, done: int) -> None:
        self.show(f"{done / 1_000_000:,.0f} MB")

    def __enter__(self) -> Working:
        self._since = time.monotonic()
        if sys.stderr.isatty():
            with _LOCK:
                self._outer, _LINE.work = _LINE.work, self
            threading.Thread(target=self._draw_until_ended, name="progress", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with _LOCK:
            if _LINE.work is self:
                _LINE.wipe()
                _LINE.work = self._outer

    def _draw_until_ended(self) -> None:
        while not self._ended.wait(UPDATE_SECONDS):
            with _LOCK:
                if _LINE.work is self and not self._ended.is_set():
                    _LINE.draw(self._task, self._progress or f"{time.monotonic() - self._since:,.0f} s")


class _Line:
    """The progress line; used under `_LOCK`, as a thread draws it while the command prints."""

    def __init__(self) -> None:
        self.work: Working | None = None
        self._drawn = False
        self._printed = time.monotonic()

    def draw(self, task: str, progress: str) -> None:
        if time.monotonic() - self._printed < SILENT_SECONDS:
            return
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[K{task} … {progress}")
            sys.stderr.flush()
            self._drawn = True

    def wipe(self) -> None:
        if self._drawn:
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._drawn = False

    def note_output(self) -> None:
        self.wipe()
        self._printed = time.monotonic()

    def allow(self) -> None:
        self._printed -= SILENT_SECONDS


_LOCK: Final = threading.Lock()
_LINE: Final = _Line()


def wipe() -> None:
    """Erase the progress line before other output."""
    with _LOCK:
        _LINE.note_output()


def allow_progress() -> None:
    with _LOCK:
        _LINE.allow()


@contextmanager
def counting(settings: Settings, doing: str = "counting tokens") -> Iterator[Counter]:
    # Late import: printing errors must not load it.
    from ctxtui.services.counting.count_cache import cached_counter

    with Working(doing), cached_counter(settings) as counter:
        yield counter


REDRAW_SECONDS: Final = 1.0


def can_redraw() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


class RedrawnOutput:
    """Output that is redrawn in place: ``with RedrawnOutput() as screen``.

    On exit the last drawing is erased, but kept after ctrl+c. Output higher than the terminal is cut.
    """

    def __init__(self) -> None:
        self._lines = 0
        self._at = 0.0

    def __enter__(self) -> RedrawnOutput:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self._erase()
            sys.stdout.flush()

    def is_due(self) -> bool:
        return time.monotonic() - self._at >= REDRAW_SECONDS

    def draw(self, show: Callable[[], None]) -> None:
        lines = _capture_lines(show)[: shutil.get_terminal_size().lines - 2]
        self._erase()
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._lines, self._at = len(lines), time.monotonic()
        allow_progress()

    def _erase(self) -> None:
        wipe()
        if self._lines:
            sys.stdout.write(f"\x1b[{self._lines}F\x1b[J")
        self._lines = 0


class _Terminal(io.StringIO):
    """A buffer that passes for a terminal, so that captured lines have colours."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def _capture_lines(show: Callable[[], None]) -> list[str]:
    with redirect_stdout(_Terminal(sys.stdout.encoding or "")) as buffer:
        show()
    return buffer.getvalue().splitlines()
