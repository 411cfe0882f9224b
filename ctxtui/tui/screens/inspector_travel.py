"""Travel in the Inspector: by call, by event, by thread, by pointing; filters; the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from ctxtui.core.tree import ROOT
from ctxtui.tui.look.pane import Pane
from ctxtui.tui.screens.inspector_panels import ALL_LINES
from ctxtui.tui.widgets.calls_board import CallsBoard
from ctxtui.tui.widgets.inspector_boards import ContextBoard
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.map_board import MapBoard
from ctxtui.views import context_map, travel
from ctxtui.views.context_rows import HIDDEN, LINE, SHOWN
from ctxtui.views.span import Span, Spans
from ctxtui.views.threads import thread_rows
from ctxtui.views.travel import Go, Seek, Show

if TYPE_CHECKING:
    from ctxtui.runtime.study import Study
    from ctxtui.tui.screens.inspector_panels import Panels

_TYPE: Spans = [Span("esc", "accent bold"), Span(" leave ", "dim")]


class Travel(Screen[None]):
    """The part of the Inspector that chooses what is shown. The screen gives the fields and `show`."""

    panels: Panels
    prompt: LineEdit
    study: Study | None
    thread: str
    index: int
    shown: tuple[str, ...]
    follows: bool
    was_asked: bool
    asking = False
    """Whether the prompt is entered."""

    def show(self, *, to_end: bool = False) -> None:
        """Show what is chosen."""
        raise NotImplementedError

    def replan(self) -> None:
        """The panes stand elsewhere now."""
        raise NotImplementedError

    def say(self, words: Spans) -> None:
        """Say something on the prompt's line."""
        raise NotImplementedError

    # Calls

    @property
    def _count(self) -> int:
        return len(self.study.thread(self.thread).calls) if self.study is not None else 0

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`, held at the ends."""
        index = min(max(0, index), self._count - 1)
        if self.study is not None and (index != self.index or to_end):
            self.index = index
            self.show(to_end=to_end)

    def action_step_call(self, step: int) -> None:
        """To the next call, or back."""
        self.go(self.index + step)

    def action_call_edge(self, side: int) -> None:
        """To the first call, or to the end of the last."""
        self.go(0 if side < 0 else self._count - 1, to_end=side > 0)

    def action_seek(self, kind: str, step: int) -> None:
        """To the next event of a kind, or the one before."""
        if self.study is None:
            return
        events = self.study.thread(self.thread).events
        found = travel.next_event(events, self.index + 1, kind, step)
        if found is None:
            word = "further" if step > 0 else "earlier"
            self.say([Span(f"no {word} {kind} in {self._count:,} calls", "dim")])
            return
        self.go(found.number - 1)
        told = f": {found.text}" if found.text and found.kind != "turn" else ""
        self.say([Span(f"call {found.number:,}, {found.text if found.kind == 'turn' else found.kind}{told}", "ink")])
        if found.kind == "turn":
            self._to_turn()

    def _to_turn(self) -> None:
        scene, rows = self.panels.scene, self.panels.transcript.data
        start = scene.session.tree[scene.head].turn_start if scene is not None else ROOT
        if start != ROOT and rows is not None:
            self.panels.transcript.move_to(rows.index_of(start))

    def action_step_thread(self, step: int) -> None:
        """To the next thread, or back."""
        if self.study is None:
            return
        ids = [row.id for row in thread_rows(self.study.session)]
        at = ids.index(self.thread) if self.thread in ids else 0
        self.to_thread(ids[(at + step) % len(ids)])

    def to_thread(self, thread: str) -> None:
        """Show the last call of a thread."""
        if self.study is None or thread == self.thread:
            return
        self.thread, self.panels.window = thread, None
        self.index = self._count - 1
        self.show(to_end=True)
        self.study_on()

    def study_on(self) -> None:
        """Work out what is not known of the thread shown."""
        raise NotImplementedError

    def action_follow(self) -> None:
        """Follow the recording, or hold the view."""
        self.follows, self.was_asked = not self.follows, True
        self.say([Span("following: new blocks come into view" if self.follows else "the view is held", "dim")])
        if self.follows:
            self.action_call_edge(1)
        self.show()

    # Pointing

    def on_map_board_pointed(self, message: MapBoard.Pointed) -> None:
        """To the block at a token."""
        rows, scene = self.panels.transcript.data, self.panels.scene
        if rows is None or scene is None:
            return
        node = context_map.node_at(scene, rows.path, message.token)
        if node is not None:
            self.panels.transcript.move_to(rows.index_of(node))

    def on_calls_board_pointed(self, message: CallsBoard.Pointed) -> None:
        """To the call in a column."""
        if self.panels.window is not None:
            self.go(min(self.panels.window.last, self.panels.window.first + max(0, message.column)))

    def on_context_board_picked(self, message: ContextBoard.Picked) -> None:
        """Filter by a category."""
        self.action_filter(message.category)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Open a block, go to a heavy one, show a thread."""
        panels = self.panels
        if message.pane is panels.transcript:
            self.run_action_soon("open_block")
        elif (
            message.pane is panels.heaviest and panels.heaviest.node is not None and panels.transcript.data is not None
        ):
            panels.transcript.move_to(panels.transcript.data.index_of(panels.heaviest.node))
            panels.transcript.focus()
        elif message.pane is panels.threads and message.index < len(panels.threads.rows):
            self.to_thread(panels.threads.rows[message.index].id)

    def run_action_soon(self, action: str) -> None:
        """Run one of the screen's actions after this message."""
        self.call_later(self.run_action, action)

    # Filters and the prompt

    def action_filter(self, category: int) -> None:
        """Show a category's blocks in the next way: one line, full, hidden."""
        was = self.shown[category]
        now = SHOWN[(SHOWN.index(was) + 1) % len(SHOWN)]
        self.filter((*self.shown[:category], now, *self.shown[category + 1 :]))

    def action_show_all(self) -> None:
        """No filter."""
        self.filter(ALL_LINES)

    def filter(self, shown: tuple[str, ...]) -> None:
        """Show each category as told."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.folded.clear()
        self.shown = shown
        self.show()

    def action_prompt(self, text: str = "") -> None:
        """Enter the prompt."""
        self.prompt.show([Span(" › ", "accent bold")], text, right=_TYPE)
        self.asking = self.prompt.can_focus = True
        self.replan()
        self.set_focus(self.prompt)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that act before any pane sees them do not while something is typed."""
        return not (self.asking and action in ("go", "prompt"))

    def action_go(self) -> None:
        """Ask for a call's number."""
        self.say([Span("call number", "faint")])
        self.action_prompt()

    def on_line_edit_left(self, message: LineEdit.Left) -> None:
        """`esc` leaves the prompt."""
        self.leave_prompt()

    def leave_prompt(self) -> None:
        """Back to the transcript."""
        self.prompt.show([Span(" › ", "accent")])
        self.set_focus(self.panels.transcript)
        self.asking = self.prompt.can_focus = False
        self.say(())
        self.replan()

    def action_leave(self) -> None:
        """Back to the transcript, and forget what was said."""
        self.panels.transcript.focus()
        self.say(())

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """Do what was typed."""
        wish = travel.asked(message.edit.text, self._count)
        self.leave_prompt()
        if isinstance(wish, Go):
            self.go(wish.number - 1)
        elif isinstance(wish, Seek):
            self.action_seek(wish.kind, wish.step)
        elif isinstance(wish, Show):
            self.filter(travel.filtered(wish, LINE, HIDDEN))
        else:
            self.say([Span("✗ ", "crit"), Span(wish.message, "crit")])
