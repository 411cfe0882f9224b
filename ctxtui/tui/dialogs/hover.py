"""The glossary under the mouse: where it rests on a word, sign or figure, that is explained beside it."""

from __future__ import annotations

from typing import Any, Final

from rich.text import Text
from textual import events
from textual.app import App
from textual.css.query import NoMatches
from textual.timer import Timer
from textual.widgets._tooltip import Tooltip

_REST: Final = 0.5
"""Seconds that the mouse rests before it is asked what it means."""


class Hover:
    """Shows explanations in Textual's own tooltip, which goes with the next move of the mouse."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._timer: Timer | None = None
        self._shown: Tooltip | None = None

    def moved(self, event: events.MouseMove) -> None:
        """The mouse moved: ask again when it rests."""
        if self._timer is not None:
            self._timer.stop()
        x, y = event.screen_x, event.screen_y
        self._timer = self._app.set_timer(_REST, lambda: self._rests(x, y))

    def hide(self) -> None:
        """Take the explanation away: a key was pressed."""
        if self._shown is not None:
            self._shown.display = False
            self._shown = None

    def _rests(self, x: int, y: int) -> None:
        # Imported here: most users have no mouse in the terminal.
        from ctxtui.tui.dialogs.explain import explained, painted, spots_of
        from ctxtui.views.glossary import note, spots

        if not self._app.screen_stack:
            # The program ends.
            return
        screen = self._app.screen
        try:
            tooltip = screen.get_child_by_type(Tooltip)
        except NoMatches:
            return
        spot = spots.spot_at(spots_of(screen, painted(screen)), x, y)
        if spot is None:
            return
        said = "\n".join(note.strip_markup(text) for text, _ in explained(screen, spot) if text)
        tooltip.display = True
        self._shown = tooltip
        tooltip.absolute_offset = self._app.mouse_position
        # As text: what is in square brackets would be markup.
        tooltip.update(Text(f"{spot.entry.word}: {said}"))
