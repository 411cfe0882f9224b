"""Staging in the Inspector: what the keys do to the marked blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.tui.later import later
from ctxtui.tui.screens.inspector_edit_log import Logging
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


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
            if edit.kind == "note":
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
            self.noting = True
            self.ask([Span(" note › ", "accent bold")], "")

    def submitted(self, text: str) -> None:
        """A note was typed, or something else."""
        if not self.noting:
            super().submitted(text)
            return
        self.noting = False
        self.leave_prompt()
        self.noted(text)

    def left(self) -> None:
        """No note."""
        self.noting = False
        super().left()

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
