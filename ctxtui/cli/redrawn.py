"""Plain output that is drawn over itself while more becomes known, on a terminal that can take lines back."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Final

from ctxtui.cli import progress

_EVERY: Final = 1.0
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
        return time.monotonic() - self._at >= _EVERY

    def draw(self, show: Callable[[], None]) -> None:
        """Print what `show` prints in place of what stands there."""
        lines = _printed(show)[: shutil.get_terminal_size().lines - 2]
        self._take_back()
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._lines, self._at = len(lines), time.monotonic()
        progress.back()

    def _take_back(self) -> None:
        progress.wipe()
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
