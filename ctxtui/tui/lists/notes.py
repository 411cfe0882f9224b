"""The notes and bookmarks of a session in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import notes
from ctxtui.views.text.table import Table


class GoToNote(Command):
    """Go to the block or call that the note is about."""

    name, keys, label, group = "go to it", ("enter",), "go to it", "notes and bookmarks"
    run = Act(lambda: NotesScreen, lambda screen: screen.take())


class NotesScreen(ListScreen[PlacedNote, PlacedNote]):
    """The notes `found` in the order of the calls, on blocks that are shown in a `category`; closes with the one
    that was chosen."""

    commands: ClassVar[tuple[type[Command], ...]] = (GoToNote,)
    heading, loads_at_once, inset = "notes and bookmarks", True, 0
    empty_text = "No notes yet. In the transcript `*` marks a block, `^p` *note* jots a note on it."

    def __init__(self, found: Sequence[PlacedNote], category: Callable[[int], int]) -> None:
        self._found, self._category = found, category
        super().__init__()

    def load(self) -> Sequence[PlacedNote]:
        """They are known."""
        return self._found

    def table(self, rows: Sequence[PlacedNote]) -> Table[PlacedNote]:
        """Where it is, what it is about, what was written."""
        return notes.table(self._category)

    def choose(self, row: PlacedNote) -> PlacedNote:
        """This one."""
        return row
