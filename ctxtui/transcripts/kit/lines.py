"""Bytes in any chunking -> lines with their number and byte offset."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple


class TextLine(NamedTuple):
    """One line: `number` counts from 1, `start` is the byte offset of `data`, which has no line end."""

    number: int
    start: int
    data: bytes


class LineBuffer:
    """Cuts a stream of bytes into lines; what has no line end yet waits as the rest."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._number = 1
        self._start = 0

    def feed(self, data: bytes) -> list[TextLine]:
        """The lines that `data` ends, without their line feed (a carriage return stays)."""
        return [TextLine(*one) for one in self.split(data)]

    def split(self, data: bytes) -> Iterable[tuple[int, int, bytes]]:
        """As `feed`, as plain tuples."""
        first, *others = data.split(b"\n")
        if not others:
            if data:
                self._waiting.append(data)
            return ()
        *whole, last = others
        texts = [b"".join([*self._waiting, first]) if self._waiting else first, *whole]
        self._waiting = [last] if last else []
        starts = list(accumulate([len(text) + 1 for text in texts], initial=self._start))
        number, self._number = self._number, self._number + len(texts)
        self._start = starts[-1]
        return zip(range(number, self._number), starts, texts, strict=False)

    @property
    def rest(self) -> TextLine:
        """What stands after the last line end."""
        if len(self._waiting) > 1:
            self._waiting = [b"".join(self._waiting)]
        return TextLine(self._number, self._start, self._waiting[0] if self._waiting else b"")

    def take(self, count: int) -> None:
        """Drop the first `count` bytes of the rest: they have been read."""
        left = self.rest.data[count:]
        self._waiting = [left] if left else []
        self._start += count
