"""Navigation by call, event, thread and pointing; category filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.core.tree import ROOT
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.panels import ALL_LINES
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.lists.registry import ListHost, list_class
from ctxtui.tui.messages import GoHome
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import DISPLAY_MODES, HIDDEN, LINE

if TYPE_CHECKING:
    from ctxtui.views.inspector import prompt_commands, threads
    from ctxtui.views.inspector.map import context_map, staged_map
else:
    context_map = later("ctxtui.views.inspector.map.context_map")
    staged_map = later("ctxtui.views.inspector.map.staged_map")
    threads = later("ctxtui.views.inspector.threads")
    prompt_commands = later("ctxtui.views.inspector.prompt_commands")

_FILTER_TEXTS = {"line": "one line each", "full": "opened in full", "hidden": "hidden"}
"""Descriptions of the filter states."""


class NavigationController(Controller, ListHost):
    """Goes to calls, threads and blocks, filters categories, and opens lists.

    `lead` is the label of the prompt line while it asks for a destination.
    """

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, lead: Spans) -> None:
        super().__init__(state, prompt, access)
        self._lead = lead

    # By typing

    def go(self) -> None:
        """Ask for a call number, an event or categories; `g` alone goes to the first row."""

        def first_row() -> None:
            if self.prompt.edit.text == "g":
                self.prompt.cancel()
                self.panels.transcript.action_edge(-1)

        self.prompt.ask(Question(self._lead, self._go_to, on_change=first_row))

    def _go_to(self, text: str) -> None:
        command = prompt_commands.parse_command(text, self.state.count)
        if isinstance(command, prompt_commands.Go):
            self.state.go(command.number - 1)
        elif isinstance(command, prompt_commands.Seek):
            self.seek(command.kind, command.step)
        elif isinstance(command, prompt_commands.Show):
            self.state.filter(prompt_commands.apply_filter(command, LINE, HIDDEN))
        else:
            self.prompt.refuse(command.message)

    def leave(self) -> None:
        """Close a search, or another job that listens to `closed`; else clear the marks."""
        if self.state.on.closed.emit() or not self.state.unmark():
            self.prompt.leave()

    # By keys

    def step_call(self, step: int) -> None:
        before = self.state.index
        self.state.go(before + step)
        self._say_if_at_edge(before, step)

    def call_edge(self, side: int) -> None:
        before = self.state.index
        self.state.go(0 if side < 0 else self.state.count - 1, to_end=side > 0)
        self._say_if_at_edge(before, side)

    def _say_if_at_edge(self, before: int, side: int) -> None:
        if self.state.study is not None and self.state.index == before:
            which = "last" if side > 0 else "first"
            place = f"{which} of {self.state.count:,} calls" if self.state.count > 1 else "only call"
            self.show_message([Span(f"This is the {place}.", "dim")])

    def seek(self, kind: str, step: int) -> None:
        """Go to the next or previous event of a kind."""
        state = self.state
        if state.study is None:
            return
        event = prompt_commands.next_event(state.study.thread(state.thread).events, state.index + 1, kind, step)
        if event is None:
            word, what = "further" if step > 0 else "earlier", "change of model" if kind == "model" else kind
            self.show_message([Span(f"no {word} {what} in {numbers.many(state.count, 'call')}", "dim")])
            return
        state.go(event.number - 1)
        event_text = event.text if event.kind == "turn" else f"{event.kind}: {event.text}" if event.text else event.kind
        self.show_message([Span(f"call {event.number:,}, {event_text}")])
        if event.kind == "turn":
            self._to_turn()

    def _to_turn(self) -> None:
        scene = self.panels.scene
        start = scene.session.tree[scene.head].turn_start if scene is not None else ROOT
        if start != ROOT:
            self.state.to_block(start)

    def step_thread(self, step: int) -> None:
        if self.state.study is None:
            return
        ids = [row.id for row in threads.thread_rows(self.state.study.session)]
        if len(ids) < 2:
            self.show_message([Span("This session has only one thread; it started no agents.", "dim")])
            return
        at = ids.index(self.state.thread) if self.state.thread in ids else 0
        self.state.to_thread(ids[(at + step) % len(ids)])

    def follow(self) -> None:
        starts = not self.state.follows_by_choice
        self.state.follow(starts)
        message = "following: the view moves to new blocks" if starts else "paused: the view stays when new blocks come"
        self.show_message([Span(message, "dim")])
        if starts:
            self.state.go(self.state.count - 1, to_end=True)
        self.state.show()

    def home(self) -> None:
        self.access.post(GoHome())

    def open_list(self, opens: str) -> None:
        screen = list_class(opens)
        if screen.ready(self.state):
            self.access.push(screen(self.state))

    # Filters

    def next_filter(self, category: int) -> None:
        """Show a category's blocks in the next way: one line, full, hidden."""
        shown = self.state.shown
        state = DISPLAY_MODES[(DISPLAY_MODES.index(shown[category]) + 1) % len(DISPLAY_MODES)]
        self.state.filter((*shown[:category], state, *shown[category + 1 :]))
        sign = CATEGORY[category]
        words = [sign.span, Span(f" {sign.name}: {_FILTER_TEXTS[state]}")]
        back = [Span("   _", "accent bold"), Span(" shows all", "dim")] if self.state.shown != ALL_LINES else []
        call = [Span("   g", "accent bold"), Span(" goes to a call by its number", "dim")]
        self.show_message([*words, *back, *call])

    def show_all(self) -> None:
        self.state.filter(ALL_LINES)

    # By pointing

    def to_token(self, token: float) -> None:
        """Go to the block at a token of the map."""
        rows, scene, staging = self.panels.transcript.data, self.panels.scene, self.panels.staging
        if staging is not None:
            self.state.to_block(staged_map.node_at(staging, token))
        elif rows is not None and scene is not None:
            self.state.to_block(context_map.node_at(scene, rows.path, token))

    def to_column(self, column: int) -> None:
        """Go to the call in a column of the strip."""
        window = self.panels.window
        if window is not None:
            self.state.go(min(window.last, window.first + max(0, column)))

    def to_heavy(self) -> None:
        """Go to the block under the cursor of the heaviest pane."""
        if self.panels.heaviest.node is not None:
            self.state.to_block(self.panels.heaviest.node)
            self.panels.transcript.focus()

    def to_listed(self, index: int) -> None:
        """Go to a thread of the threads pane."""
        if index < len(self.panels.threads.rows):
            self.state.to_thread(self.panels.threads.rows[index].id)
