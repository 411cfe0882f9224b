"""Home: the list of the user's sessions, and its commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.screen import Screen

from ctxtui.services.config.clients import search_places
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.session_actions import SessionActions, is_first_run, mark_welcomed
from ctxtui.services.own_command import Target
from ctxtui.services.worker import Worker
from ctxtui.tui.commands import EVERYWHERE, Act, Command, CommandContext, Commanded, available_commands, bindings
from ctxtui.tui.commands.everywhere import Back
from ctxtui.tui.home.browser import Browser, OrderChanged
from ctxtui.tui.home.loader import (
    TICK_SECONDS,
    HeldRequestsChanged,
    ReadingDone,
    SessionFigures,
    SessionsChanged,
    SessionsListed,
    SessionWatcher,
)
from ctxtui.tui.home.panels import HomeHeader, SessionList
from ctxtui.tui.home.session_actions import SessionQuestions
from ctxtui.tui.lazy import later
from ctxtui.tui.messages import Open
from ctxtui.tui.widgets.keyline import ACCEPT, LEAVE, WHILE_TYPING, Key, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.home.collection import Collection
from ctxtui.views.home.columns import abbreviate_home, sorts
from ctxtui.views.home.session_list import SessionsSought
from ctxtui.views.home.totals import explain_totals
from ctxtui.views.text.signs import warned

if TYPE_CHECKING:
    from ctxtui.analysis.money.usage_stats import WorstMiss
    from ctxtui.services.attach import held_requests
    from ctxtui.services.workers.search_worker import SessionsSearch
    from ctxtui.services.workers.totals_worker import LedgerMaker, StatsMaker
    from ctxtui.views.glossary.spots import Spot
    from ctxtui.views.model.session_summary import SessionSummary
    from ctxtui.views.text.span import Spans
else:
    held_requests = later("ctxtui.services.attach.held_requests")


FILE, STORED, READABLE = "file", "stored", "readable"
"""Facts about the session at the cursor: only a file, in the database, readable."""
HELD = "held"
"""A request of an attached program is held."""


class _Change(Command):
    """A command that changes or copies the session under the cursor."""

    change: ClassVar[Callable[[SessionQuestions, SessionSummary], None]]

    def __init_subclass__(cls) -> None:
        cls.run = Act(lambda: HomeScreen, lambda home: home.change(cls))
        super().__init_subclass__()


class OpenSession(Command):
    """Open the session under the cursor in the inspector."""

    name, keys, label, group = "open session", ("enter",), "open", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.open_session())
    needs = frozenset({READABLE})


class OpenHeld(Command):
    """Open the session with a held request, to release or change it."""

    name, keys, label, short_label, group = "held request", ("ctrl+o",), "held request", "held", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.open_held())
    needs = frozenset({HELD})


class FilterSessions(Command):
    """Show only sessions that contain every word, or part of a word, that you type.

    Searched are title, models, source, directory, file, tags, the first text, the sentence and the error.
    """

    name, keys, label, group = "filter sessions", ("slash",), "filter", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.browser.filter.focus())


class FindText(Command):
    """Find a text in the blocks of every session; Enter opens one at the hit."""

    name, keys, label, short_label, group = "find text in all sessions", ("ctrl+f",), "find text", "find", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.find())


class ShowToolLedger(Command):
    """List the tools of MCP servers, or all tools, and whether to keep, defer or drop each.

    Each has the tokens of its definition, what they cost, and how often it was called.
    """

    name, group, synonyms = "tools of all sessions", "sessions", ("mcp", "servers")
    run = Act(lambda: HomeScreen, lambda home: home.show_tools())


class ShowStats(Command):
    """Show tokens and cost of all sessions by project, model, tool, week and more.

    Other groups are source, client version, skill, day and window of 5 hours.
    """

    name, keys, label, group = "stats of all sessions", ("dollar_sign",), "stats", "sessions"
    synonyms = ("total", "week", "quota", "usage", "money")
    run = Act(lambda: HomeScreen, lambda home: home.show_stats())


class NextSort(Command):
    """Sort by the next column."""

    name, keys, label, group = "sort by next column", ("S",), "sort", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.browser.sort())

    @classmethod
    def help(cls) -> str:
        return f"Sort by the next column: {', '.join(column.name for column in sorts())}."


class SortByCost(Command):
    """Sort by cost, most expensive first; again: cheapest first."""

    name, group = "sort by cost", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.browser.sort_by("cost"))


class ReverseSort(Command):
    """Reverse the sort order."""

    name, group = "reverse order", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.browser.reverse())


class Import(_Change):
    """Copy the session into ctxtui's database, so that it remains when its file is deleted.

    The file is not changed.
    """

    name, group = "import session", "sessions"
    change = SessionQuestions.import_
    needs = frozenset({FILE, READABLE})


class ExportSession(_Change):
    """Write the session to a file: ctxtui's own format, or the last call as a request body."""

    name, keys, label, group = "export session", ("ctrl+e",), "export", "sessions"
    change = SessionQuestions.export
    needs = frozenset({READABLE})


class Rename(_Change):
    """Give the session your own title; a file is imported first."""

    name, group = "rename session", "sessions"
    change = SessionQuestions.rename
    needs = frozenset({READABLE})


class Tag(_Change):
    """Set the session's tags, separated by blanks; a file is imported first."""

    name, group = "tag session", "sessions"
    change = SessionQuestions.tag
    needs = frozenset({READABLE})


class Archive(_Change):
    """Hide the session from the list, or show it again; a file is imported first."""

    name, group = "archive session", "sessions"
    change = SessionQuestions.archive
    needs = frozenset({READABLE})


class Subscription(_Change):
    """Mark the session as paid by a subscription, or by use; a file is imported first.

    With a subscription tokens come first, and cost is the list price.
    """

    name, group = "paid by subscription or by use", "sessions"
    change = SessionQuestions.subscription
    needs = frozenset({READABLE})


class ShowArchived(Command):
    """Show or hide archived sessions."""

    name, group = "show or hide archived sessions", "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.show_archived())


class Delete(_Change):
    """Delete the session from ctxtui's database; recordings of other programs are never touched.

    A chat of ctxtui is only there.
    """

    name, keys, label, group = "delete stored session", ("delete",), "delete", "sessions"
    change = SessionQuestions.delete
    needs = frozenset({STORED})


class CloseOpen(Command):
    """Close a notice, else clear the filter, else close the welcome."""

    name, keys, group = "close what is open", ("escape",), "sessions"
    run = Act(lambda: HomeScreen, lambda home: home.leave())


HOME: tuple[type[Command], ...] = (
    OpenSession, OpenHeld, FilterSessions, FindText, ShowStats, ShowToolLedger, NextSort, Import, ExportSession, Rename,
    Tag, Archive, Delete, SortByCost, Subscription, ReverseSort, ShowArchived, CloseOpen,
)  # fmt: skip


_KEYS_BEFORE_QUIT = 4
"""Keys of the key line before the quit key, normally open, filter, find, stats."""


class HomeScreen(Commanded, Screen[None]):
    """The list of sessions.

    - `source`: finds and reads them; `actions`: changes them.
    - `directory`: where ctxtui was started; `home`: the user's home folder.
    - `searched_places`: maps sources to the places that are searched.
    - `first_run`: shows the welcome.
    - `find`, `ledger`, `stats`: make workers for the search in all sessions, their tools, and their stats.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (*HOME, *EVERYWHERE)
    browser: Browser
    BINDINGS = bindings(HOME)
    AUTO_FOCUS = "#sessions"
    DEFAULT_CSS = """
    HomeScreen { layout: vertical; background: $background; }
    HomeScreen #prompt { display: none; }
    """

    def __init__(
        self,
        source: SessionLibrary,
        actions: SessionActions,
        directory: Path,
        home: Path,
        *,
        first_run: bool = False,
        searched_places: Iterable[tuple[str, Iterable[str]]] = (),
        find: Callable[[], Worker[SessionsSearch]] | None = None,
        ledger: Callable[[], Worker[LedgerMaker]] | None = None,
        stats: Callable[[], Worker[StatsMaker]] | None = None,
    ) -> None:
        super().__init__()
        self.collection = Collection(str(directory), abbreviate_home(str(directory), str(home)))
        self.collection.sought = tuple(
            SessionsSought(name, " · ".join(abbreviate_home(place, str(home)) for place in where))
            for name, where in searched_places
        )
        self.browser = Browser(str(home), welcome=first_run)
        self.prompt = LineEdit(id="prompt")
        self.watcher = SessionWatcher(self, source, lambda: held_requests.hold_reasons(attached_dir()))
        self.changes = SessionQuestions(self.prompt, self.browser.rows, actions, lambda: self.watcher.request_listing())
        self._trouble = ""
        """Last message about the database that was shown."""
        self._list_fast = source.list_fast
        self._make_find, self._make_ledger, self._make_stats = find, ledger, stats

    def compose(self) -> ComposeResult:
        yield HomeHeader(self.collection.name)
        yield self.browser
        yield self.prompt
        yield KeyLine()

    def on_mount(self) -> None:
        """Show names and times in the first frame, and start watching after it."""
        self.collection.update(self._list_fast())
        self.show(to_top=True)
        self.call_after_refresh(self.watcher.start)
        self.set_interval(TICK_SECONDS, self._tick)

    def on_unmount(self) -> None:
        self.watcher.stop()

    # Finding and reading

    def on_sessions_listed(self, message: SessionsListed) -> None:
        """Show the sessions, and read new and changed ones."""
        # If the line shows a question or a notice, this waits for the next listing.
        if message.trouble and message.trouble != self._trouble and not self.prompt.display:
            self._trouble = message.trouble
            self.changes.show_notice(warned(f"Sessions in the database are not shown: {message.trouble}"))
        if self.collection.update(message.sessions):
            self.show()
        self._read()

    def on_sessions_changed(self, message: SessionsChanged) -> None:
        """Update ages and live signs in place; figures follow."""
        for session in message.sessions:
            self.collection.mark_changed(session)
        self.show()
        self._read()

    def _read(self) -> None:
        self.watcher.read(self.collection.sessions[key] for key in self.collection.keys_to_read(time.monotonic()))
        self._progress()

    def on_session_figures(self, message: SessionFigures) -> None:
        for session in message.sessions:
            self.collection.add_figures(session, time.monotonic())
        self.show()

    def on_held_requests_changed(self, message: HeldRequestsChanged) -> None:
        self.collection.held_reasons = message.held
        self.show()

    def on_reading_done(self, message: ReadingDone) -> None:
        """Show that reading ended, and read what was added meanwhile."""
        self.watcher.finish_reading()
        self._progress()

    def _tick(self) -> None:
        if self.watcher.is_awake:
            self.browser.rows.tick(time.time())
            if self.collection.stale:
                self._read()

    def on_screen_suspend(self) -> None:
        self.watcher.is_awake = False

    def on_screen_resume(self) -> None:
        """After a pause, list all sessions again, including the database."""
        if not self.watcher.is_awake:
            self.watcher.is_awake = True
            self.watcher.request_listing()

    # Showing

    @on(OrderChanged)
    def _order_changed(self) -> None:
        self.show(to_top=True)

    def show(self, *, to_top: bool = False) -> None:
        """Update list, totals and preview."""
        entries = self.collection.entries(self.browser.list_order)
        self.browser.show(entries, has_sessions=bool(self.collection.sessions), to_top=to_top)
        self.query_one(HomeHeader).show(self.collection.totals(self.browser.list_order.words))
        self._progress()
        self._update_at_cursor()

    def _progress(self) -> None:
        self.browser.progress(*self.collection.progress(), self.watcher.is_reading)

    @on(SessionList.Moved)
    def _update_at_cursor(self) -> None:
        """Update the preview, the sessions to watch and to read first, and the key line."""
        on_screen = tuple(self.browser.in_view())
        live = (session for session in self.collection.sessions.values() if session.live)
        self.watcher.queue.front = tuple(session.key for session in on_screen)
        self.watcher.watched = tuple({session.key: session for session in (*on_screen, *live)}.values())
        self.browser.preview()
        shown = [command for command in self.commands_now() if command.label and not command.is_always_shown]
        keys = [Key(*each.key_line()) for each in shown if each is not Back]
        question = self.changes.line.question
        if question is not None:
            self.query_one(KeyLine).show([LEAVE] if question.keys else [ACCEPT, LEAVE], right=WHILE_TYPING)
        else:
            quit_key = Key("q", "quit", "", Back.actions())
            self.query_one(KeyLine).show([*keys[:_KEYS_BEFORE_QUIT], quit_key, *keys[_KEYS_BEFORE_QUIT:]])

    def on_descendant_focus(self) -> None:
        """Update the key line: other keys act while a question is open."""
        self._update_at_cursor()

    def commands_now(self) -> list[type[Command]]:
        session = self.browser.rows.current
        facts = {
            FILE: bool(session and session.path and not session.stored),
            STORED: bool(session and session.stored),
            READABLE: bool(session and not session.error),
            HELD: bool(self.collection.held_reasons),
        }
        return list(
            available_commands(
                self.commands, CommandContext("sessions", facts=frozenset(f for f, on in facts.items() if on))
            )
        )

    # What the keys do

    @on(SessionList.Chosen)
    def _chosen(self) -> None:
        self.open_session()

    def open_session(self) -> None:
        session = self.browser.rows.current
        if session is not None and not session.error:
            self.post_message(Open(session.path or session.stored).sent_from(self))

    def open_held(self) -> None:
        """Open the session of a held request: the one under the cursor, else the first."""
        session, held_paths = self.browser.rows.current, self.collection.held_reasons
        path = session.path if session is not None and session.path in held_paths else next(iter(held_paths), "")
        if path:
            self.post_message(Open(path).sent_from(self))

    def change(self, command: type[_Change]) -> None:
        session = self.browser.rows.current
        if session is not None and command in self.commands_now():
            command.change(self.changes, session)

    def target(self) -> Target:
        session = self.browser.rows.current
        return Target({"CTXTUI_SESSION": session.path or session.stored} if session is not None else {})

    def show_message(self, message: Spans) -> None:
        """Show a notice until the next key."""
        self.changes.show_notice(message)

    def show_archived(self) -> None:
        self.collection.archived = not self.collection.archived
        self.show()

    def find(self) -> None:
        if self._make_find is not None:
            from ctxtui.tui.dialogs.find import FindScreen

            self.app.push_screen(FindScreen(self._make_find()))

    def show_tools(self) -> None:
        if self._make_ledger is not None:
            from ctxtui.tui.lists.costs.tool_ledger import LedgerScreen

            self.app.push_screen(LedgerScreen(self._make_ledger()))

    def show_stats(self) -> None:
        if self._make_stats is not None:
            from ctxtui.tui.lists.costs.stats import StatsScreen

            self.app.push_screen(StatsScreen(self._make_stats()), self._open_miss)

    def _open_miss(self, miss: WorstMiss | None) -> None:
        if miss is not None:
            self.post_message(Open(miss.key, note="`c` lists its misses").sent_from(self))

    def sums(self, spot: Spot) -> Mapping[str, str]:
        if spot.pane == "homeheader":
            return explain_totals(self.collection.totals(self.browser.list_order.words))
        return self.browser.sums(spot)

    def leave(self) -> None:
        """Close the notice, else clear the filter, else close the welcome."""
        if self.prompt.display:
            self.changes.close()
        else:
            self.browser.leave()

    @on(LineEdit.Submitted, "#prompt")
    def _answered(self) -> None:
        self.changes.line.submit(self.prompt.text)

    @on(LineEdit.Left, "#prompt")
    def _unanswered(self) -> None:
        self.changes.close()

    def on_key(self, event: events.Key) -> None:
        if self.prompt.display and not self.changes.is_asking and event.key != "escape":
            self.changes.close()


def home_screen(settings: Settings, directory: Path) -> HomeScreen:
    """Make Home for this user in `directory`; the welcome is shown once."""
    shows_welcome = is_first_run(settings)
    if shows_welcome:
        mark_welcomed(settings)

    def find() -> Worker[SessionsSearch]:
        from ctxtui.services.workers.search_worker import SessionsSearch

        return Worker(SessionsSearch, settings, directory)

    def ledger() -> Worker[LedgerMaker]:
        from ctxtui.services.workers.totals_worker import LedgerMaker

        return Worker(LedgerMaker, settings, directory)

    def stats() -> Worker[StatsMaker]:
        from ctxtui.services.workers.totals_worker import StatsMaker

        return Worker(StatsMaker, settings, directory)

    return HomeScreen(
        SessionLibrary(settings, directory),
        SessionActions(settings),
        directory,
        Path.home(),
        first_run=shows_welcome,
        searched_places=search_places(settings.clients),
        find=find,
        ledger=ledger,
        stats=stats,
    )
