"""Marking in the Inspector: which blocks a key acts on, and the commands that mark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act
from ctxtui.tui.inspector.context_edits import EditController, OnBlocks
from ctxtui.tui.lazy import later
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class MarkController(EditController):
    """Marks blocks."""

    def mark(self) -> None:
        """Mark the block under the cursor, or unmark it."""
        node = self.panels.transcript.node
        if not node or not self.edits.ready() or not self.edits.positions(marked=False):
            return
        others = [one for one in self.state.marks if one != node]
        self._mark(others if node in self.state.marks else [*others, node], "")
        self.panels.transcript.move_to(self.panels.transcript.cursor + 1)

    def asks(self, do: Callable[[], object]) -> bool:
        """Whether it was asked which blocks are meant, as none of the marked ones is in view; `do` is then done with
        those that the answer names."""
        marks, rows = self.state.marks, self.panels.transcript.data
        if not marks or rows is None or self.panels.transcript.shows(frozenset(marks)):
            return False
        here = sum(rows.holds(node) for node in marks)

        def answer(key: str) -> None:
            if key == "o":
                self.state.mark(())
                self.state.show()
            do()

        count, noun = f"{len(marks):,}", "block is" if len(marks) == 1 else "blocks are"
        told = f" the {count} marked {noun} " + ("out of view: " if here else "not in this call: ")
        words = [Span(told, "warn")]
        words += [Span(" m", "accent bold"), Span(" change those")] if here else []
        words += [Span("  o", "accent bold"), Span(" only the one here")]
        self.prompt.ask_for(words, answer, keys=("m", "o") if here else ("o",), esc="leave it")
        return True

    def mark_range(self) -> None:
        """Mark from the last marked block to the cursor."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.ready():
            return
        last = self.edits.position(next(reversed(self.state.marks), node))
        here = self.edits.positions(marked=False)
        if here and last is None:
            self.edits.answers.quiet("the block marked last is not in this call: esc clears the marks")
        elif here and last is not None:
            context = self.edits.context_of(scene)
            found = edits_from_selection.blocks_between(context, last, here[0])
            self._mark(self.edits.shown(scene, [context.nodes[at] for at in found]), "")

    def widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.ready():
            return
        here = self.edits.positions(marked=False)
        if here:
            context, now = self.edits.context_of(scene), self.edits.chosen() or here
            wider, what = edits_from_selection.widen_selection(context, here[0], frozenset(now))
            self._mark(self.edits.shown(scene, [context.nodes[at] for at in wider]), f": {what}")

    def _mark(self, nodes: Sequence[int], what: str) -> None:
        """Mark these and no others, and say how many there are now."""
        self.state.mark(nodes)
        self.state.show()
        if not nodes:
            self.say([Span("nothing is marked any more", "dim")])
            return
        told = [Span(f"{MARK['marked'].glyph} ", "accent"), Span(f"{len(nodes):,} marked{what}")]
        self.say([*told, Span("  esc", "accent bold"), Span(" clears", "dim")])


class MarkBlock(OnBlocks):
    """Mark the block, or unmark it, and go on to the next: one key then acts on all that are marked."""

    name, keys, label, on_marked = "mark block", ("space",), "mark", False
    run = Act(MarkController, MarkController.mark)


class MarkRange(OnBlocks):
    """Mark everything from the block marked last to this one."""

    name, keys, on_marked = "mark range up to here", ("v",), False
    run = Act(MarkController, MarkController.mark_range)


class Widen(OnBlocks):
    """Widen the mark: from the block to its message, its turn, all results of its tool, its category."""

    name, on_marked = "widen the mark", False
    run = Act(MarkController, MarkController.widen)
