"""The edit log: every action on a context with its author and time; single ones can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from ctxtui.core.edit import APPLY, WAIT, Edit, Target
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table
from ctxtui.views.transcript import edit_log
from ctxtui.views.transcript.edit_log import EditRow


class TakeBack(Command):
    """Take this one entry back; on an entry that took another back: let that stand again."""

    name, keys, label, group = "take edit back", ("enter", "u", "d"), "take back", "edit log"
    run = Act(lambda: EditLogScreen, lambda screen: screen.take())


class EditLogScreen(ListScreen[EditRow, Sequence[str]]):
    """Shows `log`, newest first; closes with the ids that are to be taken back. `label` says what a target is."""

    commands: ClassVar[tuple[type[Command], ...]] = (TakeBack,)
    heading, at_once, inset = "edit log", True, 0
    none = "No edits yet. In the transcript `d` drops a block, `s` summarizes marked ones."

    def __init__(self, log: Sequence[Edit], label: Callable[[Target], str]) -> None:
        self._log, self._label = log, label
        super().__init__()

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
        """What was applied cannot be taken back as one; a revert taken back lets its edit stand again."""
        return [row.edit.id] if row.edit.kind not in (APPLY, WAIT) else None
