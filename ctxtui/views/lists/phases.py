"""The table of phases: how the context grows in each, what was sent, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.analysis.growth.phases import Phase, typical
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.span import Span, width

_COLUMNS: Final = (
    ("calls", 11), ("growth", 9), ("per call", 9), ("end", 8), ("peak", 8), ("sent", 9), ("answered", 9), ("cost", 9),
)  # fmt: skip
_NARROW: Final = frozenset({"calls", "growth", "peak", "sent", "cost"})
_WIDE: Final = 110
_BAR: Final = 8


def heads(room: int) -> list[Span]:
    """The heads of the columns."""
    shown = _shown(room)
    taken = sum(wide for _, wide in shown) + _BAR + 2
    return [Span(cells.left("   phase", max(4, room - taken)), "dim"), *(Span(f"{n:>{w}}", "dim") for n, w in shown)]


def _shown(room: int) -> list[tuple[str, int]]:
    return [column for column in _COLUMNS if room >= _WIDE or column[0] in _NARROW]


def draw(row: Phase, most: int, room: int, *, here: bool, shown: bool) -> list[Span]:
    """A row in `room` cells; `most` is the largest growth, `shown` marks the phase of the call that the screen behind
    shows."""
    figures = {
        "calls": f"{row.first:,}–{row.last:,}" if row.calls > 1 else f"{row.first:,}",
        "growth": numbers.signed(row.growth),
        "per call": numbers.signed(round(row.growth / row.calls)),
        "end": numbers.tokens(row.end),
        "peak": numbers.tokens(row.peak),
        "sent": numbers.tokens(row.sent),
        "answered": numbers.tokens(row.answered),
        "cost": numbers.money(row.usd) if row.priced else numbers.NONE,
    }
    columns = [Span(f"{figures[name]:>{wide}}", "ink" if name in ("growth", "cost") else "dim")
               for name, wide in _shown(room)]  # fmt: skip
    bar = Span(" " + bars.line(max(0, row.growth), most, _BAR).ljust(_BAR) + " ", "accent" if row.own else "write")
    name = safe_text.one_line(row.name, 200) or "before the first"
    mark = Span("● " if shown else "○ ", "ok" if shown else "dim")
    lead = [Span("▸" if here else " ", "accent"), mark]
    style = "accent bold" if row.own else "ink" if row.name else "dim"
    room_left = max(4, room - width(lead) - width(columns) - width([bar]))
    return [*lead, Span(cells.left(name, room_left), style), *columns, bar]


def summary(rows: Sequence[Phase]) -> list[Span]:
    """What a phase typically adds, for the rule."""
    if len(rows) < 2:
        return []
    grown, each = typical(rows)
    return [
        Span(f"{numbers.typical(grown)} a phase", "ink"),
        Span(f", {numbers.typical(each)} a call", "dim"),
        Span(f"; {numbers.tokens(sum(row.sent for row in rows))} sent in all", "dim"),
    ]
