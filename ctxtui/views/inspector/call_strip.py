"""The strip of a thread's calls: columns in view, marks and scale."""

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
"""Cells of the axis labels at the left of a strip with several lines."""
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
"""Mark of each kind of event; others have none."""


class Columns:
    """One column per call of a thread; only new or replaced calls are computed again."""

    def __init__(self) -> None:
        self._calls: Sequence[Call] = ()
        self._events: Sequence[CallEvent] = ()
        self.columns: list[StripColumn] = []
        self.top = 0.0
        self._highest = 0.0

    def update(
        self, calls: Sequence[Call], events: Sequence[CallEvent], missed: Mapping[int, CacheMiss]
    ) -> list[StripColumn]:
        """Return the columns of `calls`; `missed` maps call numbers to misses."""
        if calls is not self._calls:
            unchanged = min(len(calls), len(self._calls), len(self.columns))
            while unchanged and calls[unchanged - 1] is not self._calls[unchanged - 1]:
                unchanged -= 1
            only_appended, new_columns = (
                unchanged == len(self.columns),
                [_column(call, ()) for call in calls[unchanged:]],
            )
            del self.columns[unchanged:]
            self.columns += new_columns
            self._rescale(new_columns if only_appended else self.columns, self._highest if only_appended else 0.0)
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
        self._rescale(self.columns)

    def _rescale(self, columns: Sequence[StripColumn], highest: float = 0.0) -> None:
        """Set the scale to the highest of `columns` and `highest`."""
        self._highest = max([highest, *(column.total for column in columns)])
        self.top = scale.ceiling(self._highest)

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


def window(before: Window | None, count: int, cursor: int, room: int) -> Window:
    """The calls in view: all if they fit, with two cells per column if there is room.

    An existing window moves by one column if the cursor leaves it by one; if `cursor` is farther away, it is centred.
    """
    fresh = strip_columns.window(count, count - 1, room)
    if fresh.first == 0 and fresh.last == count - 1:
        return fresh
    size = min(room, count)
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


def lines(strip: CallStrip, room: int, height: int, *, marked: bool, colour: bool = True) -> list[Spans]:
    """The body: `height` lines of columns, with the axis, then the line of marks if `marked`."""
    axis = strip_columns.axis(height, strip.top, AXIS) if height > 1 else [[]]
    lead = [Span(" ")]
    columns = [
        column if column.is_shown == (number == strip.here) else replace(column, is_shown=number == strip.here)
        for number, column in enumerate(strip.columns)
    ]
    rows = strip_columns.rows(columns, height, strip.top, per=strip.per, colour=colour)
    used, free = len(columns) * strip.per, room - 2 - (AXIS + 1 if height > 1 else 0)
    ahead = strip_columns.limit_rows(max(0, free - used), height, strip.top, strip.usable)
    out: list[Spans] = [[*lead, *axis[y], *rows[y], *ahead[y]] for y in range(height)]
    if marked:
        pad = Span(" " * (1 + (AXIS + 1 if height > 1 else 0)))
        out.append([pad, *strip_columns.marks(strip.columns, strip.here, per=strip.per)])
    return out


def room_for(width: int, height: int) -> int:
    """Number of cells for columns in a strip of `width` x `height` cells."""
    return max(1, width - 2 - (AXIS + 2 if height > 1 else 0))


def legend(misses: int, compactions: int, errors: int, room: int, loops: int = 0) -> list[Span]:
    """Meaning of colours and marks with counts, for the rule; short on narrow screens."""
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
