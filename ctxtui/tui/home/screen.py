"""Home: the user's sessions, painted from names, filled in as they are read (look book 4).

Home made of the user's own sessions.
"""

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
from ctxtui.services.worker import Worker
from ctxtui.tui.commands import EVERYWHERE, Command, Commanded, Situation, bindings, offered
from ctxtui.tui.commands.everywhere import Back
from ctxtui.tui.home.browser import Browser, OrderChanged
from ctxtui.tui.home.commands import ARCHIVED, FILE, HELD, HOME, READABLE, STORED, HomeActions
from ctxtui.tui.home.loader import TICK, Figured, Filled, HeldSeen, SessionsListed, Touched, Watch
from ctxtui.tui.home.panels import HomeHeader, SessionList
from ctxtui.tui.home.session_actions import Changes
from ctxtui.tui.lazy import later
from ctxtui.tui.messages import Open
from ctxtui.tui.widgets.keyline import ACCEPT, LEAVE, WHILE_TYPING, Key, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.home.collection import Collection
from ctxtui.views.home.columns import abbreviate_home
from ctxtui.views.home.session_list import SessionsSought
from ctxtui.views.home.totals import explain_totals
from ctxtui.views.text.signs import warned

if TYPE_CHECKING:
    from ctxtui.analysis.money.usage_stats import WorstMiss
    from ctxtui.services.attach import held_requests
    from ctxtui.services.workers.search_worker import SessionsSearch
    from ctxtui.services.workers.totals_worker import LedgerMaker, StatsMaker
    from ctxtui.views.glossary.spots import Spot
else:
    held_requests = later("ctxtui.services.attach.held_requests")


_AT_ONCE = 4
"""Keys of the key line before the one that leaves: open, filter, find, sort."""


class HomeScreen(HomeActions, Commanded, Screen[None]):
    """The list of sessions. `source` finds and reads them, `keeper` changes them, `directory` is where ctxtui was
    started, `home` the user's home folder, `sought` are sources with the places where their sessions are looked for.
    With `first_run` it says once what ctxtui is; `find` makes what searches all sessions, `ledger` what lists their
    tools."""

    commands: ClassVar[tuple[type[Command], ...]] = (*HOME, *EVERYWHERE)
    BINDINGS = bindings(HOME)
    AUTO_FOCUS = "#sessions"
    DEFAULT_CSS = """
    HomeScreen { layout: vertical; background: $background; }
    HomeScreen #prompt { display: none; }
    """

    def __init__(
        self,
        source: SessionLibrary,
        keeper: SessionActions,
        directory: Path,
        home: Path,
        *,
        first_run: bool = False,
        sought: Iterable[tuple[str, Iterable[str]]] = (),
        find: Callable[[], Worker[SessionsSearch]] | None = None,
        ledger: Callable[[], Worker[LedgerMaker]] | None = None,
        stats: Callable[[], Worker[StatsMaker]] | None = None,
    ) -> None:
        super().__init__()
        self.collection = Collection(str(directory), abbreviate_home(str(directory), str(home)))
        self.collection.sought = tuple(
            SessionsSought(name, " · ".join(abbreviate_home(place, str(home)) for place in where))
            for name, where in sought
        )
        self.browser = Browser(str(home), welcome=first_run)
        self.prompt = LineEdit(id="prompt")
        self.lookout = Watch(self, source, lambda: held_requests.hold_reasons(attached_dir()))
        self.changes = Changes(self.prompt, self.browser.rows, keeper, lambda: self.lookout.look(True))
        self._trouble = ""
        """What was told of the database."""
        self._glimpses = source.glimpses
        self._make_find, self._make_ledger, self._make_stats = find, ledger, stats

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield HomeHeader(self.collection.name)
        yield self.browser
        yield self.prompt
        yield KeyLine()

    def on_mount(self) -> None:
        """Names and times stand in the first frame; the rest begins after it."""
        self.collection.update(self._glimpses())
        self.show(to_top=True)
        self.call_after_refresh(self.lookout.start)
        self.set_interval(TICK, self._tick)

    def on_unmount(self) -> None:
        """The reading processes end with the screen."""
        self.lookout.stop()

    # Finding and reading

    def on_sessions_listed(self, message: SessionsListed) -> None:
        """Show what is there, read what is new or has grown."""
        # It waits for the next listing where a key's answer or a question stands on the line.
        if message.trouble and message.trouble != self._trouble and not self.prompt.display:
            self._trouble = message.trouble
            self.changes.tell(warned(f"the database was left out: {message.trouble}"))
        if self.collection.update(message.sessions):
            self.show()
        self._read()

    def on_touched(self, message: Touched) -> None:
        """Ages and live marks in place; figures follow."""
        for one in message.sessions:
            self.collection.mark_changed(one)
        self.show()
        self._read()

    def _read(self) -> None:
        self.lookout.read(self.collection.sessions[key] for key in self.collection.keys_to_read(time.monotonic()))
        self._progress()

    def on_figured(self, message: Figured) -> None:
        """Figures replace dots in place."""
        for one in message.sessions:
            self.collection.add_figures(one, time.monotonic())
        self.show()

    def on_held_seen(self, message: HeldSeen) -> None:
        """Requests wait for the user, or do not any more."""
        self.collection.held = message.held
        self.show()

    def on_filled(self, message: Filled) -> None:
        """All is read."""
        self.lookout.filled()
        self._progress()

    def _tick(self) -> None:
        if self.lookout.awake:
            self.browser.rows.tick(time.time())
            if self.collection.stale:
                self._read()

    def on_screen_suspend(self) -> None:
        """A session covers the list: nothing is looked at."""
        self.lookout.awake = False

    def on_screen_resume(self) -> None:
        """Back from a session: look at once, also into the database."""
        if not self.lookout.awake:
            self.lookout.awake = True
            self.lookout.look(True)

    # Showing

    @on(OrderChanged)
    def _ordered(self) -> None:
        self.show(to_top=True)

    def show(self, *, to_top: bool = False) -> None:
        """The list, the sums and the preview as they are now."""
        entries = self.collection.entries(self.browser.wanted)
        self.browser.show(entries, any_=bool(self.collection.sessions), to_top=to_top)
        self.query_one(HomeHeader).show(self.collection.totals(self.browser.wanted.words))
        self._progress()
        self._at_another()

    def _progress(self) -> None:
        self.browser.progress(*self.collection.progress(), self.lookout.reading)

    @on(SessionList.Moved)
    def _at_another(self) -> None:
        on_screen = tuple(self.browser.in_view())
        live = (one for one in self.collection.sessions.values() if one.live)
        self.lookout.feed.front = tuple(one.key for one in on_screen)
        self.lookout.near = tuple({one.key: one for one in (*on_screen, *live)}.values())
        self.browser.preview()
        shown = [command for command in self.commands_now() if command.label and not command.always]
        keys = [Key(*each.key_line()) for each in shown if each is not Back]
        question = self.changes.line.question
        if question is not None:
            self.query_one(KeyLine).show([LEAVE] if question.keys else [ACCEPT, LEAVE], right=WHILE_TYPING)
        else:
            out = Key("q", "quit", "", Back.actions())
            self.query_one(KeyLine).show([*keys[:_AT_ONCE], out, *keys[_AT_ONCE:]])

    def on_descendant_focus(self) -> None:
        """Other keys act while something is asked."""
        self._at_another()

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""
        one = self.browser.rows.current
        facts = {
            FILE: bool(one and one.path and not one.stored),
            STORED: bool(one and one.stored),
            ARCHIVED: bool(one and one.archived),
            READABLE: bool(one and not one.error),
            HELD: bool(self.collection.held),
        }
        return list(offered(self.commands, Situation("sessions", facts=frozenset(f for f, on in facts.items() if on))))

    # What the keys do

    @on(SessionList.Chosen)
    def _chosen(self) -> None:
        self.open_session()

    def open_session(self) -> None:
        """Open the session under the cursor."""
        one = self.browser.rows.current
        if one is not None and not one.error:
            self.post_message(Open(one.path or one.stored).on(self))

    def open_held(self) -> None:
        """Open the session of which a request waits for the user: the one under the cursor, else the first."""
        one, held = self.browser.rows.current, self.collection.held
        path = one.path if one is not None and one.path in held else next(iter(held), "")
        if path:
            self.post_message(Open(path).on(self))

    def change(self, what: str) -> None:
        """Import, export, rename, tag, archive or delete the session under the cursor."""
        one = self.browser.rows.current
        if one is not None and any(getattr(command, "what", "") == what for command in self.commands_now()):
            self.changes.begin(what, one)

    def show_archived(self) -> None:
        """List archived sessions too, or not."""
        self.collection.archived = not self.collection.archived
        self.show()

    def filter(self) -> None:
        """Into the filter."""
        self.browser.words.focus()

    def find(self) -> None:
        """A text in every session."""
        if self._make_find is not None:
            from ctxtui.tui.dialogs.find import FindScreen

            self.app.push_screen(FindScreen(self._make_find()))

    def show_tools(self) -> None:
        """The tools of every session."""
        if self._make_ledger is not None:
            from ctxtui.tui.lists.costs.tool_ledger import LedgerScreen

            self.app.push_screen(LedgerScreen(self._make_ledger()))

    def show_stats(self) -> None:
        """Where tokens and money went."""
        if self._make_stats is not None:
            from ctxtui.tui.lists.costs.stats import StatsScreen

            self.app.push_screen(StatsScreen(self._make_stats()), self._open_miss)

    def _open_miss(self, miss: WorstMiss | None) -> None:
        if miss is not None:
            self.post_message(Open(miss.key, note="`c` lists its misses").on(self))

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the figures at a spot are made of."""
        if spot.pane == "homeheader":
            return explain_totals(self.collection.totals(self.browser.wanted.words))
        return self.browser.sums(spot)

    def sort(self) -> None:
        """Sort by the next column."""
        self.browser.sort()

    def sort_by(self, name: str) -> None:
        """Sort by a column; by it already: the other way round."""
        self.browser.sort_by(name)

    def reverse(self) -> None:
        """The other way round."""
        self.browser.reverse()

    def leave(self) -> None:
        """Close the notice, the welcome, the filter: one at a time."""
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
        """A notice goes with the next key."""
        if self.prompt.display and not self.changes.asking and event.key != "escape":
            self.changes.close()


def home_screen(settings: Settings, directory: Path) -> HomeScreen:
    """Home as it is for this user in `directory`; the welcome comes once."""
    new = is_first_run(settings)
    if new:
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
        first_run=new,
        sought=search_places(settings.clients),
        find=find,
        ledger=ledger,
        stats=stats,
    )
