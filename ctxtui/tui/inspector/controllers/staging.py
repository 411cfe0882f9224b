"""Staging of edits on the marked blocks, and its commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.core.call import Fidelity
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS, QUESTION
from ctxtui.tui.inspector.context_edits import BlocksCommand, BlocksOrInsertsCommand, ContextEdits, EditController
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span
from ctxtui.views.transcript import edit_answers, transcript_notes

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection, manual_edits, transplant
else:
    transplant = later("ctxtui.curation.transplant")
    manual_edits = later("ctxtui.curation.manual_edits")
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class StagingController(EditController):
    """Stages edits of the marked blocks, or of the one under the cursor."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        state.on.edit.subscribe(self.stage)

    def stage(self, kind: str) -> None:
        """Stage an edit of the marked blocks or the cursor's, or take it back if it exists."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or self.edits.staging_area is None or not self.edits.check_ready():
            return
        context = self.edits.context_of(scene)
        new = self.panels.transcript.place.new
        if new is not None and not self.state.marks:
            if kind == "drop":
                self.edits.take_back(edits_from_selection.edits_of_insertion(overlay.in_force, new.edit))
                return
            if kind == new.edit.kind == "summarize":
                self._ask_length(new.edit)
                return
        positions = self.edits.require_positions()
        if not positions:
            return
        about = overlay.edits_of(context.targets(positions))
        existing = edits_from_selection.covering_edits(context, about, kind, positions)
        if existing:
            self.edits.take_back(existing)
            return
        area = self.edits.staging_area
        terms = area.summary_terms(scene, self.state.source.settings.summary_tokens)
        manual = manual_edits.edits_for_key(
            area.staging(scene).applied, kind, positions, area.artifact_keeper(self.state.thread), terms
        )
        if manual.edits:
            staged = self.edits.stage(manual.edits, manual.left, manual.why)
            if kind == "summarize" and staged:
                self.state.to_inserted(staged[0].id)
        else:
            self._refuse(kind, manual.why, self.edits.nodes_in(scene, [context.nodes[at] for at in positions]))

    def _ask_length(self, edit: Edit) -> None:
        """Ask for the maximum tokens of a summary, and build it again from the recording."""

        def answered(text: str) -> None:
            scene, area, digits = self.panels.scene, self.edits.staging_area, text.strip().replace(",", "")
            length = int(digits) if digits.isdecimal() else 0
            if scene is None or area is None or not length:
                self.show_message(failed("Type a number of tokens, such as 800."))
                return
            context = self.edits.context_of(scene)
            run = sorted(at for target in edit.targets if (at := context.find(target)) is not None)
            summary = edits_from_selection.summarize_run(context, run, area.summary_terms(scene, length))
            if summary is None:
                self.show_message(failed(f"No summary fits into {length:,} tokens."))
                return
            for staged_edit in self.edits.stage([summary])[:1]:
                self.state.to_inserted(staged_edit.id)

        self.prompt.ask_for([Span(" maximum tokens of this summary › ", "accent bold")], answered)

    def _refuse(self, kind: str, why: str, nodes: Sequence[int]) -> None:
        """Show why nothing is staged; for a summary, offer a model."""
        scene = self.panels.scene
        assert scene is not None
        is_counted = why != manual_edits.OUT and all(scene.running.is_counted(node) for node in nodes)
        own = sum(transcript_notes.read_tokens(scene, node) for node in nodes) if is_counted else None
        message = edit_answers.refused_answer(why, own, len(nodes))
        if kind == "summarize":
            message += [Span("  ^s", "accent bold"), Span(" lets a model write it")]
        self.show_message(message)

    def breakpoint(self) -> None:
        """Set a breakpoint after the block: shortest lifetime first, then longer, then none."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or not self.edits.check_ready():
            return
        context = self.edits.context_of(scene)
        positions = self.edits.require_positions()[-1:]
        if not positions:
            return
        unsent = positions[0] >= scene.session.tree[scene.call.raw_head or scene.head].depth
        if unsent and not (self.state.live and scene.last):
            self.prompt.refuse("This block is not in the request of this call, so it takes no breakpoint.")
            return
        for step in edits_from_selection.breakpoint_steps(context, overlay.in_force, positions[0]):
            # If a longer lifetime is not possible here, the next press removes the breakpoint.
            if self.edits.stage([step]):
                break

    def note(self) -> None:
        if self.edits.check_ready() and self.edits.require_positions(marked=False):
            self.prompt.ask_for([Span(" note › ", "accent bold")], self._insert_note)

    def _insert_note(self, text: str) -> None:
        scene, at = self.panels.scene, self.edits.position(self.panels.transcript.node)
        if scene is not None and at is not None and text.strip():
            self.edits.stage_text(edits_from_selection.make_note(self.edits.context_of(scene), at, text.strip()))

    def put_in_copied(self) -> None:
        """Stage the insertion of the copied blocks after the one under the cursor."""
        scene, area, copied = self.panels.scene, self.edits.staging_area, self.access.copied_blocks
        if copied is None:
            how = [Span("y", "accent bold"), Span(" copies the marked ones", "dim")]
            self.show_message([Span("No blocks are copied: ", "dim"), *how])
            return
        if not self.edits.check_ready():
            return
        positions = self.edits.require_positions(marked=False)
        if scene is None or area is None or not positions:
            return
        is_whole = scene.call.fidelity == Fidelity.WIRE
        insertion = transplant.put_in(area.staging(scene).applied, positions[-1], copied, is_whole=is_whole)
        if insertion.edit is None:
            self.show_message(failed(f"Not put in: {insertion.why}"))
            return
        try:
            objection = area.objection(scene, [insertion.edit])
        except CtxtuiError as error:
            objection = str(error)
        if objection:
            self.show_message(failed(f"Not put in, the provider would refuse it: {objection}"))
            return
        staged = self.edits.stage([insertion.edit], len(insertion.lost), insertion.lost[0] if insertion.lost else "")
        if staged:
            self.state.to_inserted(staged[0].id)


class Pin(BlocksCommand):
    """Pin the block: no policy changes it. Again: unpin."""

    name, keys, label = "pin block", ("p",), "pin"
    run = Act(StagingController, lambda it: it.stage("pin"))


class Drop(BlocksOrInsertsCommand):
    """Drop the block from the context, with any that the provider would refuse without it.

    Again: take it back.
    """

    name, keys, label = "drop block", ("d",), "drop"
    synonyms = ("remove", "delete", "stale", "old", "out")
    run = Act(StagingController, lambda it: it.stage("drop"))


class TruncateBlock(BlocksCommand):
    """Keep the head and the tail of a long text; the cut is noted in it."""

    name, keys, label, short_label = "truncate block", ("t",), "truncate", "cut"
    run = Act(StagingController, lambda it: it.stage("truncate"))


class Summarize(BlocksOrInsertsCommand):
    """Replace each run of marked blocks by a summary, built from the recording without a model.

    On a summary: set its maximum tokens.
    """

    name, keys, label, short_label = "summarize marked blocks", ("s",), "summarize", "sum"
    run = Act(StagingController, lambda it: it.stage("summarize"))


class Externalize(BlocksCommand):
    """Keep the content outside the context and leave a reference with one line of description."""

    name, keys, label, short_label = "externalize block", ("x",), "externalize", "ext"
    run = Act(StagingController, lambda it: it.stage("externalize"))


class Breakpoint(BlocksCommand):
    """Set a cache breakpoint after this block.

    Each press takes the next of 5m, 1h, none (OpenAI: 30m, 12h, none).
    """

    name, keys, label, short_label = "cache breakpoint", ("b",), "breakpoint", "brk"
    run = Act(StagingController, StagingController.breakpoint)


class Strip(BlocksCommand):
    """Remove thinking or images from the marked blocks."""

    name = "strip thinking or images"
    run = Act(StagingController, lambda it: it.stage("strip"))


class PutNote(BlocksCommand):
    """Insert a note of yours after this block."""

    name, on_marked = "insert a note", False
    run = Act(StagingController, StagingController.note)
    key_unless = frozenset({QUESTION})


class PutInCopied(BlocksCommand):
    """Put the blocks copied with `y`, here or in another session, in after this block.

    Thinking and encrypted content are left out.
    """

    name, keys, on_marked = "put in copied blocks", ("right_parenthesis",), False
    synonyms = ("paste", "transplant", "insert", "other session")
    run = Act(StagingController, StagingController.put_in_copied)
    key_unless = frozenset({QUESTION})


class ToggleNextCall(Command):
    """Show what the next call of this context will read, write and cost.

    Again: what this call was charged.
    """

    name, keys, group = "next call or this call", ("K",), "calls"
    run = Act(StagingController, lambda it: it.edits.toggle_next_call())
    needs = frozenset({EDITS})
