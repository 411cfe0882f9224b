"""Boards: panes drawn as a whole, with a title rule and the edge of their column."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.rule import EDGE, rule
from ctxtui.tui.theme.theme import Look, look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text.span import Spans


class Board(Still):
    """A titled pane that draws itself whole.

    A subclass implements `draw`, and calls `redraw` for new data. `title` "" means no rule. `join` is the rule's first
    character at the start of a column (``├``, ``┬``); then an edge ``│`` runs down the pane's first column.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "Board { height: 1fr; }"

    def __init__(self, *, title: str = "", join: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self.title, self.join = title, join
        self._lines: list[Strip] | None = None
        self._look: Look | None = None
        self._drawn_for = Size(0, 0)
        self._drawing: Size | None = None
        """The size during `render_lines`."""
        self._rule: Strip | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Return the lines of the body, at most `height`, each at most `width` cells."""
        raise NotImplementedError

    def after(self) -> Spans:
        """Return the spans after the title in the rule: ``28–139``."""
        return ()

    def notes(self) -> Spans:
        """Return the spans at the right of the rule: ``122,441 ±0.4 %``."""
        return ()

    @property
    def look(self) -> Look:
        """Palette and glyphs to paint with now."""
        return look_of(self.app)

    @property
    def body_width(self) -> int:
        return max(0, (self._drawing or self.size).width - bool(self.join))

    @property
    def body_height(self) -> int:
        return max(0, (self._drawing or self.size).height - self.body_top)

    @property
    def body_top(self) -> int:
        """Widget line of the first body line."""
        return self.rule_height + self.head_height

    @property
    def rule_height(self) -> int:
        return 1 if self.title else 0

    @property
    def head_height(self) -> int:
        """Lines between rule and body, which do not scroll (`head_line`)."""
        return 0

    def redraw(self) -> None:
        self.forget()
        self.refresh()

    def refresh_rule(self) -> None:
        """Repaint only the rule, if its text changed."""
        if self.title and self._rule is not self._rule_line(self.look):
            self.refresh(Region(0, 0, self.size.width, 1))

    def forget(self) -> None:
        """Drop painted lines after the data, the width or the palette changed."""
        self._lines = None

    def fit(self) -> None:
        """Hook: the size or the palette changed."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render all lines with one look and size: Textual computes both on each access."""
        self._begin()
        self._drawing = self.size
        try:
            return super().render_lines(crop)
        finally:
            self._drawing = None

    def _begin(self) -> Look:
        look, size = self.look, self.size
        # Textual may request lines of the new size before the Resize event.
        if look is not self._look or size != self._drawn_for:
            self._look, self._drawn_for = look, size
            self.forget()
            self.fit()
        return look

    def render_line(self, y: int) -> Strip:
        look = self._look if self._drawing is not None and self._look is not None else self._begin()
        top = self.body_top
        if y >= top:
            return self.body_line(y - top, look)
        if y >= self.rule_height:
            return self.head_line(y - self.rule_height, look)
        self._rule = self._rule_line(look)
        return self._rule

    def _rule_line(self, look: Look) -> Strip:
        width, after, notes = (self._drawing or self.size).width, self.after(), self.notes()
        spans = rule(width, self.title, after=after, notes=notes, focused=self.has_focus, join=self.join)
        return paint.strip(spans, width, look)

    def head_line(self, y: int, look: Look) -> Strip:
        """Return line `y` between rule and body."""
        return self.strip_of((), look)

    def body_line(self, y: int, look: Look) -> Strip:
        """Return line `y` of the body, after its edge."""
        if self._lines is None:
            drawn = self.draw(self.body_width, self.body_height)
            self._lines = [self.strip_of(spans, look) for spans in drawn]
        return self._lines[y] if y < len(self._lines) else self.strip_of((), look)

    def strip_of(self, spans: Spans, look: Look, ground: str = "") -> Strip:
        """Paint a body line (see `paint.strip`), after the edge if there is one."""
        return paint.strip(spans, self.body_width, look, ground, EDGE if self.join else None)

    def on_focus(self, event: events.Focus | events.Blur) -> None:
        self.refresh()

    on_blur = on_focus
