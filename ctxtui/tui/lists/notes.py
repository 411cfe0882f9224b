"""The notes and bookmarks of a session in a list.

Commands of the list of notes and bookmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.core.tree import Tree
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.lists import notes
from ctxtui.views.text.span import Span, Spans


class GoToNote(Command):
    """Go to the block or call that the note is about."""

    name, action, keys, label, group = "go to it", "go", ("enter",), "go to it", "notes and bookmarks"


NOTE_LIST: tuple[type[Command], ...] = (GoToNote,)


class NotesPane(Pane):
    """One row for each, in the order of the calls."""

    def __init__(self, rows: Sequence[PlacedNote], tree: Tree) -> None:
        super().__init__(title="notes and bookmarks", id="notes")
        self.rows = rows
        self._tree = tree

    @property
    def row_count(self) -> int:
        """How many there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """Where it is, what it is about, what was written."""
        one = self.rows[index]
        category = self._tree[one.node].category if one.node is not None else None
        return notes.line(one, category, width, here=index == self.cursor)

    def on_mount(self) -> None:
        """All rows are there from the start."""
        self.reload()

    def empty(self) -> Spans:
        """How one comes here."""
        return [Span("No notes yet. In the transcript `*` marks a block, `J` jots a note on it.", "dim")]


class NotesScreen(ListScreen[PlacedNote | None]):
    """The list; closes with the one that was chosen."""

    commands: ClassVar[tuple[type[Command], ...]] = NOTE_LIST
    BINDINGS = overlay_bindings(NOTE_LIST)

    def __init__(self, rows: Sequence[PlacedNote], tree: Tree) -> None:
        self.pane = NotesPane(rows, tree)
        super().__init__(self.pane)

    def action_go(self) -> None:
        """Close, and go to the one under the cursor."""
        if self.pane.rows:
            self.dismiss(self.pane.rows[self.pane.cursor])

    def on_pane_chosen(self) -> None:
        """Enter, or a double click."""
        self.action_go()
