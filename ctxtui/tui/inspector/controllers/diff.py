"""Comparing two calls in the inspector."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.analysis.content.diff import Change, DiffSide
    from ctxtui.views.lists.diff import DiffList


CallAddress = tuple[str, int]
"""Address of a call: its thread, and its index in the thread from 0."""


class DiffController(Controller):
    """Shows the differences of two calls."""

    marked: CallAddress | None = None
    """The call to compare the next one with."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        state.on.compare.subscribe(self._compare)

    def mark_call(self) -> None:
        """Mark the call shown; on another call, show the differences from the marked one."""
        current = (self.state.thread, self.state.index)
        if self.state.study is None or not self.state.count:
            return
        if self.marked is None or self.marked == current:
            self.marked = current if self.marked is None else None
            message = (
                f"call {self.state.index + 1:,} is marked. Use the same command on another call to compare them."
                if self.marked
                else "no call marked"
            )
            self.show_message([Span("■ ", "accent"), Span(message)] if self.marked else [Span(message, "dim")])
            return
        marked, self.marked = self.marked, None
        self.show_message(())
        self._compare(marked, current)

    def diff_before(self) -> None:
        """Show the differences from the previous call."""
        if self.state.study is None:
            return
        if not self.state.index:
            self.show_message([Span("This is the first call; there is no call before it.", "dim")])
            return
        self._compare((self.state.thread, self.state.index - 1), (self.state.thread, self.state.index))

    def _compare(
        self, before: CallAddress, after: CallAddress, block: int = 0, then: Callable[[], object] = lambda: None
    ) -> None:
        """Show the differences from `block` on; `then` is called when the user goes to a block."""
        # Imported late: most users compare nothing.
        from ctxtui.tui.lists.diff import DiffScreen

        sides = self._side(before), self._side(after)
        book = sides[0].book
        if not all(book.is_counted(side.chosen.call.model, side.chosen.call.sent_head) for side in sides):
            self.show_message([Span("The tokens of these calls are not counted yet.", "dim")])
            return

        def make() -> DiffList:
            from ctxtui.analysis.content.changing_blocks import find_changing_blocks
            from ctxtui.analysis.content.diff import compare_contexts
            from ctxtui.views.lists.diff import DiffList

            return DiffList(compare_contexts(*sides), find_changing_blocks(book.session, after[0]))

        def show(change: Change | None) -> None:
            if change is not None:
                self._show(change, before, after)
                then()

        self.access.push(DiffScreen(_title(before, after), make, block), show)

    def _side(self, at: CallAddress) -> DiffSide:
        from ctxtui.analysis.content.diff import DiffSide

        assert self.state.study is not None
        thread, index = at
        return DiffSide(
            self.state.study.book, ChosenCall(thread, index + 1, self.state.study.thread(thread).calls[index])
        )

    def _show(self, change: Change, before: CallAddress, after: CallAddress) -> None:
        """Go to the call that has the block, and to the block."""
        (thread, index), node = (after, change.after) if change.after is not None else (before, change.before)
        self.state.to_call(thread, index + 1)
        self.state.to_block(node)


def _title(before: CallAddress, after: CallAddress) -> Spans:
    (thread_before, first), (thread_after, second) = before, after
    if thread_before == thread_after:
        return [Span(f"call {first + 1:,} → {second + 1:,}", "dim")]
    return [Span(f"{thread_before} call {first + 1:,} → {thread_after} call {second + 1:,}", "dim")]


class DiffMarked(Command):
    """Mark this call, and compare it with another one by the same command.

    On the marked call it unmarks.
    """

    name = "mark call, then diff with it"
    run = Act(DiffController, DiffController.mark_call)
    group = "calls"
    needs = frozenset({CALLS})


class DiffBefore(DiffMarked):
    """Show the blocks that entered, left or changed between the previous call and this one."""

    name, keys, label = "diff with the call before", ("P",), "diff"
    run = Act(DiffController, DiffController.diff_before)


COMPARING: tuple[type[Command], ...] = (DiffMarked, DiffBefore)
