"""Which columns the rows of Home have by the width of the screen, and their heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, merged

NARROW: Final = 60
"""Screen columns from which rows name the model and count calls."""
MEDIUM: Final = 100
"""Screen columns from which rows name their source and have a bar."""
ROOMY: Final = 114
"""Screen columns from which rows have a total."""
WIDE: Final = 160
"""Screen columns from which rows tell where they ran, their turns and their misses."""
LEAD: Final = 2
"""The cursor's mark and a blank."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head (also the name of the sort that it stands for), its cells, at which side it is aligned."""

    head: str
    room: int
    align: str = "right"


SOURCE: Final = Column("source", 11, "left")
MODEL: Final = Column("model", 14, "left")
BAR: Final = Column("", 6, "left")
_ALWAYS: Final = (Column("cost", 8), Column("read", 5), Column("age", 4))
_TINY: Final = (Column("peak", 6), Column("cost", 8), Column("age", 4))
_NARROW: Final = (Column("model", 11, "left"), Column("calls", 5), Column("peak", 6), *_ALWAYS)
_MEDIUM: Final = (SOURCE, MODEL, Column("calls", 5), Column("peak", 7), BAR, *_ALWAYS)
_ROOMY: Final = (*_MEDIUM[:5], Column("total", 7), *_ALWAYS)
_WIDE: Final = (
    SOURCE, Column("model", 18, "left"), Column("where", 30, "left"), Column("turns", 5), Column("calls", 6),
    Column("peak", 7), BAR, Column("total", 8), Column("misses", 6), *_ALWAYS,
)  # fmt: skip


def columns(width: int) -> tuple[Column, ...]:
    """The columns at `width` cells; the first is the title, which takes what is left."""
    steps = ((WIDE, _WIDE), (ROOMY, _ROOMY), (MEDIUM, _MEDIUM), (NARROW, _NARROW), (0, _TINY))
    rest = next(columns for least, columns in steps if width >= least)
    fixed = sum(column.room + gap(column) for column in rest)
    return (Column("title", max(4, width - LEAD - fixed - 1), "left"), *rest)


def gap(column: Column) -> int:
    """Blanks before a column."""
    return 2 if column is BAR or column.head in ("turns", "total") else 1


def heads(width: int, sort: str) -> list[Span]:
    """The line of column heads; the one that is sorted by is not faint."""
    spans = [Span(" " * LEAD)]
    for number, column in enumerate(columns(width)):
        spans.append(Span(" " * (gap(column) if number else 0)))
        spans.append(aligned(Span(column.head, "ink" if column.head == sort else "faint"), column))
    return merged(spans)


def head_at(width: int, x: int) -> str:
    """The head that stands at cell `x` of a line of `width` cells, "" where there is none."""
    at = LEAD
    for number, column in enumerate(columns(width)):
        at += gap(column) if number else 0
        if at <= x < at + column.room:
            return column.head
        at += column.room
    return ""


def aligned(span: Span, column: Column) -> Span:
    """`span` in its column."""
    text, style = span
    fitted = cells.right(text, column.room) if column.align == "right" else cells.left(text, column.room)
    return Span(fitted, style)
