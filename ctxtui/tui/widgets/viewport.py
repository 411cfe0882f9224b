"""Where a view stands in rows of several lines, and where it goes when rows, their heights or its own height change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate


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
