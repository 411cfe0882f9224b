"""A word diff as lines: removed words struck, added words bold, unchanged lines folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.content.word_diff import ADDED, REMOVED, SAME, DiffSpan
from ctxtui.views.blocks.body import wrap
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans

STYLE: Final = {SAME: "dim", REMOVED: "del strike on-del-bg", ADDED: "add bold on-add-bg"}
BRACKETS: Final = {SAME: ("", ""), REMOVED: ("[-", "-]"), ADDED: ("{+", "+}")}
CONTEXT_LINES: Final = 2
LINE_NUMBER_CELLS: Final = 5
MAX_STRETCH_CHARS: Final = 2000
"""Longest stretch within one line; the middle of a longer one is left out."""


class WordDiffLine(NamedTuple):
    """A line of the diff; `number` is its number in the new text (None: removed, or continued)."""

    number: int | None
    spans: tuple[Span, ...]
    changed: bool


def lines(pieces: Iterable[DiffSpan], *, spelled: bool = False) -> Iterator[WordDiffLine]:
    """Yield the lines of a word diff, safe to draw.

    `spelled`: changes are marked as ``[-removed-]`` and ``{+added+}`` like in wdiff, for output without colour.
    """
    number, last_number, added = 1, 0, False
    pending: list[Span] = []
    changed = False
    for kind, text in pieces:
        changed = changed or kind != SAME
        parts = text.split("\n")
        for at, part in enumerate(parts):
            if at:
                own = (kind != REMOVED or added) and number != last_number
                yield WordDiffLine(number if own else None, tuple(pending), changed)
                last_number = number if own else last_number
                number += kind != REMOVED
                pending, changed, added = [], kind != SAME and (at < len(parts) - 1 or bool(part)), False
            if part:
                before, after = BRACKETS[kind] if spelled else ("", "")
                pending += safe_text.spans(before + _shortened(safe_text.line(part)) + after, STYLE[kind])
                added = added or kind != REMOVED
            elif kind != SAME and at < len(parts) - 1:
                # Show the line end of an added or removed empty line.
                pending.append(Span("↵", STYLE[kind]))
    if pending:
        yield WordDiffLine(number if added and number != last_number else None, tuple(pending), changed)


def _shortened(text: str) -> str:
    half = MAX_STRETCH_CHARS // 2
    return text if len(text) <= MAX_STRETCH_CHARS else f"{text[:half]} … {text[-half:]}"


def fold(lines_of_diff: Iterable[WordDiffLine], near: int = CONTEXT_LINES) -> Iterator[WordDiffLine | int]:
    """Yield the lines near a change, and a count in place of each longer unchanged run."""
    before: list[WordDiffLine] = []
    hidden, after = 0, 0
    for line in lines_of_diff:
        if line.changed:
            if hidden:
                yield hidden
            yield from before
            yield line
            before, hidden, after = [], 0, near
        elif after:
            after -= 1
            yield line
        else:
            before.append(line)
            if len(before) > near:
                before.pop(0)
                hidden += 1
    if hidden + len(before):
        yield hidden + len(before)


def render(pieces: Iterable[DiffSpan], room: int, *, whole: bool = False, spelled: bool = False) -> Iterator[Spans]:
    """Yield a word diff in lines of at most `room` cells, numbered as in the new text.

    With `whole`, nothing is folded.
    """
    text = lines(pieces, spelled=spelled)
    for line in text if whole else fold(text):
        if isinstance(line, int):
            note = f"{numbers.many(line, 'line')} unchanged"
            yield [Span(cells.right("⋮", LINE_NUMBER_CELLS) + "  ", "faint"), Span(note, "faint")]
            continue
        number = str(line.number) if line.number is not None else ""
        for at, part in enumerate(wrap(line.spans, max(8, room - LINE_NUMBER_CELLS - 2))):
            yield [Span(cells.right("" if at else number, LINE_NUMBER_CELLS) + "  ", "faint"), *part]


def count_words(pieces: Sequence[DiffSpan]) -> tuple[int, int]:
    """Numbers of words removed and added."""
    removed, inserted = (sum(len(p.text.split()) for p in pieces if p.kind == kind) for kind in (REMOVED, ADDED))
    return removed, inserted
