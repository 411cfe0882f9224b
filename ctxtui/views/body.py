"""An opened block's lines, wrapped to a width as far as they are looked at: ten megabytes open as fast as ten lines."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.views import cells
from ctxtui.views.span import Span, Spans, width

_COUNTED = 200
"""Further lines that are made to count what is not shown."""


class Body:
    """The content of one block as lines of at most `room` cells.

    `source` gives the lines of the content, styled and safe, of any length; `total` is how many there are (None where
    that is not known without reading all). Wrapped lines go on at column `hang`.
    """

    def __init__(self, source: Iterator[Spans], room: int, total: int | None = None, hang: int = 0) -> None:
        self._source = source
        self._room = max(1, room)
        self._hang = hang
        self._lines: list[Spans] = []
        self._taken: list[int] = []
        self._total = total
        self._ended = False

    def line(self, number: int) -> Spans | None:
        """Line `number`, from 0; None behind the end."""
        self._reach(number + 1)
        return self._lines[number] if number < len(self._lines) else None

    def height(self, most: int) -> int:
        """How many lines there are, at most `most`."""
        self._reach(most)
        return min(len(self._lines), most)

    def more(self, shown: int) -> int | None:
        """How many lines of the content come after the first `shown` wrapped ones; None where that is not known."""
        self._reach(shown + _COUNTED)
        if len(self._lines) <= shown:
            return 0
        if self._ended:
            return len(self._lines) - shown
        taken = self._taken[shown - 1] if shown else 0
        return None if self._total is None else max(1, self._total - taken)

    def _reach(self, count: int) -> None:
        while not self._ended and len(self._lines) < count:
            spans = next(self._source, None)
            if spans is None:
                self._ended = True
                return
            number = (self._taken[-1] if self._taken else 0) + 1
            for line in wrapped(spans, self._room, self._hang):
                self._lines.append(line)
                self._taken.append(number)


def wrapped(spans: Spans, room: int, hang: int = 0) -> Iterator[Spans]:
    """`spans` in lines of at most `room` cells, broken at a blank where one stands in the second half of a line."""
    if width(spans) <= room:
        yield spans
        return
    text = "".join(text for text, _ in spans)
    start, lead, hang = 0, 0, min(hang, room // 2, max(0, room - 2))
    while start < len(text) or start == 0:
        end = cells.reach(text, start, room - lead)
        end = max(end, start + 1) if start < len(text) else end
        if end < len(text):
            blank = text.rfind(" ", start + (end - start) // 2, end + 1)
            end = blank + 1 if blank > start else end
        yield [*([Span(" " * lead)] if lead else []), *_slice(spans, start, end)]
        start, lead = end, hang
        if not text:
            return


def _slice(spans: Spans, start: int, end: int) -> list[Span]:
    out: list[Span] = []
    at = 0
    for text, style in spans:
        piece = text[max(0, start - at) : max(0, end - at)]
        if piece:
            out.append(Span(piece, style))
        at += len(text)
        if at >= end:
            break
    if out and out[-1].text.endswith(" "):
        # The blank at which a line was broken would only widen it.
        out[-1] = Span(out[-1].text[:-1], out[-1].style)
    return out
