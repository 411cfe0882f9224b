"""The line of progress on a terminal's standard error, and output that is drawn over itself."""

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


SILENT: Final = 0.7
"""Seconds for which nothing need be said."""
_EVERY: Final = 0.2


class Working:
    """``with Working("counting tokens") as work``: what is being done stands there while the block runs, and goes when
    it ends. A line within another takes its place; what a command prints wipes it (`wipe`)."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._far = ""
        self._since = 0.0
        self._outer: Working | None = None
        self._over = threading.Event()

    def say(self, how_far: str) -> None:
        """How far it is, in words; without any, the seconds are shown."""
        self._far = how_far

    def bytes(self, done: int) -> None:
        """How far it is, in bytes read."""
        self.say(f"{done / 1_000_000:,.0f} MB")

    def __enter__(self) -> Working:
        self._since = time.monotonic()
        if sys.stderr.isatty():
            with _LOCK:
                self._outer, _LINE.work = _LINE.work, self
            threading.Thread(target=self._told, name="progress", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with _LOCK:
            if _LINE.work is self:
                _LINE.wipe()
                _LINE.work = self._outer

    def _told(self) -> None:
        while not self._over.wait(_EVERY):
            with _LOCK:
                if _LINE.work is self and not self._over.is_set():
                    _LINE.draw(self._doing, self._far or f"{time.monotonic() - self._since:,.0f} s")


class _Line:
    """What stands on the terminal now; asked and changed under `_LOCK`."""

    def __init__(self) -> None:
        self.work: Working | None = None
        self._drawn = False
        self._printed = time.monotonic()

    def draw(self, doing: str, how_far: str) -> None:
        if time.monotonic() - self._printed < SILENT:
            return
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[K{doing} … {how_far}")
            sys.stderr.flush()
            self._drawn = True

    def wipe(self) -> None:
        if self._drawn:
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._drawn = False

    def printed(self) -> None:
        self.wipe()
        self._printed = time.monotonic()

    def back(self) -> None:
        self._printed -= SILENT


_LOCK: Final = threading.Lock()
"""Protects the line: a thread draws it while the command prints."""
_LINE: Final = _Line()


def wipe() -> None:
    """Something is printed now: the line makes room for it."""
    with _LOCK:
        _LINE.printed()


def back() -> None:
    """What is printed is there: the line may come back at once."""
    with _LOCK:
        _LINE.back()


@contextmanager
def counting(settings: Settings, doing: str = "counting tokens") -> Iterator[Counter]:
    """A counter that remembers, with the line of progress while it is in use."""
    # Imported here: errors are printed without any of it.
    from ctxtui.services.counting.count_cache import cached_counter

    with Working(doing), cached_counter(settings) as counter:
        yield counter


_REDRAWN_EVERY: Final = 1.0
"""Seconds between two drawings."""


def redrawn() -> bool:
    """Whether standard output is such a terminal."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


class Redrawn:
    """``with Redrawn() as screen``: what `draw` prints stands there until the next drawing, and is gone when the block
    is left, so that the last word is printed as ever. More than the terminal is high is cut."""

    def __init__(self) -> None:
        self._lines = 0
        self._at = 0.0

    def __enter__(self) -> Redrawn:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Who interrupts it has seen enough, and keeps that.
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self._take_back()
            sys.stdout.flush()

    def due(self) -> bool:
        """Whether it is time for another drawing."""
        return time.monotonic() - self._at >= _REDRAWN_EVERY

    def draw(self, show: Callable[[], None]) -> None:
        """Print what `show` prints in place of what stands there."""
        lines = _printed(show)[: shutil.get_terminal_size().lines - 2]
        self._take_back()
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._lines, self._at = len(lines), time.monotonic()
        back()

    def _take_back(self) -> None:
        wipe()
        if self._lines:
            sys.stdout.write(f"\x1b[{self._lines}F\x1b[J")
        self._lines = 0


class _Terminal(io.StringIO):
    """What is written, for whoever asks where it goes: to the terminal, whose `encoding` it has."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As the terminal's."""
        return self._encoding

    def isatty(self) -> bool:
        """It is drawn on one."""
        return True


def _printed(show: Callable[[], None]) -> list[str]:
    with redirect_stdout(_Terminal(sys.stdout.encoding or "")) as found:
        show()
    return found.getvalue().splitlines()
