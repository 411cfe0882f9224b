"""Bytes in any chunking -> lines with their number and byte offset."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple


class Line(NamedTuple):
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

    def feed(self, data: bytes) -> list[Line]:
        """The lines that `data` ends, without their line feed (a carriage return stays)."""
        first, *others = data.split(b"\n")
        if not others:
            if data:
                self._waiting.append(data)
            return []
        *whole, last = others
        head = b"".join([*self._waiting, first]) if self._waiting else first
        self._waiting = [last] if last else []
        texts = [head, *whole]
        starts = list(accumulate([len(text) + 1 for text in texts], initial=self._start))
        found = list(map(Line, range(self._number, self._number + len(texts)), starts, texts))
        self._number += len(texts)
        self._start = starts[-1]
        return found

    @property
    def rest(self) -> Line:
        """What stands after the last line end."""
        if len(self._waiting) > 1:
            self._waiting = [b"".join(self._waiting)]
        return Line(self._number, self._start, self._waiting[0] if self._waiting else b"")

    def take(self, count: int) -> None:
        """Drop the first `count` bytes of the rest: they have been read."""
        left = self.rest.data[count:]
        self._waiting = [left] if left else []
        self._start += count
