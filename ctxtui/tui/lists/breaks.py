"""What staged edits break: literals that later blocks quote, and literals that a summary lost; one key keeps one.

Commands of the list of what staged edits break.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ctxtui.curation.price.dependence import Lost, Quote
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans


class Keep(Command):
    """Have the summary say this literal, word for word."""

    name, action, keys, label, group = "keep literal in the summary", "keep", ("enter", "k"), "keep", "what it breaks"


BREAKS: tuple[type[Command], ...] = (Keep,)


class BreaksPane(Pane):
    """One row for each literal."""

    def __init__(self, quotes: Sequence[Quote], lost: Sequence[Lost]) -> None:
        super().__init__(title="what it breaks", id="breaks")
        self.rows: list[Quote | Lost] = [*lost, *quotes]

    @property
    def row_count(self) -> int:
        """How many literals there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """The literal, and who needs it."""
        one = self.rows[index]
        mark = Span("▸ " if index == self.cursor else "  ", "accent")
        if isinstance(one, Lost):
            lead, told = Span(f"{MARK['summary'].glyph} lost in the summary  ", "cat-summary"), _quoted(one.quoted)
        else:
            lead, told = Span(f"{MARK['warning'].glyph} quoted later         ", "warn"), _quoted(len(one.by))
        room = max(8, width - 24 - 26)
        literal = cells.fit(safe_text.one_line(one.literal, 400), room)
        return [mark, lead, Span(cells.left(literal, room), "ink"), Span(told, "dim")]

    def on_mount(self) -> None:
        """All rows are there from the start."""
        self.reload()

    def empty(self) -> Spans:
        """Nothing is broken."""
        return [Span(" Nothing that goes is quoted later, and no summary lost a literal.", "dim")]


def _quoted(by: int) -> str:
    return f"  {by:,} later block{'' if by == 1 else 's'} quote{'s' if by == 1 else ''} it" if by else ""


class BreaksScreen(ListScreen[str]):
    """Shows `quotes` and `lost`; closes with the literal that the summary is to keep."""

    commands: ClassVar[tuple[type[Command], ...]] = BREAKS
    BINDINGS = overlay_bindings(BREAKS)

    def __init__(self, quotes: Sequence[Quote], lost: Sequence[Lost]) -> None:
        self.pane = BreaksPane(quotes, lost)
        super().__init__(self.pane)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter keeps."""
        self.action_keep()

    def action_keep(self) -> None:
        """Close, and have the summary say the literal under the cursor."""
        if self.pane.rows:
            self.dismiss(self.pane.rows[self.pane.cursor].literal)
