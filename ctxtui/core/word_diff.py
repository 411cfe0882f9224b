"""Two texts word by word: lines first, then the words of the lines that differ.

Time stays near linear: a long stretch that shares no line is told as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.aligning import aligned

SAME, REMOVED, ADDED = "same", "removed", "added"

_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_SPLIT: Final = 200_000
"""Characters of a stretch without a common line up to which it is compared by words."""


class Piece(NamedTuple):
    """A stretch of text: in both (`SAME`), only before (`REMOVED`) or only after (`ADDED`)."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[Piece]:
    """The pieces that turn `before` into `after`, in order; where both change, what was removed stands first.

    The texts of all but the added pieces make up `before`, those of all but the removed ones `after`.
    """
    if before == after:
        return [Piece(SAME, before)] if before else []
    found: list[Piece] = []
    for one, other in _stretches(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        old, new = "".join(one), "".join(other)
        if old == new:
            found.append(Piece(SAME, old))
        elif not old or not new or max(len(old), len(new)) > _SPLIT:
            found += [Piece(REMOVED, old), Piece(ADDED, new)]
        else:
            for some, others in _stretches(_WORDS.findall(old), _WORDS.findall(new)):
                found += _pieces("".join(some), "".join(others))
    return _joined(found)


def _pieces(old: str, new: str) -> list[Piece]:
    return [Piece(SAME, old)] if old == new else [Piece(REMOVED, old), Piece(ADDED, new)]


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours of one kind as one piece, blanks between two changes as part of them, nothing empty."""
    out: list[Piece] = []
    gone = come = ""
    for at, (kind, text) in enumerate(pieces):
        blank = kind == SAME and not text.strip() and "\n" not in text
        within = blank and (gone or come) and at + 1 < len(pieces) and pieces[at + 1].kind != SAME
        if kind == REMOVED or within:
            gone += text
        if kind == ADDED or within:
            come += text
        if kind == SAME and not within:
            out += [Piece(REMOVED, gone), Piece(ADDED, come), Piece(SAME, text)]
            gone = come = ""
    out += [Piece(REMOVED, gone), Piece(ADDED, come)]
    return [piece for piece in _merged(out) if piece.text]


def _merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    held = Piece(SAME, "")
    for piece in pieces:
        if not piece.text:
            continue
        if piece.kind == held.kind:
            held = Piece(held.kind, held.text + piece.text)
        else:
            yield held
            held = piece
    yield held


Stretch = tuple[Sequence[str], Sequence[str]]
"""A part of each side; the two are equal, or they share nothing that was found."""


def _stretches(a: Sequence[str], b: Sequence[str]) -> Iterator[Stretch]:
    for (start, end), (first, last) in aligned(a, b):
        yield a[start:end], b[first:last]
