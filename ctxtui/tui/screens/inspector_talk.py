"""Going on from a recorded call: the Inspector asks the app for a chat."""

from __future__ import annotations

from ctxtui.tui.messages import Talk
from ctxtui.tui.screens.inspector_desk import Desk
from ctxtui.views.span import Span


class Forking(Desk):
    """The part of the Inspector that goes on from a call."""

    def action_talk_here(self) -> None:
        """A chat from the call shown; from the end of the record where that is in view."""
        if self.source.name == "-":
            self.say([Span("✗ ", "crit"), Span("standard input cannot be gone on from: save it to a file", "crit")])
            return
        if self.study is not None and self.glimpse is None:
            number = 0 if self.index >= self.count - 1 else self.index + 1
            self.post_message(Talk(self.source.name, self.thread, number))
