"""Compactions in the inspector: their screen, the call before, and a better summary."""

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
from ctxtui.views.text.signs import done, key_hint
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.content.compactions import Compaction
    from ctxtui.tui.lists.compactions import CompactionAction

_SCROLL = {"up": -1, "down": 1, "pageup": -1, "pagedown": 1}
"""Keys that scroll while a summary is read, with the direction."""


class CompactionsController(EditController):
    """Opens the compactions screen and runs the chosen action."""

    def compactions(self) -> None:
        """Show the compaction that the context began with, or the first one.

        Without any, go to a call before which the client removed results without a summary.
        """
        state, scene = self.state, self.panels.scene
        if state.study is None or scene is None or not state.complete or not scene.counted:
            self.show_message([Span("This context is still being read or counted.", "dim")])
            return
        if not any(event.kind == "compaction" for event in scene.events):
            micro_call = next((event.number for event in scene.events if event.kind == "microcompaction"), 0)
            if micro_call:
                # The strip marks this as a compaction, too, but there is no summary: go to the call.
                state.go(micro_call - 1)
                message = f"Before call {micro_call:,} the client removed earlier results without a summary; "
                self.show_message([Span(message), Span("P", "accent bold"), Span(" shows them", "dim")])
            else:
                self.show_message([Span(f"no compaction in {numbers.many(state.count, 'call')}", "dim")])
            return
        from ctxtui.tui.lists.compactions import CompactionsScreen

        self.access.push(CompactionsScreen(state, scene.number), self._run_action)

    def call_before(self) -> None:
        """Go to the call before the compaction that the context began with."""
        scene = self.panels.scene
        numbers_ = [event.number for event in scene.events if event.kind == "compaction"] if scene is not None else []
        number_after = max((number for number in numbers_ if scene is not None and number <= scene.number), default=0)
        if number_after:
            self.state.go(number_after - 2)
            self.show_message([Span(f"call {number_after - 1:,}, the last one before the compaction")])
        else:
            self.show_message([Span("This context did not begin with a compaction.", "dim")])

    def _run_action(self, action: CompactionAction | None) -> None:
        # Imported late: most sessions have no compaction.
        from ctxtui.tui.lists.compactions import BLOCK, GO_ON, SUMMARIZE, TALK

        if action is None:
            return
        compaction = action.compaction
        if action.kind == TALK:
            self.access.post(TalkFrom(self.state.source.name, compaction.thread, compaction.number - 1))
            return
        self.state.to_call(compaction.thread, compaction.number - 1)
        if action.kind == BLOCK:
            self.state.to_block(action.node)
        elif action.kind in (SUMMARIZE, GO_ON):
            self._summarize(compaction, goes_on=action.kind == GO_ON)
        else:
            self.show_message([Span(f"call {compaction.number - 1:,}, the last one before the compaction")])

    def _summarize(self, compaction: Compaction, *, goes_on: bool = False) -> None:
        """Stage a better summary for all messages of the call before.

        With `goes_on`, ask to continue.
        """
        scene = self.panels.scene
        if scene is None or not self.edits.check_ready():
            return
        from ctxtui.analysis.content.compactions import improve_summary
        from ctxtui.curation.edits_from_selection import summarize_run

        context = self.edits.context_of(scene)
        positions = [
            at
            for at, item in enumerate(context.items)
            if item.place.section == "messages" and item.block.kind != HEADER
        ]
        if not positions:
            return
        assert self.edits.staging_area is not None
        own = summarize_run(
            context, positions, self.edits.staging_area.summary_terms(scene, self.state.source.settings.summary_tokens)
        )
        text = improve_summary(scene.session.tree, compaction, str(own.params["text"]) if own is not None else "")
        whole = range(positions[0], positions[-1] + 1)
        staged = self.edits.stage([make(SUMMARIZE, context.targets(whole), {"text": text})])
        if not staged:
            return
        if goes_on:
            self.access.soon(lambda: self._read_first(compaction, staged))
            return
        self.access.soon(lambda: self._to_summary(staged[0].id))
        more = numbers.tokens(compaction.summary_tokens)
        keys = [*key_hint("⏎", "reads it  "), *key_hint("R", "edits it  "), *key_hint("a", "applies")]
        self.show_message([*done(f"staged: the client's summary ({more}) plus what it lost"), Span("; "), *keys])

    def _read_first(self, compaction: Compaction, staged: Sequence[Edit]) -> None:
        """Open the summary and ask whether to continue, so that nothing unread is applied."""
        self.state.to_inserted(staged[0].id)
        lead: list[Span] = [Span(" read it  ")]
        for key, does in (("⏎", "continue with it"), ("R", "edit it"), ("↑ ↓", "scroll")):
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
                self._continue_with(compaction, staged)

        self.prompt.ask(Question(lead, answered, keys=("enter", "R", *_SCROLL), esc="keep it staged", stays=True))

    def _continue_with(self, compaction: Compaction, staged: Sequence[Edit]) -> None:
        overlay, staging = self.edits.overlay, self.panels.staging
        if overlay is None or staging is None:
            return
        if staging.applied.refused:
            self.prompt.refuse(f"refused: {staging.applied.refused}")
            return
        overlay.apply(edit.id for edit in staged)
        self.edits.changed()
        self.access.post(TalkFrom(self.state.source.name, compaction.thread, compaction.number - 1, overlay.applied))

    def _to_summary(self, edit: str) -> None:
        """Move the cursor to the summary that the edit of this id inserts."""
        rows = self.panels.transcript.data
        row = next((row for row, new in rows.inserts if new.edit.id == edit), None) if rows is not None else None
        if row is not None:
            self.panels.transcript.move_to(row)


class Compactions(Command):
    """Show the context before and after each compaction, and what the summary lost and kept.

    From there you can go to the call before, or stage a better summary.
    """

    name, keys, group = "compactions: what they lost", ("Z",), "lists"
    needs = frozenset({CALLS})
    run = Act(CompactionsController, CompactionsController.compactions)


class CallBeforeCompaction(Command):
    """Show the call before the compaction that this context began with."""

    name, group = "call before the compaction", "calls"
    needs = frozenset({CALLS})
    run = Act(CompactionsController, CompactionsController.call_before)


COMPACTIONS: tuple[type[Command], ...] = (Compactions, CallBeforeCompaction)
