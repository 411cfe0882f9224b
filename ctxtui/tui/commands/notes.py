"""Commands of the list of notes and bookmarks."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class GoToNote(Command):
    """Go to the block or call that the note is about."""

    name, action, keys, label, group = "go to it", "go", ("enter",), "go to it", "notes and bookmarks"


NOTE_LIST: tuple[type[Command], ...] = (GoToNote,)
