"""The policies, with what each would do to the context shown; Enter stages one.

Commands of the list of policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.message import Message
from textual.worker import get_current_worker

from ctxtui.core.errors import BadConfig
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.tui.commands import Command, key_text
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.lists import policies
from ctxtui.views.lists.policies import Proposed
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans


class StagePolicy(Command):
    """Stage the edits of this policy as one action, under its name; where they stand already, take them back. It never
    changes what you pinned, nor does again what you took back."""

    name, action, keys, label, group = "stage policy", "stage", ("enter",), "stage or take back", "policies"


class SetPolicy(Command):
    """Set the policy under the cursor otherwise: `n=5`, `exclude=Read,Bash`. What it would do is worked out anew; an
    empty line stands for its defaults."""

    name, action, keys, label, group = "settings of policy", "set", ("s",), "settings", "policies"


POLICIES: tuple[type[Command], ...] = (StagePolicy, SetPolicy)


class AboutBoard(Board):
    """What the policy under the cursor does, and how it is set."""

    row: Proposed | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In words."""
        return policies.details(self.row, width, height) if self.row is not None else ()


class PoliciesScreen(ListScreen[Proposed]):
    """Lists what `proposals` works out, row by row, in a worker. Closes with the row whose edits are to be staged, or
    taken back where it has no new ones."""

    commands: ClassVar[tuple[type[Command], ...]] = POLICIES
    BINDINGS = overlay_bindings(POLICIES)
    DEFAULT_CSS = """
    PoliciesScreen #policies { height: 1fr; }
    PoliciesScreen #about { height: 5; }
    """

    class Worked(Message):
        """Row `index` is worked out."""

        def __init__(self, index: int, row: Proposed) -> None:
            super().__init__()
            self.index = index
            self.row = row

    def __init__(self, proposals: Proposals) -> None:
        self._proposals = proposals
        self._rows = proposals.empty
        self.about = AboutBoard(title="what it does", id="about")
        self.line = LineEdit(id="settings")
        self.line.can_focus = False

        def draw(row: Proposed, room: int, here: bool) -> Spans:
            return policies.draw(row, room - 1, here=here)

        self.pane: TablePane[Proposed] = TablePane("policies", draw, "There are no policies.")
        self.pane.heads = lambda room: policies.heads(room - 1)
        super().__init__(self.pane)

    def compose(self) -> ComposeResult:
        """The list, what one does, the keys."""
        yield self.pane
        yield self.about
        yield self.line
        shown = [Key(each.key_shown(), each.label, each.short) for each in self.commands]
        yield KeyLine([*shown, Key(key_text("escape"), "close")])

    def on_mount(self) -> None:
        """Work them out."""
        self._show(cursor=0)
        self.run_worker(self._work, thread=True, exclusive=True)

    def _work(self) -> None:
        worker = get_current_worker()
        for index, row in enumerate(self._proposals.rows()):
            if worker.is_cancelled:
                return
            self.post_message(self.Worked(index, row))

    def on_policies_screen_worked(self, message: Worked) -> None:
        """One more is known."""
        if message.row.settings == self._proposals.empty[message.index].settings:
            self._rows[message.index] = message.row
            self._show()

    def _show(self, cursor: int | None = None) -> None:
        self.pane.noted = policies.notes(self._rows)
        self.pane.show(self._rows, cursor=cursor)
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.about.row = self.pane.row
        self.about.redraw()

    def action_set(self) -> None:
        """Type other settings."""
        row = self.pane.row
        if row is not None and row.settings:
            self.line.can_focus = True
            self.line.show([Span(f" {row.name} › ", "accent bold")], policies.spelled(row))
            self.set_focus(self.line)

    def on_line_edit_left(self, message: LineEdit.Left) -> None:
        """They stay as they are."""
        self._leave([])

    def _leave(self, words: Spans) -> None:
        self.line.show(words)
        self.set_focus(self.pane)
        self.line.can_focus = False

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """Work it out anew."""
        row = self.pane.row
        index = next((n for n, one in enumerate(self._rows) if row is not None and one.name == row.name), None)
        if index is None:
            return
        try:
            self._proposals.set(index, message.edit.text)
        except BadConfig as error:
            self._leave([Span(" ✗ ", "crit"), Span(safe_text.one_line(str(error), 300), "crit")])
            return
        self._leave([])
        self._rows[index] = self._proposals.empty[index]
        self._show()
        self.run_worker(lambda: self.post_message(self.Worked(index, self._proposals.row(index))), thread=True)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter stages."""
        self.action_stage()

    def action_stage(self) -> None:
        """Close with the row under the cursor, where it has something to stage or to take back."""
        row = self.pane.row
        if row is not None and not row.why and (row.edits or row.stands):
            self.dismiss(row)
