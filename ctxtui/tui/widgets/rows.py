"""Rows: a list of any length through the Line API; only rows in view are rendered, and each of them once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.board import Board
from ctxtui.views.text.span import Span, Spans


class Viewport:
    """The place of a view of `room` lines in rows of these `heights`. Rows and lines count from 0."""

    def __init__(self) -> None:
        self.heights = Heights(0)
        self.room = 0
        """Lines of the view now."""
        self.top = 0
        """The line at the top of the view."""
        self._fitted = 0
        """Lines of the view when its place was last fitted to them."""

    @property
    def last_top(self) -> int:
        """The top of the view at the end of the rows."""
        return max(0, self.heights.total - self.room)

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view, or was before the view got its present height."""
        return self.top >= max(0, self.heights.total - (self._fitted or self.room))

    @property
    def first_row(self) -> int:
        """The row at the top."""
        return self.heights.row_at(self.top)[0]

    @property
    def rows(self) -> Sequence[int]:
        """The rows of which a line is in view."""
        last = min(self.top + self.room, self.heights.total) - 1
        found = range(self.first_row, self.heights.row_at(last)[0] + 1) if last >= self.top else ()
        return [row for row in found if self.heights.height(row)]

    def follows(self, row: int) -> bool:
        """Whether who stands on `row` looks at the end of the last one: what comes there is gone along with."""
        return 0 < self.heights.count <= row + 1 and self.at_end

    def line_in_view(self, row: int) -> int:
        """The line of the view on which `row` begins; below 0 above it."""
        return self.heights.line_of(row) - self.top

    def beyond(self, row: int, step: int) -> int:
        """How many lines of `row` are out of view below it (`step` > 0), or above it."""
        first = self.line_in_view(row)
        return first + self.heights.height(row) - self.room if step > 0 else -first

    def top_showing(self, row: int, *, downwards: bool = True) -> int:
        """The top that brings `row` into view with the least movement. A row that is taller than the view shows its
        beginning, or its end when one comes from below."""
        first, height, top = self.heights.line_of(row), self.heights.height(row), self.top
        if height >= self.room:
            if first > top or first + height < top + self.room:
                return first if downwards else first + height - self.room
            return top
        return min(first, max(top, first + height - self.room))

    def scroll_to(self, top: int) -> bool:
        """Bring line `top` to the top, as far as the rows reach; whether the view moved."""
        top, before = min(max(0, top), self.last_top), self.top
        self.top = top
        return top != before

    def put(self, row: int, line: int) -> None:
        """Let `row` begin on `line` of the view, as far as the rows reach."""
        self.scroll_to(self.heights.line_of(row) - line)

    def to_end(self) -> None:
        """Bring the last line to the bottom."""
        self.top = self.last_top

    def measured(self, heights: Heights) -> None:
        """The rows have other heights, or are others; the row at the top stays there."""
        row, inside = self.heights.row_at(self.top)
        self.heights = heights
        row = min(row, max(0, heights.count - 1))
        self.scroll_to(heights.line_of(row) + min(inside, max(0, heights.height(row) - 1)))

    def fitted(self) -> None:
        """The view's place was found for the height that it has now."""
        self._fitted = self.room


class Heights:
    """The lines of `count` rows, each one line high but for those that were given another height (0 hides).

    Rows and lines count from 0. Finding is O(log n) in the rows of another height, a change O(n) in them, whatever
    `count` is.
    """

    def __init__(self, count: int, other: Mapping[int, int] | None = None) -> None:
        self.count = count
        self._rows = sorted(row for row in other or {} if row < count)
        self._heights = [max(0, other[row]) for row in self._rows] if other else []
        self._before: list[int] | None = None

    def set(self, row: int, height: int) -> None:
        """Give `row` another height in lines."""
        at = bisect_left(self._rows, row)
        known = at < len(self._rows) and self._rows[at] == row
        if known:
            del self._rows[at], self._heights[at]
        if height != 1:
            self._rows.insert(at, row)
            self._heights.insert(at, max(0, height))
        self._before = None

    def height(self, row: int) -> int:
        """Lines of `row`."""
        at = bisect_left(self._rows, row)
        return self._heights[at] if at < len(self._rows) and self._rows[at] == row else 1

    def _extra(self) -> list[int]:
        # Lines beyond one per row, before each row of another height, and at last in all.
        if self._before is None:
            self._before = list(accumulate((height - 1 for height in self._heights), initial=0))
        return self._before

    @property
    def total(self) -> int:
        """Lines of all rows."""
        return self.count + self._extra()[-1]

    def line_of(self, row: int) -> int:
        """The first line of `row`."""
        return row + self._extra()[bisect_left(self._rows, row)]

    def row_at(self, line: int) -> tuple[int, int]:
        """The row on `line` and which of its lines that is; the last row's for lines behind the end."""
        extra = self._extra()
        at = bisect_right(range(len(self._rows)), line, key=lambda i: self._rows[i] + extra[i]) - 1
        if at < 0:
            row, inside = line, 0
        else:
            inside = line - self._rows[at] - extra[at]
            row = self._rows[at]
            if inside >= self._heights[at]:
                row, inside = row + 1 + inside - self._heights[at], 0
        return (row, inside) if row < self.count else (max(0, self.count - 1), 0)


_MOST_STRIPS = 4000
_WHEEL = 3
_STATES = ("", "here", "on-cur")
"""The ways in which a line of a row may be painted (`ScrolledRows.row_state`)."""


class ScrolledRows(Board):
    """A scrolled list without a cursor. A subclass gives `row_count` and `render_row`; the rest has defaults.

    Rows are one line high, but for those `opened`, which are `row_height` lines high. Rows and lines count from 0.
    When the data changed it calls `reload`, for one row `refresh_row`.
    """

    def __init__(self, *, title: str = "", join: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(title=title, join=join, id=id, classes=classes)
        self._viewport = Viewport()
        self.opened: frozenset[int] = frozenset()
        """Rows of another height than one."""
        self._strips: dict[tuple[int, int, str], Strip] = {}

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """Line `line` of row `index`, at most `width` cells."""
        raise NotImplementedError

    def row_height(self, index: int, width: int) -> int:
        """Lines of an opened row at `width` cells; 0 hides it."""
        return 1

    def row_ground(self, index: int, line: int) -> str:
        """The ground of a row (``on-turn``) or ""."""
        return ""

    def row_state(self, index: int, line: int) -> str:
        """What else decides how a line looks (the cursor); a ground, or "" for most rows."""
        return ""

    def sticky(self, index: int) -> int | None:
        """The row that stays at the top while row `index` is the first in view (the head of its turn), or None."""
        return None

    def render_sticky(self, index: int, width: int) -> Spans:
        """Row `index` as it is drawn while it stays at the top."""
        return self.render_row(index, 0, width)

    def empty(self) -> Spans:
        """The sentence of a list without rows."""
        return ()

    # The data changed

    def reload(self, start: int = 0) -> None:
        """Rows from `start` on are others now, in number too; what is in view stays if it is still there."""
        if start <= 0:
            self._strips.clear()
        else:
            self._strips = {key: strip for key, strip in self._strips.items() if key[0] < start}
        self.measure()
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Row `index` looks different now; its height is the same."""
        for key in [key for key in self._strips if key[0] == index]:
            del self._strips[key]
        self.repaint_row(index, whole=True)

    def forget_lines(self, index: int, lines: Iterable[int]) -> None:
        """Drop what was painted of some lines of row `index`."""
        # By name: looking through everything that was painted would cost more with every line.
        for line in lines:
            for state in _STATES:
                self._strips.pop((index, line, state), None)

    def open_rows(self, rows: Iterable[int]) -> None:
        """Let exactly these rows have their `row_height`."""
        changed = self.opened.symmetric_difference(rows)
        self.opened = self.opened.symmetric_difference(changed)
        self._strips = {key: strip for key, strip in self._strips.items() if key[0] not in changed}
        self.measure()
        self.refresh()

    def measure(self) -> None:
        """Find the heights anew; the row at the top stays there."""
        count, width = self.row_count, self.body_width
        tall = {index: self.row_height(index, width) for index in self.opened if index < count} if width else {}
        self.viewport.measured(Heights(count, tall))

    # The view

    @property
    def viewport(self) -> Viewport:
        """Where the view stands in the rows."""
        self._viewport.room = self.body_height
        return self._viewport

    def scroll_to_line(self, top: int) -> bool:
        """Bring line `top` to the top, as far as the list reaches; whether the view moved."""
        moved = self.viewport.scroll_to(top)
        if moved:
            self.refresh()
        return moved

    def repaint_row(self, index: int, *, whole: bool = False) -> None:
        """Paint the first line of row `index` again if it is in view, or its `whole`."""
        view = self.viewport
        first = view.line_in_view(index)
        last = first + (view.heights.height(index) if whole else 1)
        first, last = max(0, first), min(self.body_height, last)
        if first < last:
            self.refresh(Region(0, self.body_top + first, self.size.width, last - first))

    def row_under(self, y: int) -> int | None:
        """The row at the widget's line `y`, None above and below the rows."""
        view = self.viewport
        line = y - self.body_top + view.top
        if y < self.body_top or line >= view.heights.total:
            return None
        stuck = self.sticky(view.first_row)
        return stuck if y == self.body_top and stuck is not None else view.heights.row_at(line)[0]

    def forget(self) -> None:
        """Drop what was painted."""
        super().forget()
        self._strips.clear()

    def fit(self) -> None:
        """Another width gives other lines."""
        self.measure()
        self.viewport.fitted()

    def body_line(self, y: int, look: Look) -> Strip:
        """A line in view, painted once as long as nothing about it changes."""
        view = self.viewport
        if view.heights.count != self.row_count:
            self.measure()  # the first frame, or data that changed before its reload
        at = view.top + y
        if at >= view.heights.total:
            sentence = [Span(" "), *self.empty()] if y == 0 and not view.heights.total else ()
            return self.strip_of(sentence, look)
        index, line = view.heights.row_at(at)
        if y == 0 and (stuck := self.sticky(index)) is not None and stuck != index:
            index, line = stuck, -1
        state = self.row_state(index, line)
        strip = self._strips.get((index, line, state))
        if strip is None:
            if len(self._strips) > _MOST_STRIPS:
                self._strips.clear()
            strip = self._strips[index, line, state] = self._painted(index, line, state, look)
        return strip

    def _painted(self, index: int, line: int, state: str, look: Look) -> Strip:
        width = self.body_width
        spans = self.render_sticky(index, width) if line < 0 else self.render_row(index, line, width)
        ground = state if state.startswith("on-") else self.row_ground(index, max(0, line))
        return self.strip_of(spans, look, ground)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the view and leaves the cursor."""
        event.stop()
        self.scroll_to_line(self.viewport.top + _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """As downwards."""
        event.stop()
        self.scroll_to_line(self.viewport.top - _WHEEL)
