"""Going about in the Inspector: by call, by event, by thread, by pointing; and which categories are shown how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.core.tree import ROOT
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.panels import ALL_LINES
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.lists.registry import OpensLists, open_list
from ctxtui.tui.messages import GoHome
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import DISPLAY_MODES, HIDDEN, LINE

if TYPE_CHECKING:
    from ctxtui.views.inspector import prompt_commands, threads
    from ctxtui.views.inspector.map import context_map
else:
    context_map = later("ctxtui.views.inspector.map.context_map")
    threads = later("ctxtui.views.inspector.threads")
    prompt_commands = later("ctxtui.views.inspector.prompt_commands")

_SHOWN = {"line": "one line each again", "full": "opened in full", "hidden": "hidden"}
"""What a filter made of a category's blocks."""


class NavigationController(Controller, OpensLists):
    """Goes to calls, threads and blocks, filters, and opens the lists that go there, too. `lead` stands before what is
    typed to go somewhere."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, lead: Spans) -> None:
        super().__init__(state, prompt, access)
        self._lead = lead

    # By typing

    def go(self) -> None:
        """Ask for a call's number, an event, categories; `g` alone goes to the first row."""

        def first_row() -> None:
            if self.prompt.edit.text == "g":
                self.prompt.cancel()
                self.panels.transcript.action_edge(-1)

        self.prompt.ask(Question(self._lead, self._travel, on_change=first_row))

    def _travel(self, text: str) -> None:
        """Go where `text` says, or show what it says."""
        wish = prompt_commands.parse_command(text, self.state.count)
        if isinstance(wish, prompt_commands.Go):
            self.state.go(wish.number - 1)
        elif isinstance(wish, prompt_commands.Seek):
            self.seek(wish.kind, wish.step)
        elif isinstance(wish, prompt_commands.Show):
            self.state.filter(prompt_commands.apply_filter(wish, LINE, HIDDEN))
        else:
            self.prompt.refuse(wish.message)

    def leave(self) -> None:
        """Close one thing, in this order: a search, marks, what was said on the prompt's line or another pane."""
        if self.state.on.closed.emit() or not self.state.unmark():
            self.prompt.leave()

    # By keys

    def step_call(self, step: int) -> None:
        """To the next call, or back."""
        before = self.state.index
        self.state.go(before + step)
        self._edge(before, step)

    def call_edge(self, side: int) -> None:
        """To the first call, or to the end of the last."""
        before = self.state.index
        self.state.go(0 if side < 0 else self.state.count - 1, to_end=side > 0)
        self._edge(before, side)

    def _edge(self, before: int, side: int) -> None:
        """Say it where there is no further call than the one `before`."""
        if self.state.study is not None and self.state.index == before:
            which = "last" if side > 0 else "first"
            self.say([Span(f"this is the {which} call of {self.state.count:,}", "dim")])

    def seek(self, kind: str, step: int) -> None:
        """To the next event of a kind, or the one before."""
        state = self.state
        if state.study is None:
            return
        found = prompt_commands.next_event(state.study.thread(state.thread).events, state.index + 1, kind, step)
        if found is None:
            word = "further" if step > 0 else "earlier"
            self.say([Span(f"no {word} {kind} in {state.count:,} calls", "dim")])
            return
        state.go(found.number - 1)
        told = found.text if found.kind == "turn" else f"{found.kind}: {found.text}" if found.text else found.kind
        self.say([Span(f"call {found.number:,}, {told}")])
        if found.kind == "turn":
            self._to_turn()

    def _to_turn(self) -> None:
        scene = self.panels.scene
        start = scene.session.tree[scene.head].turn_start if scene is not None else ROOT
        if start != ROOT:
            self.state.to_block(start)

    def step_thread(self, step: int) -> None:
        """To the next thread, or back."""
        if self.state.study is None:
            return
        ids = [row.id for row in threads.thread_rows(self.state.study.session)]
        if len(ids) < 2:
            self.say([Span("this session has one thread: it started no agents", "dim")])
            return
        at = ids.index(self.state.thread) if self.state.thread in ids else 0
        self.state.to_thread(ids[(at + step) % len(ids)])

    def follow(self) -> None:
        """Follow the recording, or hold the view."""
        self.state.follow(not self.state.follows)
        follows = self.state.follows
        told = "following: new blocks come into view" if follows else "paused: new blocks do not move the view"
        self.say([Span(told, "dim")])
        if follows:
            self.state.go(self.state.count - 1, to_end=True)
        self.state.show()

    def home(self) -> None:
        """Back to the list of sessions."""
        self.access.post(GoHome())

    def open_list(self, opens: str) -> None:
        """Open the list of the class `opens`; what it asks and does is the state's."""
        open_list(self.access.push, self.state, opens)

    # Filters

    def next_filter(self, category: int) -> None:
        """Show a category's blocks in the next way: one line, full, hidden."""
        shown = self.state.shown
        now = DISPLAY_MODES[(DISPLAY_MODES.index(shown[category]) + 1) % len(DISPLAY_MODES)]
        self.state.filter((*shown[:category], now, *shown[category + 1 :]))
        sign = CATEGORY[category]
        words = [sign.span, Span(f" {sign.name}: {_SHOWN[now]}")]
        back = [Span("   _", "accent bold"), Span(" shows all", "dim")] if self.state.shown != ALL_LINES else []
        call = [Span("   g", "accent bold"), Span(" goes to a call by its number", "dim")]
        self.say([*words, *back, *call])

    def show_all(self) -> None:
        """No filter."""
        self.state.filter(ALL_LINES)

    # By pointing

    def to_token(self, token: float) -> None:
        """To the block at a token of the map."""
        rows, scene = self.panels.transcript.data, self.panels.scene
        node = context_map.node_at(scene, rows.path, token) if rows is not None and scene is not None else None
        self.state.to_block(node)

    def to_column(self, column: int) -> None:
        """To the call in a column of the strip."""
        window = self.panels.window
        if window is not None:
            self.state.go(min(window.last, window.first + max(0, column)))

    def to_heavy(self) -> None:
        """To the heavy block under the cursor of their list."""
        if self.panels.heaviest.node is not None:
            self.state.to_block(self.panels.heaviest.node)
            self.panels.transcript.focus()

    def to_listed(self, index: int) -> None:
        """To a thread of the list of threads."""
        if index < len(self.panels.threads.rows):
            self.state.to_thread(self.panels.threads.rows[index].id)
