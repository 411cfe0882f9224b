"""An opened block's lines, wrapped to a width as far as they are looked at: ten megabytes open as fast as ten lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from ctxtui.analysis.content.search import Find
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, plain, width

_COUNTED = 200
"""Further lines that are made to count what is not shown."""


class HitInLine(NamedTuple):
    """A hit in a wrapped line: characters `start` to `end` of line `line` (from 0)."""

    line: int
    start: int
    end: int


class Body:
    """The content of one block as lines of at most `room` cells.

    `source` gives the lines of the content, styled and safe, of any length; `total` is how many there are (None where
    that is not known without reading all). Wrapped lines go on at column `hang`. `find` gives the hits in a line.
    The first `lead` lines do not count where so many are asked for. `texts` gives the lines of the content once more,
    without styles: how high they are is known then before any of them is styled.
    """

    def __init__(
        self,
        source: Iterator[Spans],
        room: int,
        total: int | None = None,
        hang: int = 0,
        find: Find | None = None,
        lead: int = 0,
        texts: Callable[[], Iterator[str]] | None = None,
    ) -> None:
        self._source = source
        self._room = max(1, room)
        self._hang = hang
        self._lines: list[Spans] = []
        self._taken: list[int] = []
        self._find = find
        self._lead = lead
        self._spots: list[HitInLine] = []
        self._on: dict[int, list[tuple[int, int]]] = {}
        self._total = total
        self._ended = False
        self._texts = texts
        self._counted = -1, 0
        """Of how many lines at most the height was asked for last, and the answer."""

    def line(self, number: int) -> Spans | None:
        """Line `number`, from 0; None behind the end."""
        self._reach(number + 1)
        return self._lines[number] if number < len(self._lines) else None

    def spots(self, number: int) -> list[tuple[int, int]]:
        """The hits in line `number`, by its characters."""
        return self._on.get(number, [])

    def spot(self, nth: int, most: int) -> HitInLine | None:
        """Where hit `nth` (from 0) begins, if it does so within the first `most` lines."""
        while len(self._spots) <= nth and not self._ended and len(self._lines) < most:
            self._reach(len(self._lines) + 1)
        return self._spots[nth] if nth < len(self._spots) else None

    def height(self, most: int) -> int:
        """How many lines there are, at most `most` beside those that lead."""
        most += self._lead
        if self._counted[0] != most:
            self._counted = most, self._height(most)
        return self._counted[1]

    def _height(self, most: int) -> int:
        # Each line of the content is a line at least.
        if len(self._lines) >= most or (self._total is not None and self._total >= most):
            return most
        if self._texts is None or self._ended:
            self._reach(most)
            return min(len(self._lines), most)
        found = 0
        for text in self._texts():
            found += sum(1 for _ in islice(_breaks(text, self._room, self._hang), most - found))
            if found >= most:
                break
        return found

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
            first, pieces = len(self._lines), list(_pieces(spans, self._room, self._hang))
            self._lines += [piece.line for piece in pieces]
            self._taken += [number] * len(pieces)
            if self._find is not None:
                for start, end in self._find(plain(spans)):
                    self._note(start, end, first, pieces)

    def _note(self, start: int, end: int, first: int, pieces: list[_Piece]) -> None:
        """A hit in a line of the content; one that is broken over two wrapped lines is in both."""
        spots = [
            HitInLine(
                line, max(start, piece.start) - piece.start + piece.lead, min(end, piece.end) - piece.start + piece.lead
            )
            for line, piece in enumerate(pieces, first)
            if max(start, piece.start) < min(end, piece.end)
        ]
        self._spots.append(spots[0])
        for spot in spots:
            self._on.setdefault(spot.line, []).append((spot.start, spot.end))


class _Piece(NamedTuple):
    """A wrapped line, behind `lead` blanks characters `start` to `end` of the line it is from."""

    line: Spans
    start: int
    end: int
    lead: int = 0


def wrapped(spans: Spans, room: int, hang: int = 0) -> Iterator[Spans]:
    """`spans` in lines of at most `room` cells, broken at a blank where one stands in the second half of a line."""
    return (piece.line for piece in _pieces(spans, room, hang))


def _pieces(spans: Spans, room: int, hang: int) -> Iterator[_Piece]:
    text = plain(spans)
    if width(spans) <= room:
        yield _Piece(spans, 0, len(text))
        return
    for start, end, lead in _breaks(text, room, hang):
        yield _Piece([*([Span(" " * lead)] if lead else []), *_slice(spans, start, end)], start, end, lead)


def _breaks(text: str, room: int, hang: int) -> Iterator[tuple[int, int, int]]:
    """Where the lines of `room` cells begin and end into which a line of the content is broken, and how many blanks
    stand before each."""
    if cells.width(text) <= room:
        yield 0, len(text), 0
        return
    start, lead, hang = 0, 0, min(hang, room // 2, max(0, room - 2))
    while start < len(text):
        end = max(cells.reach(text, start, room - lead), start + 1)
        if end < len(text):
            blank = text.rfind(" ", start + (end - start) // 2, end + 1)
            end = blank + 1 if blank > start else end
        yield start, end, lead
        start, lead = end, hang


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
