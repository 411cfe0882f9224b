"""The list of a session's notes and bookmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import notes
from ctxtui.views.text.table import Table


class GoToNote(Command):
    """Go to the block or call of the note."""

    name, keys, label, group = "go to it", ("enter",), "go to it", "notes and bookmarks"
    run = Act(lambda: NotesScreen, lambda screen: screen.accept())


class NotesScreen(ListScreen[PlacedNote, PlacedNote]):
    """The notes `rows` in the order of calls; `category` returns that of the block at a node."""

    commands: ClassVar[tuple[type[Command], ...]] = (GoToNote,)
    heading, loads_at_once, inset = "notes and bookmarks", True, 0
    empty_text = "No notes yet. In the transcript `*` bookmarks a block, `^p` *note* adds a note to it."

    def __init__(self, rows: Sequence[PlacedNote], category: Callable[[int], int]) -> None:
        self._notes, self._category = rows, category
        super().__init__()

    def load(self) -> Sequence[PlacedNote]:
        return self._notes

    def table(self, rows: Sequence[PlacedNote]) -> Table[PlacedNote]:
        return notes.table(self._category)

    def choose(self, row: PlacedNote) -> PlacedNote:
        return row
