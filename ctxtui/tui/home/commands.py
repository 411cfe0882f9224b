"""The commands of Home, in the order of their use."""

from __future__ import annotations

from typing import ClassVar

from ctxtui.tui.commands import Act, Command
from ctxtui.views.home.columns import sorts

FILE, STORED, ARCHIVED, READABLE = "file", "stored", "archived", "readable"
"""Facts about the session under the cursor: it is a file, the database holds it, it is archived, it can be read."""
HELD = "held"
"""A request of some session waits for the user."""


class HomeActions:
    """What the commands of Home do; its screen does it."""

    def open_session(self) -> None:
        """Open the session under the cursor."""

    def open_held(self) -> None:
        """Open the session of which a request waits for the user."""

    def change(self, what: str) -> None:
        """Import, export, rename, tag, archive or delete the session under the cursor."""

    def show_archived(self) -> None:
        """List archived sessions too, or not."""

    def filter(self) -> None:
        """Into the filter."""

    def find(self) -> None:
        """A text in every session."""

    def show_tools(self) -> None:
        """The tools of every session."""

    def show_stats(self) -> None:
        """Where tokens and money went."""

    def sort(self) -> None:
        """Sort by the next column."""

    def sort_by(self, name: str) -> None:
        """Sort by a column; by it already: the other way round."""

    def reverse(self) -> None:
        """The other way round."""

    def leave(self) -> None:
        """Close the notice, the welcome, the filter: one at a time."""


class _Change(Command):
    """A command that changes the session under the cursor, or copies it."""

    what: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.run = Act(lambda: HomeActions, lambda home: home.change(cls.what))
        super().__init_subclass__()


class OpenSession(Command):
    """Open the session under the cursor in the inspector."""

    name, keys, label, group = "open session", ("enter",), "open", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.open_session())
    needs = frozenset({READABLE})


class OpenHeld(Command):
    """Open the session of which a request waits for you, and decide about it."""

    name, keys, label, short, group = "held request", ("ctrl+o",), "held request", "held", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.open_held())
    needs = frozenset({HELD})


class FilterSessions(Command):
    """Show only sessions in which every word occurs: title, model, source, directory, first text, tags."""

    name, keys, label, group = "filter sessions", ("slash",), "filter", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.filter())


class FindText(Command):
    """Find a text in the blocks of every session; Enter opens one at the hit."""

    name, keys, label, short, group = "find text in all sessions", ("ctrl+f",), "find text", "find", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.find())


class ShowToolLedger(Command):
    """The tools of all sessions by server: what their definitions took, whether they were called, and whether to keep,
    defer or drop each."""

    name, group, sought = "tools of all sessions", "sessions", ("mcp", "servers")
    run = Act(lambda: HomeActions, lambda home: home.show_tools())


class ShowStats(Command):
    """Where tokens and money of all sessions went: by project, model, tool, client version, skill, week, windows of 5
    hours; hit share, misses, calls over the usable window."""

    name, keys, label, group = "stats of all sessions", ("dollar_sign",), "stats", "sessions"
    sought = ("total", "week", "quota", "usage", "money")
    run = Act(lambda: HomeActions, lambda home: home.show_stats())


class NextSort(Command):
    """Sort by the next column."""

    name, keys, label, group = "sort by next column", ("S",), "sort", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.sort())

    @classmethod
    def help(cls) -> str:
        """The help line, with the columns."""
        return f"Sort by the next column: {', '.join(column.name for column in sorts())}."


class SortByCost(Command):
    """The dearest session first; again: the cheapest."""

    name, group = "sort by cost", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.sort_by("cost"))


class ReverseSort(Command):
    """Turn the order round."""

    name, group = "reverse order", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.reverse())


class Import(_Change):
    """Copy the session into ctxtui's own database, so that it stays when its file goes. The file is not changed."""

    name, group = "import session", "sessions"
    what = "import"
    needs = frozenset({FILE, READABLE})


class ExportSession(_Change):
    """Write the session to a file: ctxtui's own format, or the last call as a request body."""

    name, keys, label, group = "export session", ("ctrl+e",), "export", "sessions"
    what = "export"
    needs = frozenset({READABLE})


class Rename(_Change):
    """Give the session a title of your own; it is imported first."""

    name, group = "rename session", "sessions"
    what = "rename"
    needs = frozenset({READABLE})


class Tag(_Change):
    """Set the session's tags, separated by blanks; it is imported first."""

    name, group = "tag session", "sessions"
    what = "tag"
    needs = frozenset({READABLE})


class Archive(_Change):
    """Take the session out of the list, or back into it; it is imported first."""

    name, group = "archive session", "sessions"
    what = "archive"
    needs = frozenset({READABLE})


class Subscription(_Change):
    """Mark the session as paid by a subscription (tokens lead, money is what the list says), or as paid by use."""

    name, group = "paid by subscription or by use", "sessions"
    what = "subscription"
    needs = frozenset({READABLE})


class ShowArchived(Command):
    """List archived sessions too, or hide them again."""

    name, group = "show or hide archived sessions", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.show_archived())


class Delete(_Change):
    """Delete ctxtui's copy of the session; a recording that another program wrote is never touched."""

    name, keys, label, group = "delete stored session", ("delete",), "delete", "sessions"
    what = "delete"
    needs = frozenset({STORED})


class CloseOpen(Command):
    """Close what is open: the welcome, then the filter."""

    name, keys, group = "close what is open", ("escape",), "sessions"
    run = Act(lambda: HomeActions, lambda home: home.leave())


HOME: tuple[type[Command], ...] = (
    OpenSession, OpenHeld, FilterSessions, FindText, ShowStats, ShowToolLedger, NextSort, Import, ExportSession, Rename,
    Tag, Archive, Delete, SortByCost, Subscription, ReverseSort, ShowArchived, CloseOpen,
)  # fmt: skip
