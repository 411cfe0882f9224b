"""Rows: a list of any length through the Line API; only rows in view are rendered, and each of them once."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.viewport import Heights, Viewport
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
