"""A pane of rows that are drawn by a function: the body of most overlays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType

from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.span import Span, Spans

T = TypeVar("T")

Draw = Callable[[T, int, bool], Spans]
"""Draws a row in so many cells; the flag says that the cursor is there."""


class TablePane(Pane, Generic[T]):
    """Shows `rows`, one line each, below `heads` (which scroll with them). `takes` says which rows the cursor may stand
    on, `none` is the sentence where there are none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "move(-1)", "previous row", show=False),
        Binding("j", "move(1)", "next row", show=False),
    ]

    def __init__(self, title: str, draw: Draw[T], none: str, *, takes: Callable[[T], bool] | None = None) -> None:
        super().__init__(title=title, id=title.replace(" ", "-"))
        self._draw = draw
        self._none = none
        self._takes = takes
        self.rows: Sequence[T] | None = None
        self.heads: Callable[[int], Spans] | None = None
        self.told: Spans = ()
        """What follows the title."""
        self.noted: Spans = ()
        """What stands at the right of the rule."""

    def show(self, rows: Sequence[T], *, cursor: int | None = None) -> None:
        """Other rows; the cursor stays where it is unless it is told."""
        self.rows = rows
        # The heads are the first row of the list.
        at = None if cursor is None else cursor + (self.heads is not None)
        self.forget()
        self.reload(cursor=at)

    @property
    def _above(self) -> int:
        return int(self.heads is not None and bool(self.rows))

    @property
    def row(self) -> T | None:
        """The row under the cursor."""
        at = self.cursor - self._above
        return self.rows[at] if self.rows and 0 <= at < len(self.rows) else None

    @property
    def row_count(self) -> int:
        """How many rows there are, with the heads."""
        return len(self.rows) + self._above if self.rows else 0

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A row, or the heads."""
        assert self.rows is not None
        if index < self._above and self.heads is not None:
            return self.heads(width)
        return self._draw(self.rows[index - self._above], width, index == self.cursor)

    def selectable(self, index: int) -> bool:
        """Heads are passed over, and what the caller says."""
        if index < self._above:
            return False
        return self._takes is None or self.rows is None or self._takes(self.rows[index - self._above])

    def empty(self) -> Spans:
        """While it is worked out, and where there is nothing."""
        return [Span("·", "faint")] if self.rows is None else [Span(self._none, "dim")]

    def after(self) -> Spans:
        """What follows the title."""
        return self.told

    def notes(self) -> Spans:
        """At the right of the rule."""
        return self.noted
