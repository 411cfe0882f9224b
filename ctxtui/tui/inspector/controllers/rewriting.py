"""Writing anew in the Inspector: text in place, parts hoisted, repeats, JSON and tools made smaller, blocks moved.

Commands of the inspector that write blocks anew, take parts out of them, or move them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig
from ctxtui.services.external_editor import NoEditor, edit_text
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS, QUESTION, TOOLS
from ctxtui.tui.inspector.context_edits import EditController, OnBlocks, OnBlocksOrPutIn
from ctxtui.tui.lazy import later
from ctxtui.views.blocks.editable import is_too_long
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection, manual_edits
    from ctxtui.curation.apply.applied import Applied
    from ctxtui.curation.context import Context
    from ctxtui.curation.manual_edits import ManualEdits
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")
    manual_edits = later("ctxtui.curation.manual_edits")


class Wording(Struct, frozen=True):
    """A text that can be written anew, and what stages another one in its place."""

    text: str
    stage: Callable[[str], None]


class RewritingController(EditController):
    """Stages edits which must change something: where they would not, it says why."""

    def replace(self) -> None:
        """Write another text in $EDITOR."""
        found = self._wording()
        if found is not None and (new := self._written_anew(found.text)) is not None:
            found.stage(new)

    def _wording(self) -> Wording | None:
        """The text under the cursor; None where there is none that can be replaced, and then it is said."""
        scene, overlay = self.panels.scene, self.edits.overlay
        if scene is None or overlay is None or not self.edits.ready():
            return None
        put_in = self.panels.transcript.place.new
        if put_in is not None:
            edit = put_in.edit
            text = str(edit.params.get("text") or "")
            if edits_from_selection.reword_insertion(edit, text) is not None:
                return Wording(text, partial(self._put_in_again, edit))
        else:
            context = self.edits.context_of(scene)
            at, text, kind = self._editable_text(context)
            if at is not None:
                return Wording(text, partial(self._reworded, context, at, kind))
        self.prompt.refuse("this block has no text that can be replaced")
        return None

    def _put_in_again(self, edit: Edit, text: str) -> None:
        """Another text for the summary or the note that `edit` puts in."""
        again = edits_from_selection.reword_insertion(edit, text)
        if again is not None and self.edits.overlay is not None:
            if not edit.spec.replaces_blocks:
                # Summaries of the same blocks replace each other, notes stand side by side.
                self.edits.overlay.revert([edit.id])
            self.edits.stage([again])

    def _reworded(self, context: Context, at: int, kind: str, text: str) -> None:
        if self.edits.overlay is not None:
            self.edits.stage([edits_from_selection.rewrite_text(context, self.edits.overlay.in_force, at, text)])

    def _written_anew(self, text: str) -> str | None:
        """`text` as the user leaves it in $EDITOR; None where it stays as it is."""
        try:
            with self.access.suspended():
                new = edit_text(text)
        except NoEditor:
            self.edit_in_place()
            return None
        self.access.repaint()
        return new if new != text else None

    def _editable_text(self, context: Context) -> tuple[int | None, str, str]:
        at = self.edits.position(self.panels.transcript.node)
        if at is None:
            return None, "", ""
        return edits_from_selection.text_at(context, self.edits.overlay.in_force if self.edits.overlay else (), at)

    def edit_in_place(self) -> None:
        """Write another text, on the screen."""
        found = self._wording()
        if found is None:
            return

        def take(text: str) -> None:
            if text != found.text:
                found.stage(text)

        self._edit_here(found.text, "edit text in place", "", take)

    def _edit_here(self, text: str, title: str, told: str, take: Callable[[str], None]) -> None:
        """Show `text` in the screen's own editor; `take` gets what is staged there."""
        from ctxtui.tui.dialogs.text_editor import TextEditor

        def left(new: str | None) -> None:
            if new is not None:
                take(new)

        if is_too_long(text):
            self.prompt.refuse("this text is too long to be edited here: R opens it in $EDITOR")
        else:
            self.access.push(TextEditor(text, title, told), left)

    def deduplicate(self) -> None:
        """References in place of repeated and outdated results."""
        at = self._at_hand()
        if at is not None:
            self._stage_asked(manual_edits.deduplicate(*at), "deduplicate")

    def minimise(self) -> None:
        """Smaller definitions of tools."""
        at = self._at_hand()
        if at is not None:
            self._stage_asked(manual_edits.minimise_tools(*at), "minimise")

    def move(self, to: str) -> None:
        """Move the blocks to the front, the end or the system prompt; back, where they stand there already."""
        at, overlay = self._at_hand(), self.edits.overlay
        if at is None or overlay is None:
            return
        applied, positions = at
        standing = manual_edits.existing_moves(applied.context, overlay.in_force, positions, to)
        if standing:
            self.edits.take_back(standing)
        else:
            self.edits.stage(manual_edits.move(applied.context, positions, to))

    # JSON

    def compact(self) -> None:
        """Ask for rules, where there is JSON."""
        at = self._at_hand()
        if at is None:
            return
        why = manual_edits.why_no_json(*at)
        if why:
            self.prompt.refuse(why)
            return
        self.prompt.ask_for([Span(" compact JSON: drop=a,b rename=x:y flatten=m › ", "accent bold")], self._compact)

    def _compact(self, text: str) -> None:
        """Rules for JSON were typed."""
        at = self._at_hand()
        if at is None:
            return
        from ctxtui.curation.policies.settings_text import parse_settings

        try:
            rules = parse_settings(manual_edits.COMPACTING, text)
        except BadConfig as error:
            self.prompt.refuse(safe_text.one_line(str(error), 300))
        else:
            self._stage_asked(manual_edits.compact_blocks(*at, rules), "compact_json")

    # Hoisting

    def hoist(self) -> None:
        """Offer the static part of the message; what is left of the offer goes in front."""
        at, scene = self._at_hand(), self.panels.scene
        if at is None or scene is None:
            return
        applied, positions = at
        texts = manual_edits.hoistable_texts(applied, positions)
        if not texts:
            self.prompt.refuse("only what a user or a tool says can be hoisted")
            return
        offer, told = self._offered_part(scene, applied, positions, texts)

        def take(part: str) -> None:
            self._stage_asked(manual_edits.hoist(applied, positions, part), "hoist")

        self._edit_here(offer, "what goes in front", told, take)

    def _offered_part(self, scene: Scene, applied: Applied, positions: list[int], texts: list[str]) -> tuple[str, str]:
        """The part that is the same elsewhere; the whole text where there is none, to be cut down."""
        from ctxtui.curation.apply.shared_text import others_like, static_part

        heads = (call.raw_head for call in scene.session.thread_calls(scene.thread or self.state.thread))
        found = static_part(texts, others_like(applied.context, positions[0], heads))
        if found is None:
            return texts[0], "shared with no other message: cut it down"
        if not found.others:
            return found.text, f"{len(found.text):,} characters that the marked blocks share"
        others = "1 other message has" if found.others == 1 else f"{found.others:,} other messages have"
        return found.text, f"{len(found.text):,} characters that {others} too"

    # All of them

    def _at_hand(self) -> tuple[Applied, list[int]] | None:
        """The context under its edits, and the positions that a command acts on; None where there are none."""
        scene, desk = self.panels.scene, self.edits.desk
        if scene is None or desk is None or not self.edits.ready():
            return None
        positions = self.edits.positions()
        return (desk.staging(scene).applied, positions) if positions else None

    def _stage_asked(self, asked: ManualEdits, kind: str) -> None:
        if asked.edits:
            self.edits.stage(asked.edits)
        else:
            self.prompt.refuse(asked.why)


class Replace(OnBlocksOrPutIn):
    """Write another text in its place, in $EDITOR, or here where none is set; on a summary or a note: edit it."""

    name, keys, on_marked = "replace text in $EDITOR", ("R",), False
    run = Act(RewritingController, RewritingController.replace)


class EditInPlace(OnBlocksOrPutIn):
    """Write another text in its place, here in the terminal; on a summary or a note: edit it."""

    name, on_marked = "edit text in place", False
    run = Act(RewritingController, RewritingController.edit_in_place)


class Hoist(OnBlocks):
    """Take the part that stays the same from message to message out of it and put it in front, once. What is found is
    offered; cut it down to what you mean. Several marked blocks give up what they share."""

    name = "hoist the static part"
    run = Act(RewritingController, RewritingController.hoist)


class Deduplicate(OnBlocks):
    """A reference in place of a result that another one repeats, or that a later read makes outdated."""

    name = "deduplicate result"
    run = Act(RewritingController, RewritingController.deduplicate)


class CompactJson(OnBlocks):
    """Make JSON in it smaller by rule: `drop=a,b rename=old:new flatten=m`. An empty line: only without blanks."""

    name = "compact JSON by rule"
    run = Act(RewritingController, RewritingController.compact)
    key_unless = frozenset({QUESTION})


class Minimise(OnBlocks):
    """Cut the tool's description at 100 characters and leave those of its properties out."""

    name = "minimise tool definition"
    run = Act(RewritingController, RewritingController.minimise)
    needs = frozenset({EDITS, TOOLS})


class MoveToFront(OnBlocks):
    """Move what the user said to the front, where it stays the same from call to call. Again: take it back."""

    name = "move block to the front"
    run = Act(RewritingController, lambda it: it.move("start"))


class MoveToEnd(OnBlocks):
    """Move what the user said to the end, behind all that is cached: memory that changes. Again: take it back."""

    name = "move block to the end"
    run = Act(RewritingController, lambda it: it.move("end"))


class MoveToSystem(OnBlocks):
    """Move what the user said to the end of the system prompt: memory that stays. Again: take it back."""

    name = "move block to the system prompt"
    run = Act(RewritingController, lambda it: it.move("system"))


REWRITING: tuple[type[Command], ...] = (
    Replace, EditInPlace, Hoist, Deduplicate, CompactJson, Minimise, MoveToFront, MoveToEnd, MoveToSystem,
)  # fmt: skip
"""The commands that write anew and move, in the order of their use."""
