"""Marks blocks, as targets of the next edit key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act
from ctxtui.tui.inspector.context_edits import BlocksCommand, EditController
from ctxtui.tui.lazy import later
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class MarkController(EditController):
    """Marks single blocks, ranges, and all blocks of a message, turn, tool or category."""

    def mark(self) -> None:
        """Mark or unmark the block under the cursor."""
        node = self.panels.transcript.node
        if not node or not self.edits.check_ready() or not self.edits.require_positions(marked=False):
            return
        other_marks = [marked for marked in self.state.marks if marked != node]
        self._mark(other_marks if node in self.state.marks else [*other_marks, node], "")
        self.panels.transcript.move_to(self.panels.transcript.cursor + 1)

    def ask_if_out_of_view(self, do: Callable[[], object]) -> bool:
        """Ask which blocks are meant if no marked one is in view; return whether it asked.

        `do` acts on them.
        """
        marks, rows = self.state.marks, self.panels.transcript.data
        if not marks or rows is None or self.panels.transcript.any_in_view(frozenset(marks)):
            return False
        is_in_call = any(rows.holds(node) for node in marks)

        def answer(key: str) -> None:
            if key == "o":
                self.state.mark(())
                self.state.show()
            do()

        count, noun = f"{len(marks):,}", "block is" if len(marks) == 1 else "blocks are"
        message = f" the {count} marked {noun} " + ("out of view: " if is_in_call else "not in this call: ")
        words = [Span(message, "warn")]
        words += [Span(" m", "accent bold"), Span(" edit those")] if is_in_call else []
        words += [Span("  o", "accent bold"), Span(" only the one here")]
        self.prompt.ask_for(words, answer, keys=("m", "o") if is_in_call else ("o",), esc="cancel")
        return True

    def mark_range(self) -> None:
        """Mark exactly the blocks from the last marked one to the cursor."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.check_ready():
            return
        last = self.edits.position(next(reversed(self.state.marks), node))
        cursor = self.edits.require_positions(marked=False)
        if cursor and last is None:
            self.edits.answers.say_quietly("The last marked block is not in this call; esc clears the marks.")
        elif cursor and last is not None:
            context = self.edits.context_of(scene)
            positions = edits_from_selection.blocks_between(context, last, cursor[0])
            self._mark(self.edits.nodes_in(scene, [context.nodes[at] for at in positions]), "")

    def widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.check_ready():
            return
        cursor = self.edits.require_positions(marked=False)
        if cursor:
            context, now = self.edits.context_of(scene), self.edits.selected_positions() or cursor
            wider, what = edits_from_selection.widen_selection(context, cursor[0], frozenset(now))
            self._mark(self.edits.nodes_in(scene, [context.nodes[at] for at in wider]), f": {what}")

    def _mark(self, nodes: Sequence[int], what: str) -> None:
        """Mark exactly these blocks, and show their number."""
        self.state.mark(nodes)
        self.state.show()
        if not nodes:
            self.show_message([Span("No block is marked.", "dim")])
            return
        message = [Span(f"{MARK['marked'].glyph} ", "accent"), Span(f"{len(nodes):,} marked{what}")]
        self.show_message([*message, Span("  esc", "accent bold"), Span(" clears", "dim")])


class MarkBlock(BlocksCommand):
    """Mark or unmark the block and go to the next: an edit key then acts on all marked blocks."""

    name, keys, label, on_marked = "mark block", ("space",), "mark", False
    run = Act(MarkController, MarkController.mark)


class MarkRange(BlocksCommand):
    """Mark exactly the blocks from the last marked one to this one."""

    name, keys, on_marked = "mark range up to here", ("v",), False
    run = Act(MarkController, MarkController.mark_range)


class Widen(BlocksCommand):
    """Widen the mark from the block to its message, its turn, its tool's results, its category."""

    name, on_marked = "widen the mark", False
    run = Act(MarkController, MarkController.widen)
