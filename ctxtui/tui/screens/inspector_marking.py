"""Marking in the Inspector: which blocks a key acts on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxtui.tui.later import later
from ctxtui.tui.screens.inspector_editing import Editing
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class Marking(Editing):
    """The part of the Inspector that marks blocks."""

    def action_mark(self) -> None:
        """Mark the block under the cursor, or unmark it."""
        node = self.panels.transcript.node
        if not node or not self._ready():
            return
        if self.marks.pop(node, 0) == 0:
            self.marks[node] = None
        self.panels.transcript.move_to(self.panels.transcript.cursor + 1)
        self.edited()

    def action_mark_range(self) -> None:
        """Mark from the last marked block to the cursor."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self._ready():
            return
        context = self.context_of(scene)
        last = next(reversed(self.marks), node)
        self._mark(context, edits_from_selection.between(context, context.position(last), context.position(node)))

    def action_widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self._ready():
            return
        context = self.context_of(scene)
        now = {context.position(one) for one in self.marks} or {context.position(node)}
        wider, what = edits_from_selection.widened(context, context.position(node), frozenset(now))
        self._mark(context, wider)
        self.say([Span("■ ", "accent"), Span(f"{len(wider):,} marked: {what}", "ink")])

    def _mark(self, context: Context, positions: Iterable[int]) -> None:
        self.marks.clear()
        self.marks.update(dict.fromkeys(context.nodes[at] for at in positions))
        self.edited()
