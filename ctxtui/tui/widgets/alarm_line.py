"""An alarm: one inverted line under the header until it is dismissed or no longer true (look book, states)."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span


class AlarmLine(Widget):
    """Shows `words`; without any it has no place on the screen. What is not on record comes before any other alarm, and
    stays for as long as it is true."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="alarm")
        self.unrecorded = ""
        """Why nothing is recorded now."""
        self._other = ""

    @property
    def words(self) -> str:
        """What is shown."""
        return self.unrecorded or self._other

    def show(self, words: str) -> None:
        """Another alarm, or none ("")."""
        self._other = words
        self.refresh()

    def show_unrecorded(self, words: str) -> None:
        """Something is not on record; "" when all is again."""
        self.unrecorded = words
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        text = cells.fit(f" ▲ {self.words}", room) if self.words else " " * room
        return paint.strip([Span(text, "crit reverse bold")], room, look_of(self.app))
