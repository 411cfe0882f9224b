"""Marking in the Inspector: which blocks a key acts on, and the commands that mark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act
from ctxtui.tui.inspector.context_edits import EditController, OnBlocks
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class MarkController(EditController):
    """Marks blocks."""

    def mark(self) -> None:
        """Mark the block under the cursor, or unmark it."""
        node = self.panels.transcript.node
        if not node or not self.edits.ready():
            return
        others = [one for one in self.state.marks if one != node]
        self.state.mark(others if node in self.state.marks else [*others, node])
        self.panels.transcript.move_to(self.panels.transcript.cursor + 1)
        self.edits.changed()

    def mark_range(self) -> None:
        """Mark from the last marked block to the cursor."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        last = next(reversed(self.state.marks), node)
        self._mark(context, edits_from_selection.between(context, context.position(last), context.position(node)))

    def widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        now = {context.position(one) for one in self.state.marks} or {context.position(node)}
        wider, what = edits_from_selection.widened(context, context.position(node), frozenset(now))
        self._mark(context, wider)
        self.say([Span("■ ", "accent"), Span(f"{len(wider):,} marked: {what}", "ink")])

    def _mark(self, context: Context, positions: Iterable[int]) -> None:
        self.state.mark(context.nodes[at] for at in positions)
        self.edits.changed()


class MarkBlock(OnBlocks):
    """Mark the block, or unmark it, and go on to the next: one key then acts on all that are marked."""

    name, keys, label = "mark block", ("space",), "mark"
    run = Act(MarkController, MarkController.mark)


class MarkRange(OnBlocks):
    """Mark everything from the block marked last to this one."""

    name, keys = "mark range up to here", ("v",)
    run = Act(MarkController, MarkController.mark_range)


class Widen(OnBlocks):
    """Widen the mark: from the block to its message, its turn, all results of its tool, its category."""

    name, keys = "widen the mark", ("V",)
    run = Act(MarkController, MarkController.widen)
