"""The tabs of a list: its name, then each tab, the one shown in reverse. A click turns to one."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span


class TabLine(Still):
    """One line over a list called `title`: tab `at` of `names` is shown."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "TabLine { height: 1; }"

    class Turned(Message):
        """Tab `at` was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, title: str, names: Sequence[str], at: int) -> None:
        super().__init__(id="tabs")
        self._spans = [Span(f" {title}  ", "ink bold")]
        self._spans += [Span(f" {name} ", "accent bold reverse" if n == at else "dim") for n, name in enumerate(names)]

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        return paint.strip(self._spans, self.size.width, look_of(self.app), "on-panel")

    def on_click(self, event: events.Click) -> None:
        """To the tab under the pointer."""
        event.stop()
        start = 0
        for at, span in enumerate(self._spans, -1):
            start += cells.width(span.text)
            if event.x < start:
                if at >= 0:
                    self.post_message(self.Turned(at))
                return
