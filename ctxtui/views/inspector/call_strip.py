"""The strip of a thread's calls: a column of input tokens for each, marks, and the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.miss import TTL, CacheMiss
from ctxtui.analysis.session_events import CallEvent
from ctxtui.core.call import Call
from ctxtui.views.inspector import strip_columns
from ctxtui.views.inspector.strip_columns import StripColumn, Window
from ctxtui.views.text import scale
from ctxtui.views.text.signs import GUTTER, MARK
from ctxtui.views.text.span import Span, Spans

AXIS: Final = 4
"""Cells of the figures at the axis."""
_MARK_OF: Final = {
    "miss": "miss",
    "compaction": "compaction",
    "microcompaction": "compaction",
    "model": "model",
    "client": "model",
    "loop": "loop",
    "error": "error",
    "turn": "turn",
}


class Columns:
    """One column per call of a thread.

    A growing thread replaces only calls near its end, so all before the last unchanged one are kept.
    """

    def __init__(self) -> None:
        self._calls: Sequence[Call] = ()
        self._events: Sequence[CallEvent] = ()
        self.columns: list[StripColumn] = []
        self.top = 0.0

    def update(
        self, calls: Sequence[Call], events: Sequence[CallEvent], missed: Mapping[int, CacheMiss]
    ) -> list[StripColumn]:
        """The columns of `calls`, with marks for `events`; `missed` are the misses by call number."""
        if calls is not self._calls:
            unchanged = min(len(calls), len(self._calls), len(self.columns))
            while unchanged and calls[unchanged - 1] is not self._calls[unchanged - 1]:
                unchanged -= 1
            self.columns[unchanged:] = [_column(call, ()) for call in calls[unchanged:]]
            self._rescale()
            self._calls = calls
        if events is not self._events:
            self._mark(events, missed)
            self._events = events
        return self.columns

    def set_counted_sizes(self, sizes: Sequence[int | None]) -> None:
        """Set the counted size of calls without a report (None: not counted yet)."""
        for number, (call, size) in enumerate(zip(self._calls, sizes, strict=False)):
            if call.usage is None and size and self.columns[number].total != size:
                self.columns[number] = _column(call, self.columns[number].marks, size)
        self._rescale()

    def _rescale(self) -> None:
        self.top = scale.ceiling(max((column.total for column in self.columns), default=0.0))

    def _mark(self, events: Sequence[CallEvent], missed: Mapping[int, CacheMiss]) -> None:
        marks: dict[int, tuple[str, ...]] = {}
        for event in events:
            name = _MARK_OF.get(event.kind)
            if name == "miss" and event.number in missed and missed[event.number].cause == TTL:
                name = "ttl miss"
            if name:
                marks[event.number] = (*marks.get(event.number, ()), name)
        for number, column in enumerate(self.columns, 1):
            if column.marks != marks.get(number, ()):
                self.columns[number - 1] = replace(column, marks=marks.get(number, ()))


def _column(call: Call, marks: tuple[str, ...], counted: int | None = None) -> StripColumn:
    usage = call.usage
    if usage is None:
        return StripColumn(counted or 0, marks=marks)
    if not usage.has_cache:
        # The report has no cache figures, so all input has the plain colour.
        return StripColumn(usage.input, marks=marks)
    return StripColumn(usage.cache_read, usage.cache_write, usage.fresh, marks=marks)


def window(before: Window | None, count: int, cursor: int, width: int) -> Window:
    """The calls in view: all if they fit.

    An existing window moves by one column if the cursor leaves it by one; if `cursor` is farther away, it is centred.
    """
    whole = strip_columns.window(count, count - 1, width)
    if whole.first == 0 and whole.last == count - 1:
        return whole
    size = min(width, count)
    first = before.first if before and before.per == 1 and before.last - before.first + 1 == size else count - size
    if cursor in (first - 1, first + size):
        first += 1 if cursor > first else -1
    elif not first <= cursor < first + size:
        first = cursor - size // 2
    first = min(max(0, first), count - size)
    return Window(first, first + size - 1, 1)


class CallStrip(Struct, frozen=True):
    """Data of the strip.

    - `columns`: the columns in view, each `per` cells wide; `here`: index of the call shown in them.
    - `top`: upper end of the scale; `usable`: the limit to draw (0: unknown). Both in tokens.
    """

    columns: tuple[StripColumn, ...]
    per: int
    here: int
    top: float
    usable: float


def lines(strip: CallStrip, width: int, height: int, *, marked: bool, colour: bool = True) -> list[Spans]:
    """The strip in `height` lines, with a line of marks below it if `marked`."""
    axis = strip_columns.axis(height, strip.top, AXIS) if height > 1 else [[]]
    axis_width = AXIS + 1 if height > 1 else 0
    columns = [
        column if column.is_shown == (number == strip.here) else replace(column, is_shown=number == strip.here)
        for number, column in enumerate(strip.columns)
    ]
    rows = strip_columns.rows(columns, height, strip.top, per=strip.per, colour=colour)
    free = max(0, width - 2 - axis_width - len(columns) * strip.per)
    ahead = strip_columns.limit_rows(free, height, strip.top, strip.usable)
    out: list[Spans] = [[Span(" "), *axis[y], *rows[y], *ahead[y]] for y in range(height)]
    if marked:
        out.append([Span(" " * (1 + axis_width)), *strip_columns.marks(strip.columns, strip.here, per=strip.per)])
    return out


def room_for(width: int, height: int) -> int:
    return max(1, width - 2 - (AXIS + 2 if height > 1 else 0))


def legend(misses: int, compactions: int, errors: int, room: int, loops: int = 0) -> list[Span]:
    """Legend for the pane's border: marks with counts; colours too from 100 cells on."""
    event_counts = [
        [MARK["miss"].span, Span(f" miss {misses}", "dim")] if misses else [],
        [MARK["compaction"].span, Span(f" compaction {compactions}", "dim")] if compactions else [],
        [MARK["error"].span, Span(f" error {errors}", "dim")] if errors else [],
        [MARK["loop"].span, Span(f" loop {loops}", "dim")] if loops else [],
    ]
    parts = [part for part in event_counts if part]
    if room >= 100:
        states = [[GUTTER[name].span, Span(f" {name}", "dim")] for name in ("read", "write", "fresh")]
        parts = [*states, *parts, [MARK["turn"].span, Span(" turn", "dim")]]
    out: list[Span] = []
    for part in parts:
        out += [Span("  "), *part] if out else part
    return out
