"""Reading mode: the transcript alone, as a conversation."""

from __future__ import annotations

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span


class ReadingController(Controller):
    """Shows the transcript alone, and all panes again."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        state.on.closed.subscribe(self._close)

    def toggle(self) -> None:
        if self.panels.transcript.data is None:
            return
        is_reading = not self.panels.is_reading
        self.state.read(is_reading)
        if is_reading:
            keys = [Span("⏎", "accent bold"), Span(" folds or opens  ", "dim"), Span(";", "accent bold")]
            self.show_message([Span("reading mode: full texts, one line per tool call  "), *keys, Span(" ends", "dim")])
        else:
            self.show_message([])

    def _close(self) -> bool:
        """End reading mode by `esc`; return whether it was on."""
        was_reading = self.panels.is_reading
        if was_reading:
            self.state.read(False)
        return was_reading


class ReadingMode(Command):
    """Read the conversation on the whole screen.

    Texts are full; each tool call is one line with its result. The same key, or `esc`, shows all panes again.
    """

    name, keys, label, group = "reading mode", ("semicolon",), "read", "what is shown"
    run = Act(ReadingController, ReadingController.toggle)
    works_on_end = True
