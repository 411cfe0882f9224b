"""The pane that a chat opens with, in place of those that have nothing to show yet."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.tui.widgets.board import Board
from ctxtui.views.inspector import chat_start
from ctxtui.views.inspector.chat_start import ChatStart
from ctxtui.views.text.span import Spans


class StartPane(Board):
    """Shows a `ChatStart`."""

    def __init__(self) -> None:
        super().__init__(title="new chat", id="start")
        self.data: ChatStart | None = None

    def show(self, data: ChatStart) -> None:
        """What is known now."""
        if data != self.data:
            self.data = data
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Its lines, as many as fit."""
        return chat_start.lines(self.data, width)[:height] if self.data is not None else ()
