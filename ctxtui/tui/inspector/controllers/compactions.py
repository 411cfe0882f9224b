"""Compactions in the Inspector: what they lost, the call before, and a better summary staged there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS
from ctxtui.tui.inspector.context_edits import EditController
from ctxtui.tui.messages import TalkFrom
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.content.compactions import Compaction
    from ctxtui.tui.lists.compactions import CompactionWish

_SCROLL = {"up": -1, "down": 1, "pageup": -1, "pagedown": 1}
"""Keys that scroll while a summary is read, with the way."""


class CompactionsController(EditController):
    """Opens the screen of compactions, and does what is chosen there."""

    def compactions(self) -> None:
        """The compaction that the context shown began with, or the first one."""
        state, scene = self.state, self.panels.scene
        if state.study is None or scene is None or not state.complete or not scene.counted:
            self.say([Span("this context is still being counted", "dim")])
            return
        if not any(event.kind == "compaction" for event in scene.events):
            small = next((event.number for event in scene.events if event.kind == "microcompaction"), 0)
            if small:
                # The strip marks it as a compaction, too: there is no summary to look into, but a call to go to.
                state.go(small - 1)
                told = f"before call {small:,} the client took out earlier results, without a summary: "
                self.say([Span(told), Span("P", "accent bold"), Span(" shows what went", "dim")])
            else:
                self.say([Span(f"no compaction in {state.count:,} calls", "dim")])
            return
        from ctxtui.tui.lists.compactions import CompactionsScreen

        self.access.push(CompactionsScreen(state, scene.number), self._chosen)

    def call_before(self) -> None:
        """To the call before the compaction that the context shown began with."""
        scene = self.panels.scene
        numbers_ = [event.number for event in scene.events if event.kind == "compaction"] if scene is not None else []
        begun = max((number for number in numbers_ if scene is not None and number <= scene.number), default=0)
        if begun:
            self.state.go(begun - 2)
            self.say([Span(f"call {begun - 1:,}, the last one before the compaction")])
        else:
            self.say([Span("this context did not begin with a compaction", "dim")])

    def _chosen(self, wish: CompactionWish | None) -> None:
        # Imported here, as the screen: most sessions were never compacted.
        from ctxtui.tui.lists.compactions import BLOCK, GO_ON, SUMMARIZE, TALK

        if wish is None:
            return
        one = wish.one
        if wish.kind == TALK:
            self.access.post(TalkFrom(self.state.source.name, one.thread, one.number - 1))
            return
        self.state.to_call(one.thread, one.number - 1)
        if wish.kind == BLOCK:
            self.state.to_block(wish.node)
        elif wish.kind in (SUMMARIZE, GO_ON):
            self._summarize(one, goes_on=wish.kind == GO_ON)
        else:
            self.say([Span(f"call {one.number - 1:,}, the last one before the compaction")])

    def _summarize(self, one: Compaction, *, goes_on: bool = False) -> None:
        """Stage a better summary for all that was said in the call before; or ask whether to go on with it."""
        scene = self.panels.scene
        if scene is None or not self.edits.ready():
            return
        from ctxtui.analysis.content.compactions import improve_summary
        from ctxtui.curation.edits_from_selection import summarize_run

        context = self.edits.context_of(scene)
        said = [
            at
            for at, item in enumerate(context.items)
            if item.place.section == "messages" and item.block.kind != HEADER
        ]
        if not said:
            return
        assert self.edits.desk is not None
        own = summarize_run(
            context, said, self.edits.desk.summary_terms(scene, self.state.source.settings.summary_tokens)
        )
        text = improve_summary(scene.session.tree, one, str(own.params["text"]) if own is not None else "")
        whole = range(said[0], said[-1] + 1)
        made = self.edits.stage([make(SUMMARIZE, context.targets(whole), {"text": text})])
        if goes_on:
            if made:
                self.access.soon(lambda: self._read_first(one, made))
            return
        self.access.soon(self._to_summary)
        more = numbers.tokens(one.summary_tokens)
        self.say(
            [
                Span("✓ ", "ok"),
                Span(f"staged: the client's summary ({more}) with what it lost; "),
                Span("⏎", "accent bold"),
                Span(" reads it  ", "dim"),
                Span("R", "accent bold"),
                Span(" edits it  ", "dim"),
                Span("a", "accent bold"),
                Span(" applies", "dim"),
            ]
        )

    def _read_first(self, one: Compaction, made: Sequence[Edit]) -> None:
        """Open the summary, and ask whether to go on with it: nothing is applied that nobody could read."""
        self.state.to_new(made[0].id)
        lead: list[Span] = [Span(" read it  ")]
        for key, does in (("⏎", "go on with it"), ("R", "edit it"), ("↑ ↓", "scroll")):
            lead += [Span(key, "accent bold"), Span(f" {does}  ", "dim")]

        def answered(key: str) -> None:
            if key in _SCROLL:
                pane = self.panels.transcript
                pane.scroll_to_line(pane.viewport.top + _SCROLL[key] * (pane.body_height - 1 if "page" in key else 1))
            elif key == "R":
                self.prompt.cancel()
                self.access.command("Replace")
            else:
                self.prompt.cancel()
                self._go_on_with(one, made)

        self.prompt.ask(Question(lead, answered, keys=("enter", "R", *_SCROLL), esc="leave it staged", stays=True))

    def _go_on_with(self, one: Compaction, made: Sequence[Edit]) -> None:
        overlay, staging = self.edits.overlay, self.panels.staging
        if overlay is None or staging is None:
            return
        if staging.applied.refused:
            self.prompt.refuse(f"refused: {staging.applied.refused}")
            return
        overlay.apply(edit.id for edit in made)
        self.edits.changed()
        self.access.post(TalkFrom(self.state.source.name, one.thread, one.number - 1, overlay.applied))

    def _to_summary(self) -> None:
        """The cursor on what was staged."""
        rows = self.panels.transcript.data
        found = (
            next((n for n in range(rows.count) if rows.insert_at(n) is not None), None) if rows is not None else None
        )
        if found is not None:
            self.panels.transcript.move_to(found)


class Compactions(Command):
    """What compactions did: the context before and after, what the summary kept, the files, decisions and literals that
    it lost, which of them came back and at what cost. From there the call before, and a better summary."""

    name, keys, group = "compactions: what they lost", ("Z",), "lists"
    needs = frozenset({CALLS})
    run = Act(CompactionsController, CompactionsController.compactions)


class CallBeforeCompaction(Command):
    """Show the call before the compaction that this context began with."""

    name, group = "call before the compaction", "calls"
    needs = frozenset({CALLS})
    run = Act(CompactionsController, CompactionsController.call_before)


COMPACTIONS: tuple[type[Command], ...] = (Compactions, CallBeforeCompaction)
