"""A word diff as lines: removed words struck, added ones bold, each on its ground, what did not change folded away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.content.word_diff import ADDED, REMOVED, SAME, DiffSpan
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans

STYLE: Final = {SAME: "dim", REMOVED: "del strike on-del-bg", ADDED: "add bold on-add-bg"}
_AROUND: Final = {SAME: ("", ""), REMOVED: ("[-", "-]"), ADDED: ("{+", "+}")}
NEAR: Final = 2
"""Lines around a change that are shown."""
_NUMBER: Final = 5
"""Cells of the line numbers."""
_LONGEST: Final = 2000
"""Characters of an unchanged or changed stretch within one line that are drawn; its ends tell enough."""


class WordDiffLine(NamedTuple):
    """A line of both texts: its `number` in the new one (None where it is gone), what it says, whether it changed."""

    number: int | None
    spans: tuple[Span, ...]
    changed: bool


def lines(pieces: Iterable[DiffSpan], *, spelled: bool = False) -> Iterator[WordDiffLine]:
    """The lines of a word diff, safe to draw; where `spelled`, changes stand in ``[-removed-]`` and ``{+added+}``, as
    wdiff writes them, for output without colour."""
    number, told, added = 1, 0, False
    held: list[Span] = []
    changed = False
    for kind, text in pieces:
        changed = changed or kind != SAME
        parts = text.split("\n")
        for at, part in enumerate(parts):
            if at:
                own = (kind != REMOVED or added) and number != told
                yield WordDiffLine(number if own else None, tuple(held), changed)
                told = number if own else told
                number += kind != REMOVED
                held, changed, added = [], kind != SAME and (at < len(parts) - 1 or bool(part)), False
            if part:
                before, after = _AROUND[kind] if spelled else ("", "")
                held += safe_text.spans(before + _shortened(safe_text.line(part)) + after, STYLE[kind])
                added = added or kind != REMOVED
            elif kind != SAME and at < len(parts) - 1:
                # An empty line that came or went is a line end that can be seen.
                held.append(Span("↵", STYLE[kind]))
    if held:
        yield WordDiffLine(number if added and number != told else None, tuple(held), changed)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def folded(every: Iterable[WordDiffLine], near: int = NEAR) -> Iterator[WordDiffLine | int]:
    """`every` line near a change; in place of longer runs of others how many they are."""
    before: list[WordDiffLine] = []
    hidden, after = 0, 0
    for line in every:
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


def drawn(pieces: Iterable[DiffSpan], room: int, *, whole: bool = False, spelled: bool = False) -> Iterator[Spans]:
    """A word diff in lines of at most `room` cells, numbered as in the new text; all lines where `whole`."""
    text = lines(pieces, spelled=spelled)
    for line in text if whole else folded(text):
        if isinstance(line, int):
            told = f"{line:,} line{'s' if line != 1 else ''} unchanged"
            yield [Span(cells.right("⋮", _NUMBER) + "  ", "faint"), Span(told, "faint")]
            continue
        number = str(line.number) if line.number is not None else ""
        for at, part in enumerate(wrapped(line.spans, max(8, room - _NUMBER - 2))):
            yield [Span(cells.right("" if at else number, _NUMBER) + "  ", "faint"), *part]


def counted(pieces: Sequence[DiffSpan]) -> tuple[int, int]:
    """How many words were removed, and how many added."""
    gone, come = (sum(len(p.text.split()) for p in pieces if p.kind == kind) for kind in (REMOVED, ADDED))
    return gone, come
