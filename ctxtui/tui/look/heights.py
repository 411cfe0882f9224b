"""Heights: which row stands on which line, when a few rows of very many are taller than one line or hidden."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import accumulate


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
