"""The edit log: every action on a context with its author and time; single ones can be taken back.

Commands of the edit log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from ctxtui.core.edit import Edit, Target
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import edit_log


class TakeBack(Command):
    """Take this one entry back; on an entry that took another back: let that stand again."""

    name, action, keys, label, group = "take edit back", "take_back", ("enter", "u", "d"), "take back", "edit log"


EDIT_LOG: tuple[type[Command], ...] = (TakeBack,)


class EditLogPane(Pane):
    """One row for each entry, newest first."""

    def __init__(self, rows: Sequence[edit_log.EditRow]) -> None:
        super().__init__(title="edit log", id="edit-log")
        self.rows = rows

    @property
    def row_count(self) -> int:
        """How many entries there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """What was done, by whom, when, and what stands of it."""
        return edit_log.line(self.rows[index], width, datetime.fromtimestamp, index == self.cursor)

    def on_mount(self) -> None:
        """All rows are there from the start."""
        self.reload()

    def empty(self) -> Spans:
        """Nothing was done yet."""
        return [Span("No edits yet. In the transcript `d` drops a block, `s` summarizes marked ones.", "dim")]

    def notes(self) -> Spans:
        """How many stand."""
        stand = sum(row.state in ("staged", "applied") for row in self.rows)
        return [Span(f"{stand:,} of {sum(bool(row.state) for row in self.rows):,} stand", "dim")]


class EditLogScreen(ListScreen[Sequence[str]]):
    """Shows `log`; closes with the ids that are to be taken back. `label` says what a target is."""

    commands: ClassVar[tuple[type[Command], ...]] = EDIT_LOG
    BINDINGS = overlay_bindings(EDIT_LOG)

    def __init__(self, log: Sequence[Edit], label: Callable[[Target], str]) -> None:
        self.pane = EditLogPane(edit_log.rows(log, label))
        super().__init__(self.pane)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter takes back."""
        self.action_take_back()

    def action_take_back(self) -> None:
        """Close, and take back the entry under the cursor; a revert taken back lets its edit stand again."""
        if self.pane.rows:
            edit = self.pane.rows[self.pane.cursor].edit
            if edit.kind != "apply":
                self.dismiss([edit.id])
