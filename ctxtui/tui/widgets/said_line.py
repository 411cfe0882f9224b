"""The line over the keys of a list: what a key did there, or why it did nothing."""

from __future__ import annotations

from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text.span import Span, Spans, cropped


class SaidLine(Still):
    """Shows what was said last; until something is said it takes no row."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "SaidLine { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="said")
        self.words: Spans = ()
        """What is said."""

    def say(self, words: Spans) -> None:
        """Say this; nothing takes the row away."""
        self.words, self.display = words, bool(words)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        return paint.strip(cropped([Span(" "), *self.words], room), room, look_of(self.app))
