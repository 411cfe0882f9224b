"""Lists of any length through the Line API: only lines in view are rendered."""

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
    """The scroll position of a view over rows. Rows and lines count from 0."""

    def __init__(self) -> None:
        self.heights = Heights(0)
        self.height = 0
        """Height of the view in lines."""
        self.top = 0
        """Line at the top of the view."""
        self._fitted_height = 0

    @property
    def last_top(self) -> int:
        return max(0, self.heights.total - self.height)

    @property
    def at_end(self) -> bool:
        """Whether the last line was in view at the height the view was last fitted to."""
        return self.top >= max(0, self.heights.total - (self._fitted_height or self.height))

    @property
    def first_row(self) -> int:
        return self.heights.row_at(self.top)[0]

    @property
    def visible_rows(self) -> Sequence[int]:
        last = min(self.top + self.height, self.heights.total) - 1
        rows = range(self.first_row, self.heights.row_at(last)[0] + 1) if last >= self.top else ()
        return [row for row in rows if self.heights.height(row)]

    def is_following(self, row: int) -> bool:
        """Whether `row` is the last and its end is in view: the view then follows new rows."""
        return 0 < self.heights.count <= row + 1 and self.at_end

    def line_in_view(self, row: int) -> int:
        """Return the line of the view on which `row` begins; negative above the view."""
        return self.heights.line_of(row) - self.top

    def lines_out_of_view(self, row: int, step: int) -> int:
        """Count the lines by which the end (`step` > 0) or start of `row` is beyond the view's.

        0 or less: it is in view.
        """
        first = self.line_in_view(row)
        return first + self.heights.height(row) - self.height if step > 0 else -first

    def top_showing(self, row: int, *, downwards: bool = True) -> int:
        """Return the top that shows `row` with the least movement.

        A row taller than the view shows its beginning, or its end if not `downwards`, unless it fills the view already.
        """
        first, height, top = self.heights.line_of(row), self.heights.height(row), self.top
        if height >= self.height:
            if first > top or first + height < top + self.height:
                return first if downwards else first + height - self.height
            return top
        return min(first, max(top, first + height - self.height))

    def scroll_to(self, top: int) -> bool:
        """Scroll line `top` to the top, or as near as possible; return whether the view moved."""
        top, before = min(max(0, top), self.last_top), self.top
        self.top = top
        return top != before

    def place_row(self, row: int, line: int) -> None:
        """Scroll so that `row` begins on `line` of the view, or as near as possible."""
        self.scroll_to(self.heights.line_of(row) - line)

    def scroll_to_end(self) -> None:
        self.top = self.last_top

    def set_heights(self, heights: Heights) -> None:
        """Set new heights; the row at the top stays there."""
        row, inside = self.heights.row_at(self.top)
        self.heights = heights
        row = min(row, max(0, heights.count - 1))
        self.scroll_to(heights.line_of(row) + min(inside, max(0, heights.height(row) - 1)))

    def mark_fitted(self) -> None:
        self._fitted_height = self.height


class Heights:
    """The lines of `count` rows, each one line high except those in `heights` (0 hides a row).

    Rows and lines count from 0. The time of a lookup or a change depends
    on the number of other heights, not on `count`.
    """

    def __init__(self, count: int, heights: Mapping[int, int] | None = None) -> None:
        self.count = count
        self._rows = sorted(row for row in heights or {} if row < count)
        self._heights = [max(0, heights[row]) for row in self._rows] if heights else []
        self._extra_before: list[int] | None = None

    def set(self, row: int, height: int) -> None:
        index = bisect_left(self._rows, row)
        exists = index < len(self._rows) and self._rows[index] == row
        if exists:
            del self._rows[index], self._heights[index]
        if height != 1:
            self._rows.insert(index, row)
            self._heights.insert(index, max(0, height))
        self._extra_before = None

    def height(self, row: int) -> int:
        index = bisect_left(self._rows, row)
        return self._heights[index] if index < len(self._rows) and self._rows[index] == row else 1

    def _extra_lines(self) -> list[int]:
        # Lines beyond one per row, before each row of another height; the last is the sum.
        if self._extra_before is None:
            self._extra_before = list(accumulate((height - 1 for height in self._heights), initial=0))
        return self._extra_before

    @property
    def total(self) -> int:
        return self.count + self._extra_lines()[-1]

    def line_of(self, row: int) -> int:
        return row + self._extra_lines()[bisect_left(self._rows, row)]

    def row_at(self, line: int) -> tuple[int, int]:
        """Return the row on `line` and the line within it; the last row for lines after the end."""
        extra = self._extra_lines()
        index = bisect_right(range(len(self._rows)), line, key=lambda i: self._rows[i] + extra[i]) - 1
        if index < 0:
            row, inside = line, 0
        else:
            inside = line - self._rows[index] - extra[index]
            row = self._rows[index]
            if inside >= self._heights[index]:
                row, inside = row + 1 + inside - self._heights[index], 0
        return (row, inside) if row < self.count else (max(0, self.count - 1), 0)


_MAX_STRIPS = 4000
"""Painted lines to keep; with more, all are dropped."""
_WHEEL_LINES = 3
_STATES = ("", "here", "on-cur")
"""Possible values of `ScrolledRows.row_state`: the line has no cursor, or one without focus, or with focus."""


class ScrolledRows(Board):
    """A scrolled list without a cursor. A subclass implements `row_count` and `render_row`.

    Rows and lines count from 0. After a change of its data a subclass calls `reload`, or `refresh_row` for one row of
    the same height.
    """

    def __init__(self, *, title: str = "", join: str = "", id: str | None = None) -> None:
        super().__init__(title=title, join=join, id=id)
        self._viewport = Viewport()
        self.opened: frozenset[int] = frozenset()
        """Rows that are `row_height` lines high; others are one line high."""
        self._strips: dict[tuple[int, int, str], Strip] = {}

    @property
    def row_count(self) -> int:
        raise NotImplementedError

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """Return line `line` of row `index`, at most `width` cells."""
        raise NotImplementedError

    def row_height(self, index: int, width: int) -> int:
        """Return the lines of an opened row at `width` cells; 0 hides it."""
        return 1

    def row_ground(self, index: int, line: int) -> str:
        """Return the background of a line as a style word (``on-turn``); "" for the usual one."""
        return ""

    def row_state(self, index: int, line: int) -> str:
        """Return a state that changes how a line is painted, one of `_STATES`.

        `line` is -1 for the row as sticky heading.
        """
        return ""

    def sticky(self, index: int) -> int | None:
        """Return the row that stays at the top, as a heading, while `index` is first in view. None: none does."""
        return None

    def render_sticky(self, index: int, width: int) -> Spans:
        return self.render_row(index, 0, width)

    def empty(self) -> Spans:
        return ()

    # The data changed

    def reload(self, start: int = 0) -> None:
        """Repaint rows from `start` on, whose number may have changed. The row at the top stays if possible."""
        if start <= 0:
            self._strips.clear()
        else:
            self._strips = {key: strip for key, strip in self._strips.items() if key[0] < start}
        self.measure()
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Paint row `index` anew. Its height did not change."""
        for key in [key for key in self._strips if key[0] == index]:
            del self._strips[key]
        self.redraw_row(index, whole=True)

    def forget_lines(self, index: int, lines: Iterable[int]) -> None:
        # By key: a scan of all painted lines would get slower with every line.
        for line in lines:
            for state in _STATES:
                self._strips.pop((index, line, state), None)

    def open_rows(self, rows: Iterable[int]) -> None:
        """Set `opened`, and measure again."""
        opened = frozenset(rows)
        changed, self.opened = self.opened ^ opened, opened
        self._strips = {key: strip for key, strip in self._strips.items() if key[0] not in changed}
        self.measure()
        self.refresh()

    def measure(self) -> None:
        count, width = self.row_count, self.body_width
        tall = {index: self.row_height(index, width) for index in self.opened if index < count} if width else {}
        self.viewport.set_heights(Heights(count, tall))

    # The view

    @property
    def viewport(self) -> Viewport:
        self._viewport.height = self.body_height
        return self._viewport

    def scroll_to_line(self, top: int) -> bool:
        moved = self.viewport.scroll_to(top)
        if moved:
            self.refresh()
        return moved

    def redraw_row(self, index: int, *, whole: bool = False) -> None:
        """Draw the first line of row `index`, or all of it if `whole`, if in view.

        Lines that are painted already are not painted anew.
        """
        view = self.viewport
        first = view.line_in_view(index)
        last = first + (view.heights.height(index) if whole else 1)
        first, last = max(0, first), min(self.body_height, last)
        if first < last:
            self.refresh(Region(0, self.body_top + first, self.size.width, last - first))

    def row_under(self, y: int) -> int | None:
        """Return the row at the widget's line `y`, None above and below the rows."""
        view = self.viewport
        line = y - self.body_top + view.top
        if y < self.body_top or line >= view.heights.total:
            return None
        stuck = self.sticky(view.first_row)
        return stuck if y == self.body_top and stuck is not None else view.heights.row_at(line)[0]

    def forget(self) -> None:
        super().forget()
        self._strips.clear()

    def fit(self) -> None:
        self.measure()
        self.viewport.mark_fitted()

    def body_line(self, y: int, look: Look) -> Strip:
        view = self.viewport
        if view.heights.count != self.row_count:
            self.measure()  # first frame, or data changed before reload
        list_line = view.top + y
        if list_line >= view.heights.total:
            sentence = [Span(" "), *self.empty()] if y == 0 and not view.heights.total else ()
            return self.strip_of(sentence, look)
        index, line = view.heights.row_at(list_line)
        if y == 0 and (stuck := self.sticky(index)) is not None and stuck != index:
            index, line = stuck, -1
        state = self.row_state(index, line)
        strip = self._strips.get((index, line, state))
        if strip is None:
            if len(self._strips) > _MAX_STRIPS:
                self._strips.clear()
            strip = self._strips[index, line, state] = self._paint_line(index, line, state, look)
        return strip

    def _paint_line(self, index: int, line: int, state: str, look: Look) -> Strip:
        width = self.body_width
        spans = self.render_sticky(index, width) if line < 0 else self.render_row(index, line, width)
        ground = state if state.startswith("on-") else self.row_ground(index, max(0, line))
        return self.strip_of(spans, look, ground)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_to_line(self.viewport.top + _WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_to_line(self.viewport.top - _WHEEL_LINES)
