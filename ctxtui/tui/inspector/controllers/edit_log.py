"""Applies staged edits, undoes and redoes actions, and opens the list of all edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ctxtui.core.edit import LEAVE, Edit
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ASKING, STAGED, UNDOABLE
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import done, failed, key_hint
from ctxtui.views.text.span import Span
from ctxtui.views.transcript import edit_answers

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
    from ctxtui.services.editing.overlay import ThreadEdits
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class EditLogController(EditController):
    """Applies edits and takes them back."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        self._asked_undo: set[str] = set()
        """First entries of earlier actions for which the user was already asked about undo."""
        self._warned_version = -1
        """Version of the overlay for which the quit warning was shown."""

    def may_quit(self) -> bool:
        """Whether the program may end. With staged edits that do not wait, warns once."""
        overlay = self.edits.overlay
        if overlay is None or not overlay.ready or self._warned_version == overlay.version:
            return True
        self._warned_version = overlay.version
        count = len(overlay.ready)
        are = "edit is" if count == 1 else "edits are"
        message = f"{count:,} staged {are} not applied (kept as a draft). Press again to quit, "
        self.show_message([Span("? ", "warn bold"), Span(message), Span("a", "accent bold"), Span(" to apply", "dim")])
        return False

    def apply(self) -> None:
        """Apply the staged edits that do not wait, unless the result would be refused."""
        overlay, staging = self.edits.overlay, self.panels.staging
        if overlay is None or staging is None or not overlay.staged:
            self._nothing_staged("apply")
            return
        if staging.applied.refused:
            self.show_message(failed(f"refused: {staging.applied.refused}"))
            return
        ready, waits = overlay.ready, self.panels.staged.content
        if self._shows_unread(ready):
            return
        if overlay.apply(edit.id for edit in ready):
            # Breakpoints free nothing; a bare 0 would look like a count.
            freed = f" {numbers.signed(-staging.freed)}" if staging.counted and staging.freed else ""
            message = [Span("✓ ", "ok"), Span(f"{len(ready):,} applied{freed}"), Span(" · ", "dim")]
            next_key = ("f", "continues with it")
            if self.state.recording_state == "held":
                asks = self.state.held_countdown is not None
                next_key = ("^o", f"{'decides about' if asks else 'sends'} the held request")
            self.show_message([*message, *key_hint("u", "takes it back · "), *key_hint(*next_key)])
        elif overlay.waiting and waits is not None and waits.waits:
            message = [Span(f"{waits.waits[0].words}; ")]
            self.show_message([*message, *key_hint("w", "says when")])
        self.edits.changed()

    def _nothing_staged(self, does: str) -> None:
        self.show_message(
            [Span(f"No edit is staged to {does}: ", "dim"), *key_hint("d t s x", "on a block stage edits")]
        )

    def _shows_unread(self, ready: Sequence[Edit]) -> bool:
        """Whether an unread summary is about to be applied; if so, it is shown first."""
        rows, staging = self.panels.transcript.data, self.panels.staging
        if rows is None or staging is None:
            return False
        ids = {edit.id for edit in ready if edit.spec.replaces_blocks}
        unread = [new for new in staging.inserted if new.edit.id in ids and new.edit.id not in rows.read]
        if not unread:
            return False
        self.state.to_inserted(unread[0].edit.id)
        count = f", {len(unread):,} are unread" if len(unread) > 1 else ""
        message = [Span("? ", "warn bold"), Span(f"Read the summary before you apply it{count}; ")]
        self.show_message([*message, *key_hint("a", "again applies  "), *key_hint("R", "edits it")])
        return True

    def discard(self) -> None:
        overlay = self.edits.overlay
        if overlay is None or not (discarded := overlay.discard()):
            self._nothing_staged("discard")
            return
        self.show_message([Span(f"{len(discarded):,} discarded; "), *key_hint("u", "brings them back")])
        self.state.mark(())
        self.edits.changed()

    def undo(self) -> None:
        """Undo the last action; ask first if it was read from the database."""
        overlay = self.edits.overlay
        if overlay is None:
            return
        last = overlay.last_done
        if not last:
            self.edits.answers.say_quietly("Nothing to undo: this context has no edits.")
        elif overlay.is_earlier(last) and last[0].id not in self._asked_undo:
            self._asked_undo.add(last[0].id)
            by_id = {edit.id: edit for edit in overlay.log}
            what = edit_answers.describe_action(last, by_id, self.edits.answers.blocks())
            day = f" of {datetime.fromtimestamp(last[0].at).astimezone():%d %b %H:%M}" if last[0].at else ""
            message = [Span("? ", "warn bold"), Span(f"Not made in this run: {what}{day}; ")]
            self.show_message([*message, *key_hint("u", "again undoes it")])
        else:
            self._undo_or_redo(overlay, overlay.undo)

    def redo(self) -> None:
        overlay = self.edits.overlay
        if overlay is None:
            return
        if not overlay.last_undone:
            self.edits.answers.say_quietly("Nothing to redo.")
        else:
            self._undo_or_redo(overlay, overlay.redo, "^r")

    def _undo_or_redo(self, overlay: ThreadEdits, do: Callable[[], object], key: str = "u") -> None:
        """Undo or redo, and show the action, its effect, and the next action of the same `key`."""
        before, entries = self.edits.current_sizes(), overlay.last_done if key == "u" else overlay.last_undone
        do()
        self.edits.changed()
        by_id = {edit.id: edit for edit in overlay.log}
        next_entries = overlay.last_done if key == "u" else overlay.last_undone
        freed, blocks = self.edits.freed_since(before), self.edits.answers.blocks()
        self.show_message(edit_answers.undo_answer(entries, by_id, blocks, freed, next_entries, key))

    def when(self) -> None:
        overlay = self.edits.overlay
        if overlay is None or not overlay.staged:
            self._nothing_staged("delay")
        elif self.panels.staged.content is None or not self.panels.staged.content.moments:
            self.edits.answers.say_quietly("The cost is not known yet; try again in a moment.")
        else:
            self.edits.next_moment()

    def breaks(self) -> None:
        """List what staged edits break; a literal that a summary lost can be kept."""
        scene, area, staging = self.panels.scene, self.edits.staging_area, self.panels.staging
        if area is None or scene is None or staging is None:
            self._nothing_staged("check")
            return
        broken = area.broken_literals(staging, self.state.loader.request_load, live=self.state.live)
        if broken is None:
            self.edits.answers.say_quietly("This is still being computed, or the call reported no cache.")
            return
        if not any(broken):
            self.edits.answers.say_quietly("No later block quotes dropped text, and no summary lost a literal.")
            return
        from ctxtui.tui.lists.breaks import BreaksScreen

        def keep(literal: str) -> Edit | None:
            in_force = self.edits.overlay.in_force if self.edits.overlay is not None else ()
            return edits_from_selection.keep_literal(self.edits.context_of(scene), in_force, literal)

        def stage(edit: Edit | None) -> None:
            if edit is not None:
                self.edits.stage([edit])

        self.access.push(BreaksScreen(*broken, keep), stage)

    def only_edits(self) -> None:
        """Show only rows that edits touch, or all rows."""
        if self.panels.staging is None and not self.state.only_edits:
            self.show_message([Span("No edit touches this context; all rows are shown.", "dim")])
            return
        self.state.show_only_edits(not self.state.only_edits)
        message = "only rows that edits touch; " if self.state.only_edits else "all rows; "
        self.show_message([Span(message), Span("z", "accent bold"), Span(" again: the other view", "dim")])

    def edit_log(self) -> None:
        """Open the list of all edits; take back what is chosen there."""
        if self.edits.overlay is None or not self.edits.overlay.log:
            self.edits.answers.say_quietly("The edit log is empty: this context was not edited.")
            return
        from ctxtui.tui.lists.edit_log import EditLogScreen

        def take_back(ids: Sequence[str] | None) -> None:
            overlay = self.edits.overlay
            edits = [edit for edit in overlay.log if edit.id in ids] if ids and overlay is not None else []
            # An entry of an export: nothing to take back, so copy its command again.
            if edits and edits[0].kind == LEAVE:
                text = str(edits[0].params.get("command") or edits[0].params.get("place") or "")
                self.access.copy(text)
                self.show_message(done(f"copied: {safe_text.one_line(text, 300)}"))
            elif edits:
                self.edits.take_back(edits)

        self.access.push(EditLogScreen(self.edits.overlay.log, self.edits.answers.describe), take_back)


class Apply(Command):
    """Apply the staged edits, except those that wait.

    The next request, forks and exports include them.
    """

    name, keys, label, group = "apply staged edits", ("a",), "apply", "editing the context"
    run = Act(EditLogController, EditLogController.apply)
    needs = frozenset({STAGED})


class Discard(Apply):
    """Discard all staged edits. `u` brings them back."""

    name, keys, label = "discard staged edits", ("X",), "discard"
    run = Act(EditLogController, EditLogController.discard)


class ChooseMoment(Apply):
    """Choose when staged edits are sent.

    Each press selects the next of: now, after the cache has expired, at a miss.
    """

    name, keys, label = "when to apply", ("w",), "when"
    run = Act(EditLogController, EditLogController.when)


class Breaks(Apply):
    """List what staged edits break: literals that later blocks quote or that a summary lost."""

    name, keys, label = "what it breaks", ("l",), "breaks"
    run = Act(EditLogController, EditLogController.breaks)


class Undo(Command):
    """Undo the last action on the context, even one of an earlier day."""

    name, keys, label, group = "undo edit", ("u",), "undo", "editing the context"
    help_partners = ("Redo",)
    help_row = ("u ^r", "undo edit, redo edit")
    run = Act(EditLogController, EditLogController.undo)
    needs = frozenset({UNDOABLE})


class Redo(Undo):
    """Redo the last undone action."""

    name, keys, label = "redo edit", ("ctrl+r",), ""
    run = Act(EditLogController, EditLogController.redo)
    key_unless = frozenset({ASKING})


class OnlyEdits(Command):
    """Show only the rows that edits touch; again: all rows."""

    name, keys, label, group = "edits only or all rows", ("z",), "edits only", "editing the context"
    run = Act(EditLogController, EditLogController.only_edits)
    needs = frozenset({UNDOABLE})


class EditLog(Command):
    """List every edit with author and time; single edits can be taken back."""

    name, keys, label, group = "edit log", ("E",), "edit log", "editing the context"
    synonyms = ("history", "changes")
    run = Act(EditLogController, EditLogController.edit_log)
    needs = frozenset({UNDOABLE})
