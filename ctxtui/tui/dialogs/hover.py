"""Glossary explanations in a tooltip when the mouse rests on a word, sign or figure."""

from __future__ import annotations

from typing import Any, Final

from rich.text import Text
from textual import events
from textual.app import App
from textual.css.query import NoMatches
from textual.timer import Timer
from textual.widgets._tooltip import Tooltip

_REST_SECONDS: Final = 0.5
"""Seconds of rest before the tooltip is shown."""


class Hover:
    """Shows explanations in Textual's tooltip, which closes at the next move of the mouse."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._timer: Timer | None = None
        self._shown: Tooltip | None = None

    def on_move(self, event: events.MouseMove) -> None:
        """Restart the timer: the mouse moved."""
        if self._timer is not None:
            self._timer.stop()
        x, y = event.screen_x, event.screen_y
        self._timer = self._app.set_timer(_REST_SECONDS, lambda: self._show(x, y))

    def hide(self) -> None:
        """Hide the explanation when a key is pressed."""
        if self._shown is not None:
            self._shown.display = False
            self._shown = None

    def _show(self, x: int, y: int) -> None:
        # Imported here: most users have no mouse in the terminal.
        from ctxtui.tui.dialogs.explain import explain, painted_lines, spots_of
        from ctxtui.views.glossary import note, spots

        if not self._app.screen_stack:
            # The program ends.
            return
        screen = self._app.screen
        try:
            tooltip = screen.get_child_by_type(Tooltip)
        except NoMatches:
            return
        spot = spots.spot_at(spots_of(screen, painted_lines(screen)), x, y)
        if spot is None:
            return
        explanation = "\n".join(note.strip_markup(text) for text, _ in explain(screen, spot) if text)
        tooltip.display = True
        self._shown = tooltip
        tooltip.absolute_offset = self._app.mouse_position
        # As Text: square brackets would be markup.
        tooltip.update(Text(f"{spot.entry.word}: {explanation}"))
