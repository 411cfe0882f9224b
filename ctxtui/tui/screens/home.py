"""Home: the user's sessions, painted from names, filled in as they are read (look book 4)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from ctxtui.tui.commands import EVERYWHERE, Command, Situation, bindings, offered
from ctxtui.tui.commands.home import ARCHIVED, FILE, HOME, READABLE, STORED
from ctxtui.tui.look.keyline import Key, KeyLine
from ctxtui.tui.messages import Open
from ctxtui.tui.screens.home_changes import Changes, Keeper
from ctxtui.tui.screens.home_feed import Figured, Filled, Listed, Sessions
from ctxtui.tui.screens.home_watch import TICK, Watch
from ctxtui.tui.widgets.home_boards import CompositionPreview, GrowthPreview, Heads, HomeHeader, Welcome
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.session_list import SessionList
from ctxtui.views import home_layout
from ctxtui.views.home import SessionSummary
from ctxtui.views.home_collection import Collection
from ctxtui.views.home_list import SORTS, Wanted
from ctxtui.views.home_row import shortened_home
from ctxtui.views.home_status import empty, status
from ctxtui.views.home_welcome import HEIGHT
from ctxtui.views.span import Span


class HomeScreen(Screen[None]):
    """The list of sessions. `source` finds and reads them, `keeper` changes them, `directory` is where ctxtui was
    started, `home` the user's home folder. With `first_run` it says once what ctxtui is."""

    commands: ClassVar[tuple[type[Command], ...]] = (*HOME, *EVERYWHERE)
    BINDINGS = bindings(HOME)
    AUTO_FOCUS = "#sessions"
    DEFAULT_CSS = """
    HomeScreen { layout: vertical; background: $background; }
    HomeScreen #preview { height: 11; }
    HomeScreen #growth { width: 1fr; }
    HomeScreen #prompt, HomeScreen #welcome { display: none; }
    """

    def __init__(
        self, source: Sessions, keeper: Keeper, directory: Path, home: Path, *, first_run: bool = False
    ) -> None:
        super().__init__()
        self.collection = Collection(str(directory), shortened_home(str(directory), str(home)))
        self.wanted = Wanted()
        self.lookout = Watch(self, source)
        self._glimpses = source.glimpses
        self._first_run = first_run
        self.rows = SessionList(str(home), id="sessions")
        self.words = LineEdit(id="filter")
        self.prompt = LineEdit(id="prompt")
        self.changes = Changes(self.prompt, self.rows, keeper, lambda: self.lookout.look(True))

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield HomeHeader(self.collection.name)
        yield self.words
        yield Heads()
        yield Welcome(title="welcome", id="welcome")
        yield self.rows
        with Horizontal(id="preview"):
            yield CompositionPreview(title="composition at peak", id="composition")
            yield GrowthPreview(self.rows.home, title="growth", join="┬", id="growth")
        yield self.prompt
        yield KeyLine()

    def on_mount(self) -> None:
        """Names and times stand in the first frame; the rest begins after it."""
        self.words.lead, self.words.hint = [Span(" / ", "accent bold")], [Span("type to filter", "faint")]
        welcome = self.query_one("#welcome")
        welcome.styles.height, welcome.display = HEIGHT, self._first_run
        self.rows.now = time.time()
        self.collection.see(self._glimpses())
        self.show(to_top=True)
        self.call_after_refresh(self.lookout.look, True)
        self.set_interval(TICK, self._tick)

    def on_unmount(self) -> None:
        """The reading processes end with the screen."""
        self.lookout.stop()

    # Finding and reading

    def on_listed(self, message: Listed) -> None:
        """Show what is there, read what is new or has grown."""
        self.lookout.looked(message.took)
        if self.collection.see(message.sessions):
            self.show()
        self.lookout.read(self.collection.sessions[key] for key in self.collection.wanting(time.monotonic()))
        self._status()

    def on_figured(self, message: Figured) -> None:
        """Figures replace dots in place."""
        for one in message.sessions:
            self.collection.put(one, time.monotonic())
        self.show()

    def on_filled(self, message: Filled) -> None:
        """All is read."""
        self.lookout.filled()
        self._status()

    def _tick(self) -> None:
        if self.app.screen is self:
            self.rows.tick(time.time())
            if self.lookout.due():
                self.lookout.look()

    def on_screen_resume(self) -> None:
        """Back from a session: look at once, also into the database."""
        if self.collection.sessions:
            self.lookout.look(True)

    # Showing

    def show(self, *, to_top: bool = False) -> None:
        """The list, the sums and the preview as they are now."""
        self.rows.none = empty(bool(self.collection.sessions), self.wanted.words)
        self.rows.show(self.collection.entries(self.wanted), to_top=to_top)
        self.query_one(HomeHeader).show(self.collection.totals())
        self.query_one(Heads).show(SORTS[self.wanted.sort].name)
        self._status()
        self._at_another()

    def _status(self) -> None:
        done, total = self.collection.progress()
        self.words.right = status(done, total, self.lookout.reading, self.wanted)
        self.words.refresh()

    @on(SessionList.Moved)
    def _at_another(self) -> None:
        self.lookout.feed.front = tuple(self._in_view())
        self.query_one(CompositionPreview).show(self.rows.current)
        self.query_one(GrowthPreview).show(self.rows.current)
        shown = [command for command in self.commands_now() if command.label and not command.always]
        self.query_one(KeyLine).keys = [Key(each.key_shown(), each.label, each.short) for each in shown]

    def _in_view(self) -> Iterator[str]:
        for index in self.rows.in_view():
            entry = self.rows.entries[index]
            if isinstance(entry, SessionSummary):
                yield entry.key

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""
        one = self.rows.current
        facts = {
            FILE: bool(one and one.path and not one.stored),
            STORED: bool(one and one.stored),
            ARCHIVED: bool(one and one.archived),
            READABLE: bool(one and not one.error),
        }
        return list(offered(self.commands, Situation("sessions", facts=frozenset(f for f, on in facts.items() if on))))

    def on_resize(self, event: events.Resize) -> None:
        """The preview gets what the height allows."""
        parts = home_layout.preview(event.size.width, event.size.height)
        self.query_one("#preview").styles.height = parts.height
        self.query_one("#preview").display = parts.height > 0
        self.query_one("#composition").styles.width = parts.composition
        self.call_after_refresh(self._at_another)

    # What the keys do

    @on(SessionList.Chosen)
    def action_open_session(self) -> None:
        """Open the session under the cursor."""
        one = self.rows.current
        if one is not None and not one.error:
            self.post_message(Open(one.path or one.stored))

    def action_change(self, what: str) -> None:
        """Import, export, rename, tag, archive or delete the session under the cursor."""
        one = self.rows.current
        if one is not None and any(command.action == f"change('{what}')" for command in self.commands_now()):
            self.changes.begin(what, one)

    def action_show_archived(self) -> None:
        """List archived sessions too, or not."""
        self.collection.archived = not self.collection.archived
        self.show()

    def action_filter(self) -> None:
        """Into the filter."""
        self.words.focus()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort((self.wanted.sort + 1) % len(SORTS))

    def action_reverse(self) -> None:
        """The other way round."""
        self._want(replace(self.wanted, falling=not self.wanted.falling))

    def _sort(self, number: int) -> None:
        self._want(replace(self.wanted, sort=number, falling=SORTS[number].falling))

    def _want(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.show(to_top=True)

    @on(Heads.Clicked)
    def _head_clicked(self, message: Heads.Clicked) -> None:
        number = next((i for i, sort in enumerate(SORTS) if sort.name == message.head), None)
        if number == self.wanted.sort:
            self.action_reverse()
        elif number is not None:
            self._sort(number)

    def action_leave(self) -> None:
        """Close the notice, the welcome, the filter: one at a time."""
        welcome = self.query_one("#welcome")
        if self.prompt.display:
            self.changes.close()
        elif welcome.display:
            welcome.display = False
        elif self.wanted.words:
            self.words.set_text("")
            self._want(replace(self.wanted, words=""))

    # Typing

    @on(LineEdit.Changed, "#filter")
    def _filter_changed(self) -> None:
        self._want(replace(self.wanted, words=self.words.text))

    @on(LineEdit.Submitted, "#filter")
    def _filter_kept(self) -> None:
        self.rows.focus()

    @on(LineEdit.Left, "#filter")
    def _filter_left(self) -> None:
        self.rows.focus()
        self.action_leave()

    @on(LineEdit.Submitted, "#prompt")
    def _answered(self) -> None:
        self.changes.submitted(self.prompt.text)

    @on(LineEdit.Left, "#prompt")
    def _unanswered(self) -> None:
        self.changes.close()

    def on_key(self, event: events.Key) -> None:
        """The list moves while the filter is typed; a notice goes with the next key."""
        if self.words.has_focus and event.key in ("up", "down"):
            self.rows.action_move(1 if event.key == "down" else -1)
        elif self.words.has_focus and event.key in ("pageup", "pagedown"):
            self.rows.action_page(1 if event.key == "pagedown" else -1)
        elif self.prompt.display and not self.changes.asking and event.key != "escape":
            self.changes.close()
