"""Compares two texts word by word: lines first, then the words of the lines that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.sequence_diff import align

SAME, REMOVED, ADDED = "same", "removed", "added"

_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_WORD_DIFF: Final = 200_000
"""A longer stretch without a common line is reported as a whole."""


class DiffSpan(NamedTuple):
    """A stretch of text: in both (`SAME`), only before (`REMOVED`) or only after (`ADDED`)."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[DiffSpan]:
    """Pieces that turn `before` into `after`, in order; removed text precedes added text."""
    if before == after:
        return [DiffSpan(SAME, before)] if before else []
    pieces: list[DiffSpan] = []
    for old_stretch, new_stretch in _aligned_stretches(
        before.splitlines(keepends=True), after.splitlines(keepends=True)
    ):
        old, new = "".join(old_stretch), "".join(new_stretch)
        if old == new:
            pieces.append(DiffSpan(SAME, old))
        elif not old or not new or max(len(old), len(new)) > _MAX_WORD_DIFF:
            pieces += [DiffSpan(REMOVED, old), DiffSpan(ADDED, new)]
        else:
            for old_words, new_words in _aligned_stretches(_WORDS.findall(old), _WORDS.findall(new)):
                removed, added = "".join(old_words), "".join(new_words)
                same = removed == added
                pieces += [DiffSpan(SAME, added)] if same else [DiffSpan(REMOVED, removed), DiffSpan(ADDED, added)]
    return _merge_pieces(pieces)


class _Change(NamedTuple):
    """A change, and the common text after it (`same`)."""

    removed: str
    added: str
    same: str

    @property
    def size(self) -> int:
        return max(len(self.removed), len(self.added))


def _merge_pieces(pieces: Iterable[DiffSpan]) -> list[DiffSpan]:
    """Merge neighbours of one kind, and changes around short common text; drop empty pieces."""
    stack = [_Change("", "", "")]
    for kind, text in pieces:
        last = stack[-1]
        if kind == SAME:
            stack[-1] = last._replace(same=last.same + text)
            continue
        removed, added = (text, "") if kind == REMOVED else ("", text)
        if last.same:
            stack.append(_Change(removed, added, ""))
        else:
            stack[-1] = _Change(last.removed + removed, last.added + added, "")
        while len(stack) > 1 and _is_part_of_changes(stack[-2], stack[-1]):
            after = stack.pop()
            top = stack[-1]
            stack[-1] = _Change(top.removed + top.same + after.removed, top.added + top.same + after.added, after.same)
    every = (DiffSpan(kind, text) for texts in stack for kind, text in zip((REMOVED, ADDED, SAME), texts, strict=True))
    return [piece for piece in every if piece.text]


def _is_part_of_changes(before: _Change, after: _Change) -> bool:
    return "\n" not in before.same and 0 < len(before.same) <= min(before.size, after.size)


Stretch = tuple[Sequence[str], Sequence[str]]


def _aligned_stretches(a: Sequence[str], b: Sequence[str]) -> Iterator[Stretch]:
    for (start, end), (first, last) in align(a, b):
        yield a[start:end], b[first:last]
