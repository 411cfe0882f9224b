"""Home's commands, in the order of use."""

from __future__ import annotations

from typing import ClassVar

from ctxtui.tui.commands import Act, Command
from ctxtui.views.home.columns import sorts

FILE, STORED, READABLE = "file", "stored", "readable"
"""Facts about the session at the cursor: only a file, in the database, readable."""
HELD = "held"
"""A request of some session is held for the user."""


class HomeActions:
    """Actions of Home's commands, implemented by its screen."""

    def open_session(self) -> None:
        """Open the session under the cursor."""

    def open_held(self) -> None:
        """Open the session whose request is held."""

    def change(self, what: str) -> None:
        """Run a `_Change` command on the session under the cursor; `what` is its name there."""

    def show_archived(self) -> None:
        """Show or hide archived sessions."""

    def filter(self) -> None:
        """Focus the filter."""

    def find(self) -> None:
        """Search for a text in every session."""

    def show_tools(self) -> None:
        """List the tools of all sessions."""

    def show_stats(self) -> None:
        """List tokens and cost of all sessions."""

    def sort(self) -> None:
        """Sort by the next column."""

    def sort_by(self, name: str) -> None:
        """Sort by a column, or reverse the order if it is sorted by it."""

    def reverse(self) -> None:
        """Reverse the order."""

    def leave(self) -> None:
        """Close the notice, the welcome, then the filter, one at a time."""


class _Change(Command):
    """A command that changes or copies the session under the cursor; `what` names it in `SessionQuestions.begin`."""

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
    """Open the session with a held request, to release or change it."""

    name, keys, label, short_label, group = "held request", ("ctrl+o",), "held request", "held", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.open_held())
    needs = frozenset({HELD})


class FilterSessions(Command):
    """Show only sessions that contain every word in title, model, source, directory, first text or tags."""

    name, keys, label, group = "filter sessions", ("slash",), "filter", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.filter())


class FindText(Command):
    """Find a text in the blocks of every session; Enter opens one at the hit."""

    name, keys, label, short_label, group = "find text in all sessions", ("ctrl+f",), "find text", "find", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.find())


class ShowToolLedger(Command):
    """List the tools of all sessions by server: tokens of their definitions, calls, and whether to keep,
    defer or drop each.
    """

    name, group, synonyms = "tools of all sessions", "sessions", ("mcp", "servers")
    run = Act(lambda: HomeActions, lambda home: home.show_tools())


class ShowStats(Command):
    """Show tokens and cost of all sessions by project, model, tool, client version, skill, week or window of 5
    hours; also cache hits, misses and calls over the usable window.
    """

    name, keys, label, group = "stats of all sessions", ("dollar_sign",), "stats", "sessions"
    synonyms = ("total", "week", "quota", "usage", "money")
    run = Act(lambda: HomeActions, lambda home: home.show_stats())


class NextSort(Command):
    """Sort by the next column."""

    name, keys, label, group = "sort by next column", ("S",), "sort", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.sort())

    @classmethod
    def help(cls) -> str:
        """Return the help line with the columns."""
        return f"Sort by the next column: {', '.join(column.name for column in sorts())}."


class SortByCost(Command):
    """Sort by cost, most expensive first; again: cheapest first."""

    name, group = "sort by cost", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.sort_by("cost"))


class ReverseSort(Command):
    """Reverse the sort order."""

    name, group = "reverse order", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.reverse())


class Import(_Change):
    """Copy the session into ctxtui's database, so that it remains when its file is deleted. The file is not changed."""

    name, group = "import session", "sessions"
    what = "import"
    needs = frozenset({FILE, READABLE})


class ExportSession(_Change):
    """Write the session to a file: ctxtui's own format, or the last call as a request body."""

    name, keys, label, group = "export session", ("ctrl+e",), "export", "sessions"
    what = "export"
    needs = frozenset({READABLE})


class Rename(_Change):
    """Give the session your own title; this imports it first."""

    name, group = "rename session", "sessions"
    what = "rename"
    needs = frozenset({READABLE})


class Tag(_Change):
    """Set the session's tags, separated by blanks; this imports it first."""

    name, group = "tag session", "sessions"
    what = "tag"
    needs = frozenset({READABLE})


class Archive(_Change):
    """Hide the session from the list, or show it again; this imports it first."""

    name, group = "archive session", "sessions"
    what = "archive"
    needs = frozenset({READABLE})


class Subscription(_Change):
    """Mark the session as paid by a subscription (tokens come first, cost is the list price), or by use."""

    name, group = "paid by subscription or by use", "sessions"
    what = "subscription"
    needs = frozenset({READABLE})


class ShowArchived(Command):
    """Show or hide archived sessions."""

    name, group = "show or hide archived sessions", "sessions"
    run = Act(lambda: HomeActions, lambda home: home.show_archived())


class Delete(_Change):
    """Delete ctxtui's copy of the session; recordings of other programs are never touched."""

    name, keys, label, group = "delete stored session", ("delete",), "delete", "sessions"
    what = "delete"
    needs = frozenset({STORED})


class CloseOpen(Command):
    """Close the welcome, then clear the filter."""

    name, keys, group = "close what is open", ("escape",), "sessions"
    run = Act(lambda: HomeActions, lambda home: home.leave())


HOME: tuple[type[Command], ...] = (
    OpenSession, OpenHeld, FilterSessions, FindText, ShowStats, ShowToolLedger, NextSort, Import, ExportSession, Rename,
    Tag, Archive, Delete, SortByCost, Subscription, ReverseSort, ShowArchived, CloseOpen,
)  # fmt: skip
