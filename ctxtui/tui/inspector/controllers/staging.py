"""Staging in the Inspector: what the keys do to the marked blocks, and the commands that edit the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.core.edit import Edit
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS, QUESTION
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController, OnBlocks, OnBlocksOrPutIn
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span
from ctxtui.views.transcript import edit_answers, transcript_notes

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection, manual_edits
else:
    manual_edits = later("ctxtui.curation.manual_edits")
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class StagingController(EditController):
    """Stages edits of the marked blocks, or of the one under the cursor."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        state.on.edit.subscribe(self.stage)

    def stage(self, kind: str) -> None:
        """Stage an edit of the marked blocks, or of the one under the cursor; take it back where it stands already."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or self.edits.desk is None or not self.edits.ready():
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
        positions = self.edits.positions()
        if not positions:
            return
        about = overlay.edits_of(context.targets(positions))
        standing = edits_from_selection.covering_edits(context, about, kind, positions)
        if standing:
            self.edits.take_back(standing)
            return
        desk = self.edits.desk
        terms = desk.summary_terms(scene, self.state.source.settings.summary_tokens)
        asked = manual_edits.edits_for_key(
            desk.staging(scene).applied, kind, positions, desk.keep(self.state.thread), terms
        )
        if asked.edits:
            made = self.edits.stage(asked.edits, asked.left, asked.why)
            if kind == "summarize" and made:
                self.state.to_new(made[0].id)
        else:
            self._refuse(kind, asked.why, self.edits.shown(scene, [context.nodes[at] for at in positions]))

    def _ask_length(self, edit: Edit) -> None:
        """Ask how many tokens a summary may have, and draw it from the record anew."""

        def answered(text: str) -> None:
            scene, desk, digits = self.panels.scene, self.edits.desk, text.strip().replace(",", "")
            length = int(digits) if digits.isdecimal() else 0
            if scene is None or desk is None or not length:
                self.say(failed("a length is a number of tokens, such as 800"))
                return
            context = self.edits.context_of(scene)
            run = sorted(at for target in edit.targets if (at := context.find(target)) is not None)
            again = edits_from_selection.summarize_run(context, run, desk.summary_terms(scene, length))
            if again is None:
                self.say(failed(f"nothing that it could say fits into {length:,} tokens"))
                return
            for one in self.edits.stage([again])[:1]:
                self.state.to_new(one.id)

        self.prompt.ask_for(
            [Span(" tokens of this summary at most, drawn from the record › ", "accent bold")], answered
        )

    def _refuse(self, kind: str, why: str, nodes: Sequence[int]) -> None:
        """Say why nothing is staged, with what the block has; offer the model where a summary has nothing to say."""
        scene = self.panels.scene
        assert scene is not None
        known = why != manual_edits.OUT and all(scene.running.is_counted(node) for node in nodes)
        own = sum(transcript_notes.read_tokens(scene, node) for node in nodes) if known else None
        words = edit_answers.refused_answer(why, own, len(nodes))
        if kind == "summarize":
            words += [Span("  ^s", "accent bold"), Span(" has a model write it")]
        self.say(words)

    def breakpoint(self) -> None:
        """A breakpoint behind the block that lives as short as the provider offers, then longer, then none."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        at = self.edits.positions()[-1:]
        if not at:
            return
        unsent = at[0] >= scene.session.tree[scene.call.raw_head or scene.head].depth
        if unsent and not (self.state.live and scene.last):
            self.prompt.refuse("this block is not in the request of this call: no marker can stand behind it")
            return
        for step in edits_from_selection.breakpoint_steps(context, overlay.in_force, at[0]):
            # Where a longer life is not possible here, the next press takes the breakpoint off.
            if self.edits.stage([step]):
                break

    def note(self) -> None:
        """Ask for a note that goes in behind the block."""
        if self.edits.ready() and self.edits.positions(marked=False):
            self.prompt.ask_for([Span(" note › ", "accent bold")], self._noted)

    def _noted(self, text: str) -> None:
        """Put `text` in behind the block under the cursor."""
        scene, at = self.panels.scene, self.edits.position(self.panels.transcript.node)
        if scene is not None and at is not None and text.strip():
            self.edits.stage([edits_from_selection.make_note(self.edits.context_of(scene), at, text.strip())])

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
    sought = ("remove", "delete", "stale", "old", "out")
    run = Act(StagingController, lambda it: it.stage("drop"))


class TruncateBlock(OnBlocks):
    """Keep the head and the tail of a long text; the cut is named in it."""

    name, keys, label, short = "truncate block", ("t",), "truncate", "cut"
    run = Act(StagingController, lambda it: it.stage("truncate"))


class Summarize(OnBlocksOrPutIn):
    """Put one summary in place of what is marked, drawn from the record without a model; on it again: how many tokens
    it may have. `R` edits it."""

    name, keys, label, short = "summarize marked blocks", ("s",), "summarize", "sum"
    run = Act(StagingController, lambda it: it.stage("summarize"))


class Externalize(OnBlocks):
    """Keep the content outside and leave a reference with one line of description."""

    name, keys, label, short = "externalize block", ("x",), "externalize", "ext"
    run = Act(StagingController, lambda it: it.stage("externalize"))


class Breakpoint(OnBlocks):
    """A cache breakpoint behind this block: 5 minutes, an hour, none; with OpenAI 30 minutes, 12 hours, none."""

    name, keys, label, short = "cache breakpoint", ("b",), "breakpoint", "brk"
    run = Act(StagingController, StagingController.breakpoint)


class Strip(OnBlocks):
    """Take thinking or images out of what is marked."""

    name = "strip thinking or images"
    run = Act(StagingController, lambda it: it.stage("strip"))


class PutNote(OnBlocks):
    """Put a note of yours in behind this block."""

    name, on_marked = "insert a note", False
    run = Act(StagingController, StagingController.note)
    key_unless = frozenset({QUESTION})


class Foretell(Command):
    """What the next call of this context will read, write and cost; again: what this call was charged."""

    name, keys, group = "next call or this call", ("K",), "calls"
    run = Act(StagingController, StagingController.foretell)
    needs = frozenset({EDITS})
