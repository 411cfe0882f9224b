"""What is remembered between runs, through the store: token counts by digest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ctxtui.runtime.counting import Counter
from ctxtui.runtime.settings import Settings


@contextmanager
def counter_with_memory(settings: Settings) -> Iterator[Counter]:
    """A counter."""
    yield Counter()
