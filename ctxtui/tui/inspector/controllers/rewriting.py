"""Rewriting blocks: editing, hoisting, deduplication, smaller JSON and tools, moving."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.external_editor import NoEditor, edit_text
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS, QUESTION, TOOLS
from ctxtui.tui.inspector.context_edits import BlocksCommand, BlocksOrInsertsCommand, EditController
from ctxtui.tui.lazy import later
from ctxtui.views.blocks.editable import is_too_long
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection, manual_edits
    from ctxtui.curation.apply.applied import Applied
    from ctxtui.curation.context import Context
    from ctxtui.curation.manual_edits import ManualEdits
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")
    manual_edits = later("ctxtui.curation.manual_edits")


class EditableText(Struct, frozen=True):
    """A text that can be edited, and what stages the edited one."""

    text: str
    stage: Callable[[str], None]


class RewritingController(EditController):
    """Stages edits that rewrite or move blocks, or shows why they would have no effect."""

    def replace(self) -> None:
        """Edit the text in $EDITOR, or on the screen if no editor can be started."""
        editable = self._text_under_cursor()
        if editable is not None and (new := self._edit_externally(editable.text)) is not None:
            editable.stage(new)

    def _text_under_cursor(self) -> EditableText | None:
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or not self.edits.check_ready():
            return None
        inserted = self.panels.transcript.place.new
        if inserted is not None:
            edit = inserted.edit
            text = str(edit.params.get("text") or "")
            if edits_from_selection.reword_insertion(edit, text) is not None:
                return EditableText(text, partial(self._replace_inserted, edit))
        else:
            context, at = self.edits.context_of(scene), self.edits.position(self.panels.transcript.node)
            own_text = edits_from_selection.text_at(context, overlay.in_force, at) if at is not None else None
            if at is not None and own_text is not None:
                return EditableText(own_text, partial(self._replace_text, context, at))
        self.prompt.refuse("This block has no text that can be replaced.")
        return None

    def _replace_inserted(self, edit: Edit, text: str) -> None:
        reworded = edits_from_selection.reword_insertion(edit, text)
        if reworded is not None and self.edits.overlay is not None:
            if not edit.spec.replaces_blocks:
                # A summary replaces another of the same blocks, but notes add up.
                self.edits.overlay.revert([edit.id])
            self.edits.stage_text(reworded)

    def _replace_text(self, context: Context, at: int, text: str) -> None:
        if self.edits.overlay is not None:
            self.edits.stage_text(edits_from_selection.rewrite_text(context, self.edits.overlay.in_force, at, text))

    def _edit_externally(self, text: str) -> str | None:
        """Return `text` as changed in $EDITOR; None if it was not. Without an editor, open the screen's own."""
        new = None
        try:
            with self.access.suspended():
                new = edit_text(text)
        except CtxtuiError as error:
            if isinstance(error, NoEditor) and not is_too_long(text):
                self.edit_in_place()
            else:
                self.prompt.refuse(str(error))
        self.access.repaint()
        return new if new != text else None

    def edit_in_place(self) -> None:
        editable = self._text_under_cursor()
        if editable is None:
            return

        if is_too_long(editable.text):
            self.prompt.refuse("This text is too long to edit here; R opens it in $EDITOR.")
            return

        def stage_text(text: str) -> None:
            if text != editable.text:
                editable.stage(text)

        self._edit_here(editable.text, "edit text in place", "", stage_text)

    def _edit_here(self, text: str, title: str, details: str, accept: Callable[[str], None]) -> None:
        from ctxtui.tui.dialogs.text_editor import TextEditor

        def left(new: str | None) -> None:
            if new is not None:
                accept(new)

        if is_too_long(text):
            self.prompt.refuse("This text is too long to edit here.")
        else:
            self.access.push(TextEditor(text, title, details), left)

    def deduplicate(self) -> None:
        targets = self._targets()
        if targets is not None:
            self._stage_or_refuse(manual_edits.deduplicate(*targets))

    def minimise(self) -> None:
        targets = self._targets()
        if targets is not None:
            self._stage_or_refuse(manual_edits.minimise_tools(*targets))

    def move(self, to: str) -> None:
        """Move blocks to the front, the end or the system prompt, or back if they are there already."""
        targets, overlay = self._targets(), self.edits.overlay
        if targets is None or overlay is None:
            return
        applied, positions = targets
        existing = manual_edits.existing_moves(applied.context, overlay.in_force, positions, to)
        if existing:
            self.edits.take_back(existing)
        else:
            self.edits.stage(manual_edits.move(applied.context, positions, to))

    # JSON

    def compact(self) -> None:
        targets = self._targets()
        if targets is None:
            return
        why = manual_edits.why_no_json(*targets)
        if why:
            self.prompt.refuse(why)
            return
        self.prompt.ask_for([Span(" compact JSON: drop=a,b rename=x:y flatten=m › ", "accent bold")], self._compact)

    def _compact(self, text: str) -> None:
        targets = self._targets()
        if targets is None:
            return
        from ctxtui.curation.policies.settings_text import parse_settings

        try:
            rules = parse_settings(manual_edits.COMPACTING, text)
        except BadConfig as error:
            self.prompt.refuse(str(error))
        else:
            self._stage_or_refuse(manual_edits.compact_blocks(*targets, rules))

    # Hoisting

    def hoist(self) -> None:
        """Let the user choose the part that many messages have, and move it to the front."""
        targets, scene = self._targets(), self.panels.scene
        if targets is None or scene is None:
            return
        applied, positions = targets
        texts = manual_edits.hoistable_texts(applied, positions)
        if not texts:
            self.prompt.refuse("Only text of the user or a tool can be hoisted.")
            return
        offer, details = self._offered_part(scene, applied, positions, texts)

        def hoist_part(part: str) -> None:
            self._stage_or_refuse(manual_edits.hoist(applied, positions, part))

        self._edit_here(offer, "part to move to the front", details, hoist_part)

    def _offered_part(self, scene: Scene, applied: Applied, positions: list[int], texts: list[str]) -> tuple[str, str]:
        """The part that other messages have too, else the part that marked blocks share, else all.

        With a note.
        """
        from ctxtui.curation.apply.shared_text import find_shared_part, find_similar_texts

        heads = (call.raw_head for call in scene.session.thread_calls(scene.thread or self.state.thread))
        shared = find_shared_part(texts, find_similar_texts(applied.context, positions[0], heads))
        if shared is None:
            return texts[0], "not shared with other messages: cut it down"
        if not shared.others:
            return shared.text, f"{len(shared.text):,} characters that the marked blocks share"
        others = "1 other message has" if shared.others == 1 else f"{shared.others:,} other messages have"
        return shared.text, f"{len(shared.text):,} characters that {others} too"

    # All of them

    def _targets(self) -> tuple[Applied, list[int]] | None:
        scene, area = self.panels.scene, self.edits.staging_area
        if scene is None or area is None or not self.edits.check_ready():
            return None
        positions = self.edits.require_positions()
        return (area.staging(scene).applied, positions) if positions else None

    def _stage_or_refuse(self, manual: ManualEdits) -> None:
        if manual.edits:
            self.edits.stage(manual.edits)
        else:
            self.prompt.refuse(manual.why)


class Replace(BlocksOrInsertsCommand):
    """Replace the text in $EDITOR, or here if no editor can be started.

    On a summary or note: edit it.
    """

    name, keys, on_marked = "replace text in $EDITOR", ("R",), False
    run = Act(RewritingController, RewritingController.replace)


class EditInPlace(BlocksOrInsertsCommand):
    """Replace the text here in the terminal; on a summary or note: edit it."""

    name, on_marked = "edit text in place", False
    run = Act(RewritingController, RewritingController.edit_in_place)


class Hoist(BlocksCommand):
    """Move the part that is the same in many messages to the front, once.

    You can edit it before.
    """

    name = "hoist the static part"
    run = Act(RewritingController, RewritingController.hoist)


class Deduplicate(BlocksCommand):
    """Replace a result by a reference to its copy, or to a later read that outdates it."""

    name = "deduplicate result"
    run = Act(RewritingController, RewritingController.deduplicate)


class CompactJson(BlocksCommand):
    """Shrink JSON by rules: `drop=a,b rename=old:new flatten=m`.

    An empty line only removes blanks.
    """

    name = "compact JSON by rule"
    run = Act(RewritingController, RewritingController.compact)
    key_unless = frozenset({QUESTION})


class Minimise(BlocksCommand):
    """Cut the tool's description at 100 characters, and remove those of its properties."""

    name = "minimise tool definition"
    run = Act(RewritingController, RewritingController.minimise)
    needs = frozenset({EDITS, TOOLS})


class MoveToFront(BlocksCommand):
    """Move the user's text to the front, where it stays the same from call to call.

    Again: take it back.
    """

    name = "move block to the front"
    run = Act(RewritingController, lambda it: it.move("start"))


class MoveToEnd(BlocksCommand):
    """Move the user's text to the end, after everything cached, for memory that changes.

    Again: take it back.
    """

    name = "move block to the end"
    run = Act(RewritingController, lambda it: it.move("end"))


class MoveToSystem(BlocksCommand):
    """Move the user's text to the end of the system prompt, for memory that stays.

    Again: take it back.
    """

    name = "move block to the system prompt"
    run = Act(RewritingController, lambda it: it.move("system"))


REWRITING: tuple[type[Command], ...] = (
    Replace, EditInPlace, Hoist, Deduplicate, CompactJson, Minimise, MoveToFront, MoveToEnd, MoveToSystem,
)  # fmt: skip
