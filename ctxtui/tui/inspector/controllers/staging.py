"""Staging in the Inspector: what the keys do to the marked blocks, and the commands that edit the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS, QUESTION
from ctxtui.tui.inspector.context_edits import EditController, OnBlocks, OnBlocksOrPutIn
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class StagingController(EditController):
    """Stages edits of the marked blocks, or of the one under the cursor."""

    def stage(self, kind: str) -> None:
        """Stage an edit of the marked blocks, or of the one under the cursor; take it back where it stands already."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or self.edits.desk is None or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        new = self.panels.transcript.new
        if kind == "drop" and new is not None and not self.state.marks:
            overlay.revert(edit.id for edit in edits_from_selection.put_in_there(overlay.in_force, new.edit))
            self.edits.done([])
            return
        positions = self.edits.chosen(context)
        if not positions:
            return
        standing = edits_from_selection.standing(context, overlay.in_force, kind, positions)
        if standing:
            overlay.revert(edit.id for edit in standing)
            self.edits.done([])
            return
        self.edits.stage(edits_from_selection.edits(context, kind, positions, self.edits.desk.keep(self.state.thread)))

    def breakpoint(self) -> None:
        """A breakpoint of five minutes behind the block, then of an hour, then none."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        at = self.edits.chosen(context)[-1:]
        if at:
            self.edits.stage([edits_from_selection.breakpoint_step(context, overlay.in_force, at[0])])

    def note(self) -> None:
        """Ask for a note that goes in behind the block."""
        if self.edits.ready() and self.panels.transcript.node:
            self.prompt.ask_for([Span(" note › ", "accent bold")], self._noted)

    def _noted(self, text: str) -> None:
        """Put `text` in behind the block under the cursor."""
        scene, node = self.panels.scene, self.panels.transcript.node
        if scene is not None and node and text.strip():
            context = self.edits.context_of(scene)
            self.edits.stage([edits_from_selection.note(context, context.position(node), text.strip())])

    def foretell(self) -> None:
        """The next call of the context shown, or what this one was charged."""
        self.edits.look_ahead()


class Pin(OnBlocks):
    """Pin: no policy changes this block. Again: unpin."""

    name, keys, label = "pin block", ("p",), "pin"
    run = Act(StagingController, lambda it: it.stage("pin"))


class Drop(OnBlocksOrPutIn):
    """Leave it out of the context, with what the provider would refuse without it. Again, or on what an edit puts in:
    take it back."""

    name, keys, label = "drop block", ("d",), "drop"
    run = Act(StagingController, lambda it: it.stage("drop"))


class TruncateBlock(OnBlocks):
    """Keep the head and the tail of a long text; the cut is named in it."""

    name, keys, label, short = "truncate block", ("t",), "truncate", "cut"
    run = Act(StagingController, lambda it: it.stage("truncate"))


class Summarize(OnBlocks):
    """Put one summary in place of what is marked, drawn from its own words; then `R` on it edits it."""

    name, keys, label, short = "summarize marked blocks", ("s",), "summarize", "sum"
    run = Act(StagingController, lambda it: it.stage("summarize"))


class Externalize(OnBlocks):
    """Keep the content outside and leave a reference with one line of description."""

    name, keys, label, short = "externalize block", ("x",), "externalize", "ext"
    run = Act(StagingController, lambda it: it.stage("externalize"))


class Breakpoint(OnBlocks):
    """A cache breakpoint behind this block: 5 minutes, an hour, none."""

    name, keys, label, short = "cache breakpoint", ("b",), "breakpoint", "brk"
    run = Act(StagingController, StagingController.breakpoint)


class Strip(OnBlocks):
    """Take thinking or images out of what is marked."""

    name = "strip thinking or images"
    run = Act(StagingController, lambda it: it.stage("strip"))


class PutNote(OnBlocks):
    """Put a note of yours in behind this block."""

    name, keys = "insert a note", ("ctrl+n",)
    run = Act(StagingController, StagingController.note)
    key_unless = frozenset({QUESTION})


class Foretell(Command):
    """What the next call of this context will read, write and cost; again: what this call was charged."""

    name, keys, group = "next call or this call", ("K",), "calls"
    run = Act(StagingController, StagingController.foretell)
    needs = frozenset({EDITS})
