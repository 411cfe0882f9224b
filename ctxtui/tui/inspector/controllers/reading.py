"""The reading mode: the transcript alone, as a conversation to read."""

from __future__ import annotations

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span


class ReadingController(Controller):
    """Lets the transcript have the screen for itself, and takes it back."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        state.on.closed.subscribe(self._close)

    def toggle(self) -> None:
        """Read, or show all panes again."""
        if self.panels.transcript.data is None:
            return
        reads = not self.panels.reads
        self.state.read(reads)
        if reads:
            keys = [Span("⏎", "accent bold"), Span(" folds or opens  ", "dim"), Span(";", "accent bold")]
            self.say([Span("reading: texts in full, a line for each tool call  "), *keys, Span(" ends", "dim")])
        else:
            self.say([])

    def _close(self) -> bool:
        """`esc` ends it."""
        reads = self.panels.reads
        if reads:
            self.state.read(False)
        return reads


class ReadingMode(Command):
    """Read the conversation over the whole screen: texts in full, changes of files as diffs, one line for each tool
    call with its result. Enter folds a text or opens a line; the same key, or `esc`, shows all panes again."""

    name, keys, label, short_label, group = "reading mode", ("semicolon",), "read", "read", "what is shown"
    run = Act(ReadingController, ReadingController.toggle)
    works_on_end = True
