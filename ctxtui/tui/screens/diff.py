"""The diff of two calls over the session that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.message import Message

from ctxtui.analysis.content.diff import Change
from ctxtui.tui.commands import Command
from ctxtui.tui.commands.diff import DIFF
from ctxtui.tui.look.pane import Pane
from ctxtui.tui.screens.overlay import Overlay, overlay_bindings
from ctxtui.tui.widgets.diff_pane import DiffPane
from ctxtui.views.lists.diff import DiffList
from ctxtui.views.text.span import Spans


class DiffScreen(Overlay[Change | None]):
    """Shows what `make` works out in a worker thread; closes with the change that is to be shown in the transcript."""

    commands: ClassVar[tuple[type[Command], ...]] = DIFF
    BINDINGS = overlay_bindings(DIFF)

    class Made(Message):
        """The diff is worked out."""

        def __init__(self, data: DiffList) -> None:
            super().__init__()
            self.data = data

    def __init__(self, named: Spans, make: Callable[[], DiffList]) -> None:
        self.pane = DiffPane(named)
        super().__init__(self.pane)
        self._make = make

    def on_mount(self) -> None:
        """Comparing takes as long as the contexts differ: not on the screen's time."""
        self.run_worker(lambda: self.post_message(self.Made(self._make())), thread=True, exit_on_error=True)

    def on_diff_screen_made(self, message: Made) -> None:
        """It is there."""
        self.pane.show(message.data)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter opens a row."""
        self.pane.toggle_row()

    def action_difference(self, step: int) -> None:
        """To the next difference, or back."""
        self.pane.step(step)

    def action_open(self) -> None:
        """Open or fold."""
        self.pane.toggle_row()

    def action_whole(self) -> None:
        """All lines, or those near a change."""
        self.pane.toggle_whole()

    def action_show(self) -> None:
        """Close, and show the block under the cursor in its context."""
        if self.pane.data is not None and (change := self.pane.data.change(self.pane.cursor)) is not None:
            self.dismiss(change)
