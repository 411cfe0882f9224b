"""The diff of two calls over the session that they belong to.

Commands of a diff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.message import Message

from ctxtui.analysis.content.diff import Change
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.diff_pane import DiffPane
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.lists.diff import DiffList
from ctxtui.views.text.span import Spans


class _OnDiff(Command):
    group = "differences"


class NextDifference(_OnDiff):
    """The next difference, brought to the top."""

    name, action, keys, shown, label, short = "next difference", "difference(1)", ("n",), "n N", "differences", "next"


class PreviousDifference(_OnDiff):
    """The difference before."""

    name, action, keys = "previous difference", "difference(-1)", ("N",)


class OpenDifference(_OnDiff):
    """Open the difference in place, word by word, or fold it."""

    name, action, keys, shown, label = "open or fold difference", "open", ("space",), "⏎", "open"


class WholeBlocks(_OnDiff):
    """All lines of changed blocks, or only those near a change."""

    name, action, keys, label, short = "whole blocks or changes only", "whole", ("w",), "whole blocks", "whole"


class ShowInTranscript(_OnDiff):
    """Close the diff, and go to the block in the context that has it."""

    name, action, keys, label, short = "show in transcript", "show", ("o",), "show in transcript", "show"


DIFF: tuple[type[Command], ...] = (NextDifference, OpenDifference, WholeBlocks, ShowInTranscript, PreviousDifference)


class DiffScreen(ListScreen[Change | None]):
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
