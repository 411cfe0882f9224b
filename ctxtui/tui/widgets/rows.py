"""Rows: a list of any length through the Line API; only rows in view are rendered, and each of them once.

Heights: which row stands on which line, when a few rows of very many are taller than one line or hidden.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.board import Board
from ctxtui.views.text.span import Span, Spans

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
        self.top = 0
        """The line at the top of the view."""
        self._room = 0
        """Lines of the body when the view was last fitted to it."""
        self.opened: frozenset[int] = frozenset()
        """Rows of another height than one."""
        self.heights = Heights(0)
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
        row, inside = self.heights.row_at(self.top)
        count, width = self.row_count, self.body_width
        tall = {index: self.row_height(index, width) for index in self.opened if index < count} if width else {}
        self.heights = Heights(count, tall)
        row = min(row, max(0, count - 1))
        self.top = self.heights.line_of(row) + min(inside, max(0, self.heights.height(row) - 1))
        self.top = min(max(0, self.top), self.last_top)

    # The view

    @property
    def last_top(self) -> int:
        """The top of the view at the end of the list."""
        return max(0, self.heights.total - self.body_height)

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view, or was before the pane got its present height."""
        return self.top >= max(0, self.heights.total - (self._room or self.body_height))

    def scroll_to_line(self, top: int) -> bool:
        """Bring line `top` to the top, as far as the list reaches; whether the view moved."""
        top = min(max(0, top), self.last_top)
        if top == self.top:
            return False
        self.top = top
        self.refresh()
        return True

    def repaint_row(self, index: int, *, whole: bool = False) -> None:
        """Paint the first line of row `index` again if it is in view, or its `whole`."""
        first = self.heights.line_of(index) - self.top
        last = first + (self.heights.height(index) if whole else 1)
        first, last = max(0, first), min(self.body_height, last)
        if first < last:
            self.refresh(Region(0, self.body_top + first, self.size.width, last - first))

    def row_under(self, y: int) -> int | None:
        """The row at the widget's line `y`, None above and below the rows."""
        line = y - self.body_top + self.top
        if y < self.body_top or line >= self.heights.total:
            return None
        stuck = self.sticky(self.heights.row_at(self.top)[0])
        return stuck if y == self.body_top and stuck is not None else self.heights.row_at(line)[0]

    def forget(self) -> None:
        """Drop what was painted."""
        super().forget()
        self._strips.clear()

    def fit(self) -> None:
        """Another width gives other lines."""
        self.measure()
        self._room = self.body_height

    def body_line(self, y: int, look: Look) -> Strip:
        """A line in view, painted once as long as nothing about it changes."""
        if self.heights.count != self.row_count:
            self.measure()  # the first frame, or data that changed before its reload
        at = self.top + y
        if at >= self.heights.total:
            sentence = [Span(" "), *self.empty()] if y == 0 and not self.heights.total else ()
            return self.strip_of(sentence, look)
        index, line = self.heights.row_at(at)
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
        self.scroll_to_line(self.top + _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """As downwards."""
        event.stop()
        self.scroll_to_line(self.top - _WHEEL)


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
