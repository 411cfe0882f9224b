"""Staging in the Inspector: what the keys do to the marked blocks, and the commands that edit the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.facts import EDITS, STAGED, UNDOABLE
from ctxtui.tui.commands.on_blocks import OnBlocks, OnBlocksOrPutIn
from ctxtui.tui.inspector.controllers.edit_log import Logging
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")

if TYPE_CHECKING:
    pass


class Wording(NamedTuple):
    """A text that can be written anew, and what stages another one in its place."""

    text: str
    stage: Callable[[str], None]


class OnEdits(Logging):
    """The part of the Inspector that stages edits."""

    def action_stage(self, kind: str) -> None:
        """Stage an edit of the marked blocks, or of the one under the cursor; take it back where it stands already."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or self.desk is None or not self._ready():
            return
        context = self.context_of(scene)
        new = self.panels.transcript.new
        if kind == "drop" and new is not None and not self.marks:
            overlay.revert(edit.id for edit in edits_from_selection.put_in_there(overlay.in_force, new.edit))
            self._done([], kind)
            return
        positions = self._chosen(context)
        if not positions:
            return
        standing = edits_from_selection.standing(context, overlay.in_force, kind, positions)
        if standing:
            overlay.revert(edit.id for edit in standing)
            self._done([], kind)
            return
        self.stage_now(edits_from_selection.edits(context, kind, positions, self.desk.keep(self.thread)), kind)

    def action_breakpoint(self) -> None:
        """A breakpoint of five minutes behind the block, then of an hour, then none."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or not self._ready():
            return
        context = self.context_of(scene)
        at = self._chosen(context)[-1:]
        if at:
            self.stage_now([edits_from_selection.breakpoint_step(context, overlay.in_force, at[0])], "breakpoint")

    def action_replace(self) -> None:
        """Write another text in $EDITOR."""
        found = self.wording()
        if found is not None and (new := self._written_anew(found.text)) is not None:
            found.stage(new)

    def wording(self) -> Wording | None:
        """The text under the cursor; None where there is none that can be replaced, and then it is said."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or not self._ready():
            return None
        put_in = self.panels.transcript.new
        if put_in is not None:
            edit = put_in.edit
            text = str(edit.given.get("text") or "")
            if edits_from_selection.put_in_again(edit, text) is not None:
                return Wording(text, partial(self._put_in_again, edit))
        else:
            context = self.context_of(scene)
            node, text, kind = self._editable_text(context)
            if node is not None:
                return Wording(text, partial(self._reworded, context, node, kind))
        self.refuse("this block has no text that can be replaced")
        return None

    def _put_in_again(self, edit: Edit, text: str) -> None:
        """Another text for the summary or the note that `edit` puts in."""
        again = edits_from_selection.put_in_again(edit, text)
        if again is not None and self.overlay is not None:
            if not edit.does.stands_for:
                # Summaries of the same blocks replace each other, notes stand side by side.
                self.overlay.revert([edit.id])
            self.stage_now([again], edit.kind)

    def _reworded(self, context: Context, at: int, kind: str, text: str) -> None:
        if self.overlay is not None:
            self.stage_now([edits_from_selection.reworded(context, self.overlay.in_force, at, text)], kind)

    def refuse(self, why: str) -> None:
        """Say why nothing is staged."""
        self.say([Span("✗ ", "crit"), Span(why, "crit")])

    def _written_anew(self, text: str) -> str | None:
        """`text` as the user leaves it in $EDITOR; None where it stays as it is."""
        from ctxtui.services.editing.external_editor import NoEditor, edited_text

        try:
            with self.app.suspend():
                new = edited_text(text)
        except NoEditor as error:
            here = [Span(" · ", "dim"), Span("I", "accent bold"), Span(" edits it here", "ink")]
            self.say([Span("✗ ", "crit"), Span(str(error), "crit"), *here])
            return None
        self.app.refresh()
        return new if new != text else None

    def _editable_text(self, context: Context) -> tuple[int | None, str, str]:
        node = self.panels.transcript.node
        if node:
            return edits_from_selection.text_at(
                context, self.overlay.in_force if self.overlay else (), context.position(node)
            )
        return None, "", ""

    def action_note(self) -> None:
        """Ask for a note that goes in behind the block."""
        if self._ready() and self.panels.transcript.node:
            self.ask([Span(" note › ", "accent bold")], self.noted)

    def noted(self, text: str) -> None:
        """Put `text` in behind the block under the cursor."""
        scene, node = self.panels.scene, self.panels.transcript.node
        if scene is not None and node and text.strip():
            context = self.context_of(scene)
            self.stage_now([edits_from_selection.note(context, context.position(node), text.strip())], "note")

    def stage_now(self, edits: Sequence[Edit], kind: str) -> None:
        if self.overlay is not None:
            self._done(self.overlay.stage_all(edits), kind)

    def _done(self, made: Sequence[Edit], kind: str) -> None:
        """Show what came of it; what is refused is taken back, with the reason."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or self.desk is None:
            return
        self.say(())
        staging = self.desk.staging(scene, frozenset(self.marks))
        ids = {edit.id for edit in made}
        held = [one for one in staging.applied.held if one.edit.id in ids]
        if held:
            overlay.revert({one.edit.id for one in held})
            self.say([Span("✗ ", "crit"), Span(f"refused: {held[0].why}", "crit")])
        elif made:
            self.marks.clear()
        self.edited()


class MarkBlock(OnBlocks):
    """Mark the block, or unmark it, and go on to the next: one key then acts on all that are marked."""

    name, action, keys, label = "mark block", "mark", ("space",), "mark"


class MarkRange(OnBlocks):
    """Mark everything from the block marked last to this one."""

    name, action, keys = "mark range up to here", "mark_range", ("v",)


class Widen(OnBlocks):
    """Widen the mark: from the block to its message, its turn, all results of its tool, its category."""

    name, action, keys = "widen the mark", "widen", ("V",)


class Pin(OnBlocks):
    """Pin: no policy changes this block. Again: unpin."""

    name, action, keys, label = "pin block", "stage('pin')", ("p",), "pin"


class Drop(OnBlocksOrPutIn):
    """Leave it out of the context, with what the provider would refuse without it. Again, or on what an edit puts in:
    take it back."""

    name, action, keys, label = "drop block", "stage('drop')", ("d",), "drop"


class TruncateBlock(OnBlocks):
    """Keep the head and the tail of a long text; the cut is named in it."""

    name, action, keys, label, short = "truncate block", "stage('truncate')", ("t",), "truncate", "cut"


class Summarize(OnBlocks):
    """Put one summary in place of what is marked, drawn from its own words; then `R` on it edits it."""

    name, action, keys, label, short = "summarize marked blocks", "stage('summarize')", ("s",), "summarize", "sum"


class Externalize(OnBlocks):
    """Keep the content outside and leave a reference with one line of description."""

    name, action, keys, label, short = "externalize block", "stage('externalize')", ("x",), "externalize", "ext"


class Breakpoint(OnBlocks):
    """A cache breakpoint behind this block: 5 minutes, an hour, none."""

    name, action, keys, label, short = "cache breakpoint", "breakpoint", ("b",), "breakpoint", "brk"


class Strip(OnBlocks):
    """Take thinking or images out of what is marked."""

    name, action = "strip thinking or images", "stage('strip')"


class PutNote(OnBlocks):
    """Put a note of yours in behind this block."""

    name, action, keys = "insert a note", "note", ("ctrl+n",)


class Apply(Command):
    """Apply what is staged: the next request, forks and exports leave with it."""

    name, action, keys, label, group = "apply staged edits", "apply", ("a",), "apply", "editing the context"
    needs = frozenset({STAGED})


class Discard(Apply):
    """Take back everything that is only staged. `u` brings it back."""

    name, action, keys, label = "discard staged edits", "discard", ("X",), "discard"


class When(Apply):
    """Choose when to apply: now, when the cache has expired, at the next miss that comes anyway."""

    name, action, keys, label = "when to apply", "when", ("w",), "when"


class Breaks(Apply):
    """What staged edits break: literals that later blocks quote, literals that a summary lost; `enter` keeps one."""

    name, action, keys, label = "what it breaks", "breaks", ("l",), "breaks"


class RateGood(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as good."""

    name, action = "rate summary: good", "rate('good')"


class RatePoor(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as poor."""

    name, action = "rate summary: poor", "rate('poor')"


class Foretell(Command):
    """What the next call of this context will read, write and cost; again: what this call was charged."""

    name, action, keys, group = "next call or this call", "foretell", ("K",), "calls"
    needs = frozenset({EDITS})


class Undo(Command):
    """Undo the last action on the context, also one of an earlier day."""

    name, action, keys, label, group = "undo edit", "undo", ("u",), "undo", "editing the context"
    needs = frozenset({UNDOABLE})


class Redo(Undo):
    """Bring back what was undone last."""

    name, action, keys, label = "redo edit", "redo", ("ctrl+r",), ""


class AllRows(Command):
    """Show all rows, or only what the edits touch."""

    name, action, keys, label, group = "all rows or edits only", "all_rows", ("z",), "all rows", "editing the context"
    needs = frozenset({STAGED})


class EditLog(Undo):
    """Every edit with its author and time; single ones can be taken back."""

    name, action, keys, label = "edit log", "edit_log", ("E",), "edit log"


class Policies(Command):
    """Policies, with what each would do to this context: its edits, the tokens that it frees, the price at the cheapest
    moment. Enter stages one; nothing leaves before you apply it."""

    name, action, keys, label, group = "policies", "policies", ("L",), "policies", "editing the context"
    needs = frozenset({EDITS})


class WriteContext(Policies):
    """Write this context as the applied edits leave it: a request body, a session that its tool resumes, ctxtui's own
    format, the edits themselves; or copy the request as a curl command. The recording stays as it is."""

    name, action, keys, label = "write context to a file", "export", ("ctrl+e",), "export"
