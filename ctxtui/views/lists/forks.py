"""The tree of forks: sessions that went on from calls of others, and lines of a thread that went back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.grid import fitted
from ctxtui.views.text.span import Span

_FROM: Final = 15
_CALLS: Final = 13
_WHEN: Final = 6


@dataclass(frozen=True, slots=True)
class ForkRow:
    """A session, or a line of the thread shown: `depth` below the root of the tree, `last` of those beside it. `words`
    name it, `after` is the call (from 1) that it went on from (0: from none), `calls` says which calls or how many,
    `age` is in seconds (None: unknown). `here` marks the session that is open. Enter opens `target` (a path or a stored
    id), else goes to `call` (from 1; 0: nowhere)."""

    depth: int
    last: bool
    words: str
    after: int = 0
    calls: str = ""
    age: float | None = None
    here: bool = False
    target: str = ""
    call: int = 0


def heads(room: int) -> list[Span]:
    """The heads of the columns."""
    name = max(8, room - _FROM - _CALLS - _WHEN - 1)
    right = [cells.right("goes on from", _FROM), cells.right("calls", _CALLS), cells.right("age", _WHEN)]
    return [Span(cells.left("  session or branch", name) + "".join(right), "dim")]


def draw(row: ForkRow, room: int, *, here: bool) -> list[Span]:
    """A row of the tree in `room` cells; `here`: the cursor stands on it."""
    name = max(8, room - _FROM - _CALLS - _WHEN - 1)
    branch = "  " * max(0, row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
    mark = Span("● ", "ok") if row.here else Span("○ " if row.target else "⑂ ", "dim")
    style = "ink bold" if row.here else "ink" if row.target or row.call else "dim"
    lead = [Span("▸ " if here else "  ", "accent"), Span(branch, "faint"), mark]
    after = f"call {row.after:,}" if row.after else ""
    return [
        *fitted([*lead, Span(safe_text.one_line(row.words, 400) or numbers.NONE, style)], name),
        Span(cells.right(after, _FROM), "accent" if row.after else "faint"),
        Span(cells.right(row.calls, _CALLS), "dim"),
        Span(cells.right("" if row.age is None else numbers.ago(row.age), _WHEN), "faint"),
        Span(" "),
    ]


def notes(rows: list[ForkRow]) -> list[Span]:
    """How many there are, for the rule."""
    forks = sum(bool(row.depth) for row in rows)
    return [Span(f"{forks:,} fork{'' if forks == 1 else 's'}", "dim")] if forks else []
