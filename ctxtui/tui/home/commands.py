"""Commands of Home."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command
from ctxtui.views.home.columns import sorts

FILE, STORED, ARCHIVED, READABLE = "file", "stored", "archived", "readable"
"""Facts about the session under the cursor: it is a file, the database holds it, it is archived, it can be read."""


class OpenSession(Command):
    """Open the session under the cursor in the inspector."""

    name, action, keys, label, group = "open session", "open_session", ("enter",), "open", "sessions"
    needs = frozenset({READABLE})


class FilterSessions(Command):
    """Show only sessions in which every word occurs: title, model, source, directory, first text, tags."""

    name, action, keys, label, group = "filter sessions", "filter", ("slash",), "filter", "sessions"


class FindText(Command):
    """Find a text in the blocks of every session; Enter opens one at the hit."""

    name, action, keys, label, short = "find text in all sessions", "find", ("f",), "find text", "find"
    group = "sessions"


class NextSort(Command):
    """Sort by the next column."""

    name, action, keys, label, group = "sort by next column", "sort", ("s",), "sort", "sessions"

    @classmethod
    def help(cls) -> str:
        """The help line, with the columns."""
        return f"Sort by the next column: {', '.join(column.name for column in sorts())}."


class ReverseSort(Command):
    """Turn the order round."""

    name, action, keys, group = "reverse order", "reverse", ("S",), "sessions"


class Import(Command):
    """Copy the session into ctxtui's own database, so that it stays when its file goes. The file is not changed."""

    name, action, keys, label, group = "import session", "change('import')", ("i", "I"), "import", "sessions"
    needs = frozenset({FILE, READABLE})


class ExportSession(Command):
    """Write the session to a file: ctxtui's own format, or the last call as a request body."""

    name, action, keys, label, group = "export session", "change('export')", ("e",), "export", "sessions"
    needs = frozenset({READABLE})


class Rename(Command):
    """Give the session a title of your own; it is imported first."""

    name, action, keys, label, group = "rename session", "change('rename')", ("r",), "rename", "sessions"
    needs = frozenset({READABLE})


class Tag(Command):
    """Set the session's tags, separated by blanks; it is imported first."""

    name, action, keys, label, group = "tag session", "change('tag')", ("t",), "tag", "sessions"
    needs = frozenset({READABLE})


class Archive(Command):
    """Take the session out of the list, or back into it; it is imported first."""

    name, action, keys, label, group = "archive session", "change('archive')", ("a",), "archive", "sessions"
    needs = frozenset({READABLE})


class Subscription(Command):
    """Mark the session as paid by a subscription (tokens lead, money is what the list says), or as paid by use."""

    name, action, keys, group = "paid by subscription or by use", "change('subscription')", ("dollar_sign",), "sessions"
    needs = frozenset({READABLE})


class ShowArchived(Command):
    """List archived sessions too, or hide them again."""

    name, action, keys, group = "show or hide archived sessions", "show_archived", ("A",), "sessions"


class Delete(Command):
    """Delete ctxtui's copy of the session; a recording that another program wrote is never touched."""

    name, action, keys, label, group = "delete stored session", "change('delete')", ("d",), "delete", "sessions"
    needs = frozenset({STORED})


class CloseOpen(Command):
    """Close what is open: the welcome, then the filter."""

    name, action, keys, group = "close what is open", "leave", ("escape",), "sessions"


HOME: tuple[type[Command], ...] = (
    OpenSession, FilterSessions, FindText, NextSort, Import, ExportSession, Rename, Tag, Archive, Delete,
    Subscription, ReverseSort, ShowArchived, CloseOpen,
)  # fmt: skip
