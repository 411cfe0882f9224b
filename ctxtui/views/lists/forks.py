"""The tree of forks: sessions that continue others' calls, and rewound branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


class ForkRow(Struct, frozen=True, kw_only=True):
    """A session, or a branch of the thread shown, in the tree of forks.

    - `depth`: levels below the root; `is_last`: no sibling follows it.
    - `after`: the call it continues from (from 1; 0: none). `calls`: its calls as text (``3–9``), or their number.
    - `age`: in seconds.
    - `target`, `call`: Enter opens the target (a path or a stored id), or goes to the call (from 1; 0: none).
    """

    depth: int
    is_last: bool
    name: str
    after: int = 0
    calls: str = ""
    age: float | None = None
    is_open: bool = False
    target: str = ""
    call: int = 0


def _name(row: ForkRow, room: int) -> list[Span]:
    branch = "  " * max(0, row.depth - 1) + ("└ " if row.is_last else "├ ") if row.depth else ""
    mark = Span("● ", "ok") if row.is_open else Span("○ " if row.target else "⑂ ", "dim")
    style = "ink bold" if row.is_open else "ink" if row.target or row.call else "dim"
    return [Span(branch, "faint"), mark, Span(safe_text.one_line(row.name, 400) or numbers.NONE, style)]


def _from(row: ForkRow, room: int) -> Span:
    return Span(f"call {row.after:,}" if row.after else "", "accent" if row.after else "faint")


TABLE: Final[Table[ForkRow]] = Table(
    (
        Column("session or branch", 0, _name, "left", least=6),
        Column("continues from", 15, _from),
        Column("calls", 13, lambda row, _: Span(row.calls, "dim")),
        Column("age", 6, lambda row, _: Span("" if row.age is None else numbers.ago(row.age), "faint")),
    ),
    mark=2,
)


def notes(rows: Sequence[ForkRow]) -> list[Span]:
    forks = sum(bool(row.depth) for row in rows)
    return [Span(numbers.many(forks, "fork"), "dim")] if forks else []
