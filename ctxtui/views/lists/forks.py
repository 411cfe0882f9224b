"""The tree of forks: sessions that went on from calls of others, and lines of a thread that went back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


class ForkRow(Struct, frozen=True, kw_only=True):
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


def _name(row: ForkRow, room: int) -> list[Span]:
    branch = "  " * max(0, row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
    mark = Span("● ", "ok") if row.here else Span("○ " if row.target else "⑂ ", "dim")
    style = "ink bold" if row.here else "ink" if row.target or row.call else "dim"
    return [Span(branch, "faint"), mark, Span(safe_text.one_line(row.words, 400) or numbers.NONE, style)]


def _from(row: ForkRow, room: int) -> Span:
    return Span(f"call {row.after:,}" if row.after else "", "accent" if row.after else "faint")


TABLE: Final[Table[ForkRow]] = Table(
    (
        Column("session or branch", 0, _name, "left", least=6),
        Column("goes on from", 15, _from),
        Column("calls", 13, lambda row, _: Span(row.calls, "dim")),
        Column("age", 6, lambda row, _: Span("" if row.age is None else numbers.ago(row.age), "faint")),
    ),
    mark=2,
)
"""The tree; its rows stand in their order."""


def notes(rows: Sequence[ForkRow]) -> list[Span]:
    """How many there are, for the rule."""
    forks = sum(bool(row.depth) for row in rows)
    return [Span(f"{forks:,} fork{'' if forks == 1 else 's'}", "dim")] if forks else []
