"""A limit to the processor time that a search may take: a regular expression can take for ever on a few characters."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Overdue(Exception):
    """The search took longer than it may."""


def possible() -> bool:
    """Whether a search can be stopped here: only the main thread hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `Overdue` once the block has taken `seconds` of processor time; only where it is `possible`.

    Python's regular expressions look for signals while they search.
    """

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Overdue

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
