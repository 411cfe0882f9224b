"""The Inspector: one screen for any call of any session, recorded or growing (look book 1, 2)."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.layout import Layout
from textual.screen import Screen
from textual.timer import Timer

from ctxtui.core.session import MAIN
from ctxtui.runtime.loaded import Loaded
from ctxtui.runtime.study import Study
from ctxtui.tui.commands import EVERYWHERE, Command, Situation, bindings, offered
from ctxtui.tui.commands.inspector import BLOCK, CALLS, FILTERED, FOLLOWS, INSPECTOR, THREADS
from ctxtui.tui.look.keyline import Key, KeyLine
from ctxtui.tui.messages import GoHome
from ctxtui.tui.screens.inspector_blocks import BlockActions
from ctxtui.tui.screens.inspector_feed import Began, Brought, Complete, Failed, Feed, Glimpsed, Source, Worked
from ctxtui.tui.screens.inspector_panels import ALL_LINES, Panels, View
from ctxtui.tui.screens.inspector_travel import Travel
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.stage import Stage
from ctxtui.tui.widgets.transcript import Transcript
from ctxtui.views.span import Span, Spans

_POINT = 0.06
"""Seconds for which the cursor must rest before the map's mark follows: a frame of the cursor alone costs a third."""
_LIVE_EVERY = 5.0
"""Seconds between looks at whether a recording is still being written."""


class InspectorScreen(Travel, Screen[None]):
    """Shows the session that `source` opens. `pager` is the user's setting, `follow` whether a growing recording is
    followed at once."""

    commands: ClassVar[tuple[type[Command], ...]] = (*INSPECTOR, *EVERYWHERE)
    BINDINGS = bindings(INSPECTOR)
    AUTO_FOCUS = "#transcript"
    DEFAULT_CSS = """
    InspectorScreen { background: $background; }
    InspectorScreen KeyLine { dock: none; }
    """

    def __init__(self, source: Source, *, pager: str = "", follow: bool = True) -> None:
        super().__init__()
        self.panels = Panels()
        self.prompt = LineEdit(id="prompt")
        self.keys = KeyLine(id="keys")
        self.blocks = BlockActions(self.panels.transcript, self.say)
        self.feed = Feed(source, self.post_message)
        self.study: Study | None = None
        self.loaded: Loaded | None = None
        self.glimpse: Study | None = None
        self.thread = MAIN
        self.index = 0
        self.shown: tuple[str, ...] = ALL_LINES
        self.follows = follow
        self.live = False
        self.complete = False
        self._source = source
        self._stage = Stage(self._boxes)
        self._pager = pager
        self._said = False
        self._pointing: Timer | None = None
        self._known: tuple[object, ...] = ()
        self._situation: Situation | None = None

    @property
    def session_name(self) -> str:
        """What is open, for a crash's message."""
        return str(self.loaded.path or self.loaded.name) if self.loaded is not None else ""

    @property
    def layout(self) -> Layout:
        """Textual asks here where the panes stand."""
        return self._stage

    def compose(self) -> ComposeResult:
        """All panes, in the order of the focus; where they stand is the stage's business."""
        yield from self.panels.widgets()
        yield self.keys
        yield self.prompt  # on a tiny screen it stands over the keys

    def on_mount(self) -> None:
        """The empty screen is the first frame; reading begins behind it."""
        self.prompt.can_focus = False
        self.prompt.lead = [Span(" › ", "accent")]
        self.say(())
        self._offer()
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.run_worker(self.feed.read, thread=True, group="feed", exit_on_error=True)
        self.run_worker(self.feed.figure, thread=True, group="feed", exit_on_error=True)
        self.set_interval(_LIVE_EVERY, self._look_alive)

    def on_unmount(self) -> None:
        """The threads and helpers end with the screen."""
        self.feed.stop()

    def _boxes(self, width: int, height: int) -> dict[str, Any]:
        boxes = dict(self.panels.boxes(width, height))
        if boxes.get("prompt") == boxes.get("keys") and not (self.asking or self._said):
            boxes.pop("prompt", None)
        return boxes

    # What the threads post

    def on_glimpsed(self, message: Glimpsed) -> None:
        """The end of a long recording: something to read until the whole of it is."""
        self.glimpse = self._source.study(message.session)
        self.thread = MAIN if MAIN in message.session.threads else next(iter(message.session.threads))
        self.panels.open(self.glimpse)
        self.show(to_end=True)
        self.call_after_refresh(self.feed.taken)

    def on_began(self, message: Began) -> None:
        """The recording is open."""
        self.loaded = message.loaded
        self._open()

    def _open(self) -> None:
        assert self.loaded is not None
        self.study = self._source.study(self.loaded.session)
        if self.glimpse is None:
            self.panels.open(self.study)
        self.feed.work_on(self.study)

    def on_brought(self, message: Brought) -> None:
        """There is more: take it, and show it if the view stands at the end."""
        if self.loaded is None:
            return
        at_end = self._at_end()
        fresh = message.news.reading is not None
        self.loaded.take(message.news)
        if fresh:
            self._open()
        self.live = self.live or self.complete
        self.session_grew(at_end=at_end)
        self.feed.taken()

    def session_grew(self, *, at_end: bool) -> None:
        """The session has more than before; with `at_end` the view goes along while it follows."""
        if self.study is None:
            return
        self.study.grew()
        if self.glimpse is not None:
            self._progress()
            self.feed.work()
            return
        if self.thread not in self.study.session.threads and self.study.session.threads:
            self.thread = MAIN if MAIN in self.study.session.threads else next(iter(self.study.session.threads))
        if at_end and (self.follows or not self.complete):
            self.index = len(self.study.thread(self.thread).calls) - 1
        self.show(to_end=at_end and (self.follows or not self.complete))
        self.feed.work()

    def on_complete(self, message: Complete) -> None:
        """All that is there now is read."""
        self.complete = True
        if self.glimpse is not None and self.study is not None:
            self.glimpse = None
            self.panels.open(self.study)
            self.index = len(self.study.thread(self.thread).calls) - 1
            self.session_grew(at_end=True)
        self._look_alive()
        if self.loaded is not None and self.study is not None and not self.panels.transcript.row_count:
            self.session_grew(at_end=True)
        skipped = len(self.loaded.skipped) if self.loaded else 0
        if skipped:
            self.say([Span("▲ ", "warn"), Span(f"{skipped:,} line{'s' if skipped != 1 else ''} skipped", "warn")])

    def on_worked(self, message: Worked) -> None:
        """Figures replace dots in place."""
        study = self.study
        if study is None or self.glimpse is not None or not study.session.threads:
            return
        known = study.known(self.thread, self.index)
        if message.done and self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.forget()
        if message.done or known != self._known:
            self._known = known
            self.show()
        else:
            self.panels.note(study, self.view)

    def on_failed(self, message: Failed) -> None:
        """Opening or reading ended in an error: it is said, the rest stays."""
        self.say([Span("✗ ", "crit"), Span(str(message.error), "crit")])

    def _look_alive(self) -> None:
        was, self.live = self.live, self.loaded is not None and self._source.is_live(self.loaded)
        if was != self.live:
            self.show()

    # Showing

    def _at_end(self) -> bool:
        if self.study is None:
            return True
        return self.index >= len(self.study.thread(self.thread).calls) - 1 and self.panels.transcript.at_last

    @property
    def state(self) -> str:
        """The header's word."""
        if self.live:
            return "live"
        growing = self.loaded is not None and self.loaded.follows
        return (
            "following"
            if growing and self.follows and self.complete and self._at_end() and self.was_asked
            else "recorded"
        )

    @property
    def view(self) -> View:
        """What is wanted now."""
        return View(self.thread, self.index, self.shown, self.state)

    was_asked = False
    """Whether the user turned following on by hand."""

    def show(self, *, to_end: bool = False) -> None:
        """Show the scene as it is known now; the cursor stays on its block unless the view goes to the end."""
        study = self.study
        if self.glimpse is not None:
            self.panels.glimpse(self.glimpse, self.thread)
            self.panels.transcript.changed(None if to_end else self.panels.transcript.node, to_end=to_end)
            return
        if study is None or not study.session.threads:
            return
        node = None if to_end else self.panels.transcript.node
        if self.panels.show(study, self.view):
            self.replan()
            self.call_after_refresh(self.show)
        self.panels.transcript.changed(node, to_end=to_end)
        self.panels.draw_map()
        self._offer()

    def _progress(self) -> None:
        if self.loaded is not None and self.loaded.paths:
            self.panels.reading(self.loaded.bytes_read, self.loaded.paths[0].stat().st_size)

    def replan(self) -> None:
        """The panes stand elsewhere now."""
        # A child's change of layout makes Textual ask the stage again.
        self.prompt.refresh(layout=True)

    def say(self, words: Spans) -> None:
        """A line on the prompt: what happened, or what to type."""
        self.prompt.hint = words or [Span("call number, event or category", "faint")]
        self.prompt.refresh()
        if self._said != bool(words):
            self._said = bool(words)
            self.replan()

    def on_resize(self, event: events.Resize) -> None:
        """Strip and map have other columns now."""
        self.call_after_refresh(self.show)

    def on_pane_moved(self, message: Transcript.Moved) -> None:
        """The cursor is on another block: the map's mark follows."""
        if message.pane is self.panels.transcript:
            if self._pointing is not None:
                self._pointing.stop()
            self._pointing = self.set_timer(_POINT, self.panels.point)
            self._offer()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Other keys are used on another pane."""
        self._offer()

    # Commands

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""
        return list(offered(self.commands, self._situated()))

    def _situated(self) -> Situation:
        study, facts = self.study, set[str]()
        if study is not None:
            facts |= {CALLS} if len(study.thread(self.thread).calls) > 1 else set()
            facts |= {THREADS} if len(study.session.threads) > 1 else set()
        facts |= {FILTERED} if self.shown != ALL_LINES else set()
        facts |= {FOLLOWS} if self.loaded is not None and self.loaded.follows else set()
        pane = (self.focused.id or "") if self.focused is not None else ""
        row = BLOCK if pane == "transcript" and self.panels.transcript.node is not None else ""
        return Situation(pane, row, frozenset(facts))

    def _offer(self) -> None:
        situation = self._situated()
        if situation != self._situation:
            self._situation = situation
            shown = [each for each in self.commands_now() if each.label and not each.always]
            self.keys.keys = [Key(each.key_shown(), each.label, each.short) for each in shown]

    def action_open_block(self) -> None:
        """Open or fold the block under the cursor."""
        self.blocks.toggle()

    def action_more_lines(self) -> None:
        """More lines of it."""
        self.blocks.more()

    def action_raw(self) -> None:
        """Its JSON."""
        self.blocks.turn_raw()

    def action_copy(self) -> None:
        """Copy it."""
        self.blocks.copy(self.app)

    def action_pager(self) -> None:
        """Read it in the pager."""
        self.blocks.page(self.app, self._pager)

    def action_open_turn(self) -> None:
        """Open the whole turn."""
        self.blocks.toggle_turn()

    def study_on(self) -> None:
        """Work out what is not known of the thread shown."""
        self.feed.work()

    def action_home(self) -> None:
        """Back to the list."""
        self.post_message(GoHome())
