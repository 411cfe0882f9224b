"""The Inspector: one screen for any call of any session, recorded or growing (look book 1, 2)."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.layout import Layout
from textual.timer import Timer

from ctxtui.tui.commands import EVERYWHERE, Command, Situation, bindings, offered
from ctxtui.tui.commands.facts import BLOCK, CALLS, FILTERED, FOLLOWS, NOTES, PUT_IN, SEARCHING, SKIPPED, THREADS
from ctxtui.tui.inspector.commands import INSPECTOR
from ctxtui.tui.inspector.controllers.blocks import OnBlocks
from ctxtui.tui.inspector.controllers.diff import Comparing
from ctxtui.tui.inspector.controllers.fork import Forking
from ctxtui.tui.inspector.controllers.opening import Opening
from ctxtui.tui.inspector.controllers.summaries import Summarizing
from ctxtui.tui.inspector.lists import Lists
from ctxtui.tui.inspector.loader import Source
from ctxtui.tui.inspector.navigation import Phasing
from ctxtui.tui.inspector.panels import ALL_LINES, View
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.tui.messages import GoHome
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.stage import Stage
from ctxtui.views.inspector.layout import Box
from ctxtui.views.text.span import Span

_POINT = 0.06
"""Seconds for which the cursor must rest before the map's mark follows: a frame of the cursor alone costs a third."""


class InspectorScreen(Lists, Comparing, OnBlocks, Summarizing, Phasing, Forking, Opening):
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
        super().__init__(source, follow)
        self.pager = pager
        self.keys = KeyLine(id="keys")
        self._stage = Stage(self._boxes)
        self._pointing: Timer | None = None
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
        """The empty screen is the first frame; a worker reads while it is painted."""
        self.prompt.can_focus = False
        self.prompt.lead = [Span(" › ", "accent")]
        self.say(())
        self.offer_keys()
        self.start()
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        """What is left of the cache's lifetime."""
        if self.panels.coming is not None and self.panels.shows("next-call"):
            self.panels.next.redraw()

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        boxes = dict(self.panels.boxes(width, height))
        if boxes.get("prompt") == boxes.get("keys") and not (self.asking or self.said):
            boxes.pop("prompt", None)
        return boxes

    # Showing

    @property
    def view(self) -> View:
        """What is wanted now."""
        last = self.study.thread(self.thread).calls[-1:] if self.study is not None else ()
        behind = self.count - 1 - self.index if self.live and last else 0
        return View(self.thread, self.index, self.shown, self.state, behind, self.every or bool(self.marks))

    @property
    def state(self) -> str:
        """The header's word."""
        growing = self.loaded is not None and self.loaded.follows and self.complete
        if growing and self.follows and self.was_asked and self.at_end:
            return "following"
        return "live" if self.live else "recorded"

    def show(self, *, to_end: bool = False) -> None:
        """Show the scene as it is known now; the cursor stays on its block unless the view goes to the end."""
        study, transcript = self.study, self.panels.transcript
        node, new = (None, None) if to_end else (transcript.node, transcript.new)
        if self.glimpse is not None:
            self.panels.glimpse(self.glimpse, self.thread)
            transcript.changed(node, to_end=to_end)
            return
        if study is None or not study.session.threads:
            return
        if self.panels.show(study, self.view, self.edits_of, self.coming_of):
            self.replan()
            self.call_after_refresh(self.show)
        transcript.changed(node, to_end=to_end, new=new)
        self.refind()
        self.panels.draw_map()
        self.offer_keys()

    def replan(self) -> None:
        """The panes stand elsewhere now."""
        # A child's change of layout makes Textual ask the stage again.
        self.prompt.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        """Panes that were not there have nothing to show yet; a wider one may want more lines."""
        self.call_after_refresh(self._fitted)

    def _fitted(self) -> None:
        study = self.study
        if study is None or self.glimpse is not None or not study.session.threads:
            return
        if self.panels.show(study, self.view, self.edits_of, self.coming_of):
            self.replan()
            self.call_after_refresh(self.show)
        self.panels.draw_map()
        self.offer_keys()

    def on_pane_moved(self, message: Transcript.Moved) -> None:
        """The cursor is on another block: the map's mark follows."""
        if message.pane is self.panels.transcript:
            if self._pointing is not None:
                self._pointing.stop()
            self._pointing = self.set_timer(_POINT, self.panels.point)
            self.offer_keys()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Other keys are used on another pane."""
        self.offer_keys()

    # Commands

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""
        return list(offered(self.commands, self._situated()))

    def _situated(self) -> Situation:
        study, facts = self.study, set[str]()
        if study is not None:
            facts |= {CALLS} if self.count > 1 else set()
            facts |= {SKIPPED} if study.session.skipped else set()
            facts |= {THREADS} if len(study.session.threads) > 1 else set()
        facts |= {FILTERED} if self.shown != ALL_LINES else set()
        facts |= {SEARCHING} if self.searching else set()
        facts |= {NOTES} if self.has_notes else set()
        facts |= self.edit_facts()
        facts |= {FOLLOWS} if self.loaded is not None and self.loaded.follows else set()
        pane = (self.focused.id or "") if self.focused is not None else ""
        row = self._row_kind() if pane == "transcript" else ""
        return Situation(pane, row, frozenset(facts))

    def _row_kind(self) -> str:
        transcript = self.panels.transcript
        return BLOCK if transcript.node is not None else PUT_IN if transcript.new is not None else ""

    def offer_keys(self) -> None:
        """Show the keys that can be used now."""
        situation = self._situated()
        if situation != self._situation:
            self._situation = situation
            shown = [each for each in self.commands_now() if each.label and not each.always]
            self.keys.keys = [Key(each.key_shown(), each.label, each.short) for each in shown]

    def action_home(self) -> None:
        """Back to the list."""
        self.post_message(GoHome())
