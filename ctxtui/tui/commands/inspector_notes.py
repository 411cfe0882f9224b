"""Commands of the inspector for notes and bookmarks."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation

NOTES = "notes"
"""The fact that there are notes or bookmarks."""
_BLOCK = "block"


class _Notes(Command):
    group = "notes and bookmarks"


class Bookmark(_Notes):
    """Mark the block under the cursor with ★, or take the mark away. It stays when the recording is read anew."""

    name, action, keys = "bookmark block", "bookmark", ("asterisk",)

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Only with a block under the cursor."""
        return at.row == _BLOCK


class BookmarkCall(_Notes):
    """Mark the call shown with ★ in the strip of calls, or take the mark away."""

    name, action, keys = "bookmark call", "bookmark_call", ("number_sign",)


class WriteNote(Bookmark):
    """Jot a note on the block under the cursor; an empty one is taken away."""

    name, action, keys = "jot a note on block", "write_note", ("J",)


class WriteOnCall(_Notes):
    """Jot a note on the call shown."""

    name, action, keys = "jot a note on call", "write_on_call", ("C",)


class NextMarked(_Notes):
    """To the next note or bookmark of the session, in the order of its calls."""

    name, action, keys = "next note or bookmark", "next_marked(1)", ("apostrophe",)

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Where there are any."""
        return NOTES in at.facts


class PreviousMarked(NextMarked):
    """To the note or bookmark before."""

    name, action, keys = "previous note or bookmark", "next_marked(-1)", ("quotation_mark",)


class ListNotes(NextMarked):
    """All notes and bookmarks of the session; Enter goes to one."""

    name, action, keys = "notes and bookmarks", "notes", ("B",)


NOTING: tuple[type[Command], ...] = (
    Bookmark, WriteNote, ListNotes, NextMarked, PreviousMarked, BookmarkCall, WriteOnCall,
)  # fmt: skip
