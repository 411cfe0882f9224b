"""The edit log: every action on a context with its author and time; single ones can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from textual.widget import Widget

from ctxtui.core.edit import APPLY, WAIT, Edit, Target
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table
from ctxtui.views.transcript import edit_log
from ctxtui.views.transcript.edit_log import EditRow


class TakeBack(Command):
    """Take this one entry back; on an entry that took another back: let that stand again."""

    name, keys, label, group = "take edit back", ("enter", "u"), "take back", "edit log"
    run = Act(lambda: EditLogScreen, lambda screen: screen.take())


class EntryBoard(Board):
    """All that the entry under the cursor says."""

    row: EditRow | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In as many lines as it needs."""
        return edit_log.detail(self.row, width)[:height] if self.row is not None else ()


class EditLogScreen(ListScreen[EditRow, Sequence[str]]):
    """Shows `log`, newest first; closes with the ids that are to be taken back. `label` says what a target is."""

    commands: ClassVar[tuple[type[Command], ...]] = (TakeBack,)
    heading, at_once, inset, least_below = "edit log", True, 0, 7
    none = "No edits yet. In the transcript `d` drops a block, `s` summarizes marked ones."
    DEFAULT_CSS = """
    EditLogScreen #edit-log { height: 1fr; }
    EditLogScreen #entry { height: 1fr; min-height: 7; }
    """

    def __init__(self, log: Sequence[Edit], label: Callable[[Target], str]) -> None:
        self._log, self._label = log, label
        self.entry = EntryBoard(title="entry", id="entry")
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """The entry under the cursor."""
        yield self.entry

    def show(self, what: Sequence[EditRow]) -> None:
        """The rows, and what the one under the cursor says."""
        super().show(what)
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.entry.row = self.pane.row
        self.entry.redraw()

    def load(self) -> Sequence[EditRow]:
        """The entries."""
        return edit_log.rows(self._log, self._label)

    def table(self, rows: Sequence[EditRow]) -> Table[EditRow]:
        """What was done, by whom, when, and what stands of it."""
        return edit_log.table(datetime.fromtimestamp)

    def noted(self, rows: Sequence[EditRow]) -> Spans:
        """How many stand."""
        stand = sum(row.state in ("staged", "applied") for row in rows)
        return [Span(f"{stand:,} of {sum(bool(row.state) for row in rows):,} stand", "dim")]

    def choose(self, row: EditRow) -> Sequence[str] | None:
        """What was applied cannot be taken back as one; a revert taken back lets its edit stand again. Of
        where the context went the command is copied once more."""
        return [row.edit.id] if row.edit.kind not in (APPLY, WAIT) else None
