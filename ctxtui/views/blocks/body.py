"""Lazy wrapping of an opened block, so that 10 MB open at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from ctxtui.analysis.content.search import Find
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, plain, width

LOOKAHEAD_LINES = 200
"""Further lines that are wrapped to count the hidden ones."""


class HitInLine(NamedTuple):
    """A search hit: characters `start` to `end` of the wrapped line number `line` (from 0)."""

    line: int
    start: int
    end: int


class Body:
    """The content of one block as lines of at most `room` cells.

    - `source`: yields the styled, safe lines of the content.
    - `total`: their number, None if unknown without reading them all.
    - `hang`: indent of continuation lines.
    - `find`: yields the hits in a content line, as character ranges.
    - `lead`: so many first lines are not counted against a requested height.
    - `texts`: yields the lines again without styles, so that heights are known before styling.
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
        self._content_lines: list[int] = []
        self._find = find
        self._lead = lead
        self._hits: list[HitInLine] = []
        self._hits_by_line: dict[int, list[tuple[int, int]]] = {}
        self._total = total
        self._ended = False
        self._texts = texts
        self._counted = -1, 0
        """The limit of the last call of `height`, and its result."""

    def line(self, number: int) -> Spans | None:
        """Line `number`, from 0; None after the end."""
        self._wrap_until(number + 1)
        return self._lines[number] if number < len(self._lines) else None

    def hits_in(self, number: int) -> list[tuple[int, int]]:
        return self._hits_by_line.get(number, [])

    def hit(self, nth: int, most: int) -> HitInLine | None:
        """Position of hit `nth` (from 0) in the first `most` lines, or in those wrapped already."""
        while len(self._hits) <= nth and not self._ended and len(self._lines) < most:
            self._wrap_until(len(self._lines) + 1)
        return self._hits[nth] if nth < len(self._hits) else None

    def height(self, most: int) -> int:
        """Number of wrapped lines, at most `most` plus the lead lines."""
        most += self._lead
        if self._counted[0] != most:
            self._counted = most, self._count_lines(most)
        return self._counted[1]

    def _count_lines(self, most: int) -> int:
        # A line of the content takes at least one wrapped line.
        if len(self._lines) >= most or (self._total is not None and self._total >= most):
            return most
        if self._texts is None or self._ended:
            self._wrap_until(most)
            return min(len(self._lines), most)
        height = 0
        for text in self._texts():
            height += sum(1 for _ in islice(_find_breaks(text, self._room, self._hang), most - height))
            if height >= most:
                break
        return height

    def count_hidden(self, shown: int) -> int | None:
        """Number of lines after the first `shown` wrapped ones; None if unknown.

        Far from the end of the block the content's lines are counted, not wrapped ones.
        """
        self._wrap_until(shown + LOOKAHEAD_LINES)
        if len(self._lines) <= shown:
            return 0
        if self._ended:
            return len(self._lines) - shown
        consumed = self._content_lines[shown - 1] if shown else 0
        return None if self._total is None else max(1, self._total - consumed)

    def _wrap_until(self, count: int) -> None:
        while not self._ended and len(self._lines) < count:
            spans = next(self._source, None)
            if spans is None:
                self._ended = True
                return
            number = (self._content_lines[-1] if self._content_lines else 0) + 1
            first, pieces = len(self._lines), list(_wrap(spans, self._room, self._hang))
            self._lines += [piece.line for piece in pieces]
            self._content_lines += [number] * len(pieces)
            if self._find is not None:
                for start, end in self._find(plain(spans)):
                    self._add_hit(start, end, first, pieces)

    def _add_hit(self, start: int, end: int, first: int, pieces: list[_Piece]) -> None:
        """Record a hit in a content line.

        A hit that is wrapped is at its first line for `hit`, and in each of its lines for `hits_in`.
        """
        hits = [
            HitInLine(
                line, max(start, piece.start) - piece.start + piece.lead, min(end, piece.end) - piece.start + piece.lead
            )
            for line, piece in enumerate(pieces, first)
            if max(start, piece.start) < min(end, piece.end)
        ]
        self._hits.append(hits[0])
        for spot in hits:
            self._hits_by_line.setdefault(spot.line, []).append((spot.start, spot.end))


class _Piece(NamedTuple):
    """A wrapped line: characters `start` to `end` of its content line, after `lead` blanks."""

    line: Spans
    start: int
    end: int
    lead: int = 0


def wrap(spans: Spans, room: int, hang: int = 0) -> Iterator[Spans]:
    """Wrap `spans` to lines of at most `room` cells.

    A line ends at a blank in its second half if there is one. `hang`: indent of continuation lines.
    """
    return (piece.line for piece in _wrap(spans, room, hang))


def _wrap(spans: Spans, room: int, hang: int) -> Iterator[_Piece]:
    text = plain(spans)
    if width(spans) <= room:
        yield _Piece(spans, 0, len(text))
        return
    for start, end, lead in _find_breaks(text, room, hang):
        yield _Piece([*([Span(" " * lead)] if lead else []), *_slice(spans, start, end)], start, end, lead)


def _find_breaks(text: str, room: int, hang: int) -> Iterator[tuple[int, int, int]]:
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
    position = 0
    for text, style in spans:
        piece = text[max(0, start - position) : max(0, end - position)]
        if piece:
            out.append(Span(piece, style))
        position += len(text)
        if position >= end:
            break
    if out and out[-1].text.endswith(" "):
        # The blank at a line break takes no cell.
        out[-1] = Span(out[-1].text[:-1], out[-1].style)
    return out
