"""The edit log: every action on a context with author and time.

Single edits can be taken back.
"""

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
    """Take this one edit back; on an entry that took an edit back: restore that edit."""

    name, keys, label, group = "take edit back", ("enter", "u"), "take back", "edit log"
    run = Act(lambda: EditLogScreen, lambda screen: screen.accept())


class EntryBoard(Board):
    """Details of the entry under the cursor."""

    row: EditRow | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return edit_log.detail(self.row, width)[:height] if self.row is not None else ()


class EditLogScreen(ListScreen[EditRow, Sequence[str]]):
    """Shows `log`, newest first; closes with the ids to take back. `label` describes a target."""

    commands: ClassVar[tuple[type[Command], ...]] = (TakeBack,)
    heading, loads_at_once, inset, min_lines_below = "edit log", True, 0, 7
    empty_text = "No edits yet. In the transcript `d` drops a block, `s` summarizes marked ones."
    DEFAULT_CSS = """
    EditLogScreen #edit-log { height: 1fr; }
    EditLogScreen #entry { height: 1fr; min-height: 7; }
    """

    def __init__(self, log: Sequence[Edit], label: Callable[[Target], str]) -> None:
        self._log, self._label = log, label
        self.entry = EntryBoard(title="entry", id="entry")
        super().__init__()

    def below(self) -> Iterable[Widget]:
        yield self.entry

    def show(self, rows: Sequence[EditRow]) -> None:
        super().show(rows)
        self._show_details()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        self._show_details()

    def _show_details(self) -> None:
        self.entry.row = self.pane.row
        self.entry.redraw()

    def load(self) -> Sequence[EditRow]:
        return edit_log.rows(self._log, self._label)

    def table(self, rows: Sequence[EditRow]) -> Table[EditRow]:
        return edit_log.table(datetime.fromtimestamp)

    def rule_notes(self, rows: Sequence[EditRow]) -> Spans:
        active = sum(row.state in ("staged", "waiting", "applied") for row in rows)
        return [Span(f"{active:,} of {sum(bool(row.state) for row in rows):,} edits active", "dim")]

    def choose(self, row: EditRow) -> Sequence[str] | None:
        """Return the id of the entry.

        None if it applied edits or let them wait, which cannot be taken back.
        """
        return [row.edit.id] if row.edit.kind not in (APPLY, WAIT) else None
