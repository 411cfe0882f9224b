"""The threads of a session: the main line of context and the agents it started."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.core.session import Session, Thread
from ctxtui.lab.family import Kin, ordered
from ctxtui.views import cells, numbers, safe_text
from ctxtui.views.span import Span


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread: `depth` below the main one, the calls it made, the tokens of its last call (None: no report)."""

    id: str
    label: str
    depth: int
    last: bool
    calls: int
    tokens: int | None


def thread_rows(session: Session) -> list[ThreadRow]:
    """The threads as a tree (see `lab.family.ordered`)."""
    return [_row(session, thread, depth, last) for thread, depth, last in ordered(session)]


def _row(session: Session, thread: Thread, depth: int, last: bool) -> ThreadRow:
    order = session.order.get(thread.id, [])
    usage = next((u for i in reversed(order) if (u := session.calls[i].usage)), None)
    label = safe_text.one_line(thread.label, 200) or (thread.id if depth else "main")
    return ThreadRow(thread.id, label, depth, last, len(order), usage.input if usage else None)


def draw(row: ThreadRow, room: int, *, shown: bool, here: bool) -> list[Span]:
    """A row of the pane; `shown` marks the thread whose calls the screen shows."""
    lead = Span("●" if shown else "○", "ok" if shown else "dim")
    if row.depth:
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ")
        lead = Span("●" if shown else branch[-2], "ok" if shown else "hair")
        indent = Span(branch[:-2])
    else:
        indent = Span("")
    name = cells.left(row.label, max(1, room - 4 - len(indent.text) - 8))
    tokens = numbers.NONE if row.tokens is None else numbers.tokens(row.tokens)
    return [
        Span("▸" if here else " ", "accent"),
        indent,
        lead,
        Span(" "),
        Span(name, "ink" if shown else "dim"),
        Span(f"{tokens:>8} ", "ink" if shown else "dim"),
    ]


_COLUMNS = (("calls", 6), ("from call", 11), ("context", 9), ("peak", 8), ("sent in all", 12), ("cost", 10))
"""Heads and widths of the figures in the list of threads, all of which a wide screen shows."""
_NARROW = frozenset({"calls", "context", "peak", "cost"})
_WIDE = 100


def heads(room: int) -> list[Span]:
    """The heads of the list's columns."""
    shown = _shown(room)
    taken = sum(wide for _, wide in shown) + 1
    return [Span(cells.left("     thread", max(4, room - taken)), "dim"), *(Span(f"{n:>{w}}", "dim") for n, w in shown)]


def _shown(room: int) -> list[tuple[str, int]]:
    return [column for column in _COLUMNS if room >= _WIDE or column[0] in _NARROW]


def draw_kin(row: Kin, room: int, *, shown: bool, here: bool) -> list[Span]:
    """A row of the list of threads; `shown` marks the thread that the screen behind shows."""
    branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
    lead = [Span("▸" if here else " ", "accent"), Span(branch, "hair"), _dot(shown), Span(" ")]
    figures = {
        "calls": f"{row.calls:,}",
        "from call": f"{row.since:,}" if row.since else numbers.NOT_APPLICABLE if not row.depth else numbers.NOT_YET,
        "context": _tokens(row.tokens),
        "peak": _tokens(row.peak),
        "sent in all": _tokens(row.sent),
        "cost": numbers.money(row.usd) if row.priced else numbers.NONE,
    }
    columns = [Span(f"{figures[name]:>{wide}}", _style(name, row)) for name, wide in _shown(room)]
    told = safe_text.one_line(row.label, 200) or (row.id if row.depth else "main")
    folds = f"  Σ {row.folds}" if row.folds else ""
    taken = sum(cells.width(span.text) for span in (*lead, *columns)) + 1 + len(folds)
    name = cells.fit(told, max(4, room - taken))
    gap = " " * max(0, room - taken - cells.width(name))
    return [*lead, Span(name, "ink bold" if shown else "ink"), Span(folds, "cat-summary"), Span(gap), *columns]


def _dot(shown: bool) -> Span:
    return Span("●", "ok") if shown else Span("○", "dim")


def _tokens(count: int | None) -> str:
    return numbers.NONE if count is None else numbers.tokens(count)


def _style(name: str, row: Kin) -> str:
    if name == "cost":
        return "ink bold" if (row.usd or 0) >= 1 else "ink" if row.usd is not None else "dim"
    return "ink" if name == "peak" else "dim"
