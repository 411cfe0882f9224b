"""Two texts word by word: lines first, then the words of the lines that differ.

Time stays near linear: a long stretch that shares no line is told as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.sequence_diff import align

SAME, REMOVED, ADDED = "same", "removed", "added"

_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_SPLIT: Final = 200_000
"""Characters of a stretch without a common line up to which it is compared by words."""


class DiffSpan(NamedTuple):
    """A stretch of text: in both (`SAME`), only before (`REMOVED`) or only after (`ADDED`)."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[DiffSpan]:
    """The pieces that turn `before` into `after`, in order; where both change, what was removed stands first.

    The texts of all but the added pieces make up `before`, those of all but the removed ones `after`.
    """
    if before == after:
        return [DiffSpan(SAME, before)] if before else []
    found: list[DiffSpan] = []
    for one, other in _stretches(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        old, new = "".join(one), "".join(other)
        if old == new:
            found.append(DiffSpan(SAME, old))
        elif not old or not new or max(len(old), len(new)) > _SPLIT:
            found += [DiffSpan(REMOVED, old), DiffSpan(ADDED, new)]
        else:
            for some, others in _stretches(_WORDS.findall(old), _WORDS.findall(new)):
                found += _pieces("".join(some), "".join(others))
    return _joined(found)


def _pieces(old: str, new: str) -> list[DiffSpan]:
    return [DiffSpan(SAME, old)] if old == new else [DiffSpan(REMOVED, old), DiffSpan(ADDED, new)]


class _Change(NamedTuple):
    """What was removed and added between two stretches that are in both; then the second of these."""

    gone: str
    come: str
    same: str

    @property
    def size(self) -> int:
        return max(len(self.gone), len(self.come))


def _joined(pieces: Iterable[DiffSpan]) -> list[DiffSpan]:
    """Neighbours of one kind as one piece, nothing empty. What is in both but short beside the changes around it is
    part of them: a few common words do not make two sentences one."""
    stack = [_Change("", "", "")]
    for kind, text in pieces:
        last = stack[-1]
        if kind == SAME:
            stack[-1] = last._replace(same=last.same + text)
            continue
        gone, come = (text, "") if kind == REMOVED else ("", text)
        if last.same:
            stack.append(_Change(gone, come, ""))
        else:
            stack[-1] = _Change(last.gone + gone, last.come + come, "")
        while len(stack) > 1 and _within(stack[-2], stack[-1]):
            after = stack.pop()
            one = stack[-1]
            stack[-1] = _Change(one.gone + one.same + after.gone, one.come + one.same + after.come, after.same)
    every = (DiffSpan(kind, text) for one in stack for kind, text in zip((REMOVED, ADDED, SAME), one, strict=True))
    return [piece for piece in every if piece.text]


def _within(one: _Change, after: _Change) -> bool:
    """Whether what stands between two changes is rather a part of them."""
    return "\n" not in one.same and 0 < len(one.same) <= min(one.size, after.size)


Stretch = tuple[Sequence[str], Sequence[str]]
"""A part of each side; the two are equal, or they share nothing that was found."""


def _stretches(a: Sequence[str], b: Sequence[str]) -> Iterator[Stretch]:
    for (start, end), (first, last) in align(a, b):
        yield a[start:end], b[first:last]
