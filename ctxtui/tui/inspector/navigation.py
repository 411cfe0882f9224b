"""Travel in the Inspector: by call, by event, by thread, by pointing.

Phases in the Inspector: their table, and naming one at the call shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.analysis.growth.phases import NAMED
from ctxtui.core.tree import ROOT
from ctxtui.tui.inspector.calls_board import CallsBoard
from ctxtui.tui.inspector.controllers.notes import Noting
from ctxtui.tui.inspector.map_board import MapBoard
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.views.inspector import context_map, prompt_commands, threads
else:
    context_map = later("ctxtui.views.inspector.context_map")
    threads = later("ctxtui.views.inspector.threads")
    prompt_commands = later("ctxtui.views.inspector.prompt_commands")

if TYPE_CHECKING:
    from ctxtui.analysis.growth.phases import Phase
    from ctxtui.core.call import Call


class Travel(InspectorState):
    """The part of the Inspector that goes to calls, threads and blocks."""

    was_asked = False
    """Whether the user turned following on or off by hand."""

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`, held at the ends."""
        index = min(max(0, index), self.count - 1)
        if self.study is not None and (index != self.index or to_end):
            self.index = index
            self.show(to_end=to_end)

    def action_step_call(self, step: int) -> None:
        """To the next call, or back."""
        self.go(self.index + step)

    def action_call_edge(self, side: int) -> None:
        """To the first call, or to the end of the last."""
        self.go(0 if side < 0 else self.count - 1, to_end=side > 0)

    def action_seek(self, kind: str, step: int) -> None:
        """To the next event of a kind, or the one before."""
        if self.study is None:
            return
        found = prompt_commands.next_event(self.study.thread(self.thread).events, self.index + 1, kind, step)
        if found is None:
            word = "further" if step > 0 else "earlier"
            self.say([Span(f"no {word} {kind} in {self.count:,} calls", "dim")])
            return
        self.go(found.number - 1)
        told = found.text if found.kind == "turn" else f"{found.kind}: {found.text}" if found.text else found.kind
        self.say([Span(f"call {found.number:,}, {told}", "ink")])
        if found.kind == "turn":
            self._to_turn()

    def _to_turn(self) -> None:
        scene = self.panels.scene
        start = scene.session.tree[scene.head].turn_start if scene is not None else ROOT
        if start != ROOT:
            self.to_block(start)

    def to_block(self, node: int) -> None:
        """Put the cursor on a block of the context shown."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.move_to(self.panels.transcript.data.index_of(node))

    def action_step_thread(self, step: int) -> None:
        """To the next thread, or back."""
        if self.study is None:
            return
        ids = [row.id for row in threads.thread_rows(self.study.session)]
        at = ids.index(self.thread) if self.thread in ids else 0
        self.to_thread(ids[(at + step) % len(ids)])

    def to_thread(self, thread: str) -> None:
        """Show a thread: the call that was shown of it last, else its last one."""
        if self.study is None or thread == self.thread:
            return
        self.came_from = self.thread
        self.places[self.thread] = self.index
        self.thread, self.panels.window = thread, None
        known = self.places.get(thread)
        self.index = self.count - 1 if known is None else min(known, self.count - 1)
        self.show(to_end=known is None)
        self.feed.work()

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
        node = context_map.node_at(scene, rows.path, message.token) if rows is not None and scene is not None else None
        if node is not None:
            self.to_block(node)

    def on_calls_board_pointed(self, message: CallsBoard.Pointed) -> None:
        """To the call in a column."""
        window = self.panels.window
        if window is not None:
            self.go(min(window.last, window.first + max(0, message.column)))

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Open a block, go to a heavy one, show a thread."""
        panels = self.panels
        if message.pane is panels.transcript:
            self.call_later(self.run_action, "open_block")
        elif message.pane is panels.heaviest and panels.heaviest.node is not None:
            self.to_block(panels.heaviest.node)
            panels.transcript.focus()
        elif message.pane is panels.threads and message.index < len(panels.threads.rows):
            self.to_thread(panels.threads.rows[message.index].id)


class Phasing(Noting):
    """The part of the Inspector that shows phases; a note on a call that begins with ``phase:`` names one."""

    def action_phases(self) -> None:
        """The table of phases."""
        from ctxtui.tui.lists.phases import NAME, PhasesScreen

        if self.study is None or not self.count:
            return

        def go(number: int | None) -> None:
            if number == NAME:
                self.action_name_phase()
            elif number is not None:
                self.go(number - 1)

        self.app.push_screen(PhasesScreen(self._phases, self.index + 1), go)

    def action_name_phase(self) -> None:
        """Ask for the name of the phase that begins with the call shown."""
        note = self._of_call()
        if note is not None:
            self._ask_for(note, note.text or f"{NAMED} ")

    def _phases(self) -> list[Phase]:
        """Worked out in a worker. Raises `BadPattern`."""
        from ctxtui.analysis.figures import figures
        from ctxtui.analysis.growth.phases import phases
        from ctxtui.services.study.phase_rules import begun

        study, known = self.study, self.study.thread(self.thread) if self.study is not None else None
        if study is None or known is None:
            return []
        calls, costs, book = list(known.calls), study.costs, study.book

        def tokens(call: Call) -> int:
            return call.usage.input if call.usage is not None else figures(book, call).context_tokens

        def cost(call: Call) -> tuple[float | None, bool]:
            if call.usage is None or call.usage.cost is not None:
                return (call.usage.cost if call.usage else 0.0), True
            found = costs.get(call.id)
            return (found.usd if found is not None else None), call.id in costs

        return phases(calls, begun(study.session, calls, self.source.settings.phases, self._kept), tokens, cost)
