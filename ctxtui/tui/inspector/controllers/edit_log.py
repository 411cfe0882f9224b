"""The log of edits in the Inspector: applied, taken back, listed."""

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
from ctxtui.views.text.signs import done, failed
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
        self._asked: set[str] = set()
        """The first entries of actions of an earlier run of which was asked whether they are to be undone."""

    _told = -1
    """The version of the overlay of which leaving was warned."""

    def may_quit(self) -> bool:
        """Whether the program may end: with staged edits it says so once; the same key again leaves, they are kept."""
        overlay = self.edits.overlay
        if overlay is None or not overlay.ready or self._told == overlay.version:
            return True
        self._told = overlay.version
        count = len(overlay.ready)
        what = f"{count:,} staged edit{' is' if count == 1 else 's are'} not applied; kept as a draft. Again to leave, "
        self.say([Span("? ", "warn bold"), Span(what), Span("a", "accent bold"), Span(" to apply", "dim")])
        return False

    def apply(self) -> None:
        """Apply what is staged now, but for what waits."""
        overlay, staging = self.edits.overlay, self.panels.staging
        if overlay is None or staging is None or not overlay.staged:
            self._nothing_staged("applies")
            return
        if staging.applied.refused:
            self.say(failed(f"refused: {staging.applied.refused}"))
            return
        ready, waits = overlay.ready, self.panels.staged.what
        if self._unread(ready):
            return
        if overlay.apply(edit.id for edit in ready):
            # Breakpoints free nothing: a bare 0 would be read as a count.
            freed = f" {numbers.signed(-staging.freed)}" if staging.counted and staging.freed else ""
            told = [Span("✓ ", "ok"), Span(f"{len(ready):,} applied{freed}"), Span(" · ", "dim")]
            on = ("f", "goes on with it") if self.state.waits is None else ("^o", "decides about what is held")
            self.say([*told, *_key("u", "takes it back · "), *_key(*on)])
        elif overlay.waiting and waits is not None and waits.waits:
            told = [Span(f"{waits.waits[0].words}; ")]
            self.say([*told, *_key("w", "says when")])
        self.edits.changed()

    def _nothing_staged(self, does: str) -> None:
        """Say that a key has nothing to work on, and what would give it something."""
        self.say([Span(f"nothing is staged that this key {does}: ", "dim"), *_key("d t s x", "on a block stage edits")])

    def _unread(self, ready: Sequence[Edit]) -> bool:
        """Whether a summary is about to be applied that nobody has seen: it is shown first."""
        rows, staging = self.panels.transcript.data, self.panels.staging
        if rows is None or staging is None:
            return False
        ids = {edit.id for edit in ready if edit.spec.replaces_blocks}
        unread = [new for new in staging.inserted if new.edit.id in ids and new.edit.id not in rows.read]
        if not unread:
            return False
        self.state.to_new(unread[0].edit.id)
        many = f", {len(unread):,} are unread" if len(unread) > 1 else ""
        told = [Span("? ", "warn bold"), Span(f"read the summary before it stands for what is gone{many}; ")]
        self.say([*told, *_key("a", "again applies  "), *_key("R", "edits it")])
        return True

    def discard(self) -> None:
        """Take back what is staged."""
        overlay = self.edits.overlay
        if overlay is None or not (gone := overlay.discard()):
            self._nothing_staged("takes back")
            return
        self.say([Span(f"{len(gone):,} discarded; "), *_key("u", "brings them back")])
        self.state.mark(())
        self.edits.changed()

    def undo(self) -> None:
        """Undo the last action; where an earlier run of the program did it, ask first."""
        overlay = self.edits.overlay
        if overlay is None:
            return
        last = overlay.last_done
        if not last:
            self.edits.answers.quiet("nothing to undo: no edit of this context stands")
        elif overlay.is_earlier(last) and last[0].id not in self._asked:
            self._asked.add(last[0].id)
            by_id = {edit.id: edit for edit in overlay.log}
            what = edit_answers.describe_action(last, by_id, self.edits.answers.blocks())
            day = f" of {datetime.fromtimestamp(last[0].at).astimezone():%d %b %H:%M}" if last[0].at else ""
            told = [Span("? ", "warn bold"), Span(f"an earlier run did this: {what}{day}; ")]
            self.say([*told, *_key("u", "again undoes it")])
        else:
            self._turn_back(overlay, overlay.undo)

    def redo(self) -> None:
        """Do again what was undone last."""
        overlay = self.edits.overlay
        if overlay is None:
            return
        if not overlay.last_undone:
            self.edits.answers.quiet("nothing to do again: nothing was undone last")
        else:
            self._turn_back(overlay, overlay.redo, "^r")

    def _turn_back(self, overlay: ThreadEdits, do: Callable[[], object], key: str = "u") -> None:
        """Undo or redo, and say what that was, what it changed, and what the same `key` takes next."""
        before, entries = self.edits.now(), overlay.last_done if key == "u" else overlay.last_undone
        do()
        self.edits.changed()
        by_id = {edit.id: edit for edit in overlay.log}
        then = overlay.last_done if key == "u" else overlay.last_undone
        freed, blocks = self.edits.freed_since(before), self.edits.answers.blocks()
        self.say(edit_answers.undo_answer(entries, by_id, blocks, freed, then, key))

    def when(self) -> None:
        """Choose another moment."""
        overlay = self.edits.overlay
        if overlay is None or not overlay.staged:
            self._nothing_staged("lets wait")
        elif self.panels.staged.what is None or not self.panels.staged.what.moments:
            self.edits.answers.quiet("what it costs is not known yet: once more in a moment")
        else:
            self.edits.next_moment()

    def breaks(self) -> None:
        """Show what is broken; a literal that a summary lost can be kept."""
        scene, desk, staging = self.panels.scene, self.edits.desk, self.panels.staging
        if desk is None or scene is None or staging is None:
            self._nothing_staged("asks of")
            return
        found = desk.broken(staging, self.state.feed.want, live=self.state.live)
        if found is None:
            self.edits.answers.quiet("what it breaks is being worked out, or this call reported no cache to break")
            return
        if not any(found):
            self.edits.answers.quiet("no later block quotes what goes, and no summary lost a literal")
            return
        from ctxtui.tui.lists.breaks import BreaksScreen

        def keep(literal: str | None) -> None:
            overlay = self.edits.overlay
            if literal is None or overlay is None:
                return
            edit = edits_from_selection.keep_literal(self.edits.context_of(scene), overlay.in_force, literal)
            if edit is None:
                self.say([Span("no summary took this away: u takes the edit back", "dim")])
            else:
                self.edits.stage([edit])

        self.access.push(BreaksScreen(*found), keep)

    def only_edits(self) -> None:
        """All rows, or only what the edits touch."""
        if self.panels.staging is None and not self.state.only_edits:
            self.say([Span("no edit touches this context: all rows stand here", "dim")])
            return
        self.state.show_only_edits(not self.state.only_edits)
        told = "only the rows that edits touch; " if self.state.only_edits else "all rows; "
        self.say([Span(told), Span("z", "accent bold"), Span(" again for the others", "dim")])

    def edit_log(self) -> None:
        """Show every edit."""
        if self.edits.overlay is None or not self.edits.overlay.log:
            self.edits.answers.quiet("the edit log is empty: nothing of this context was edited")
            return
        from ctxtui.tui.lists.edit_log import EditLogScreen

        def take_back(ids: Sequence[str] | None) -> None:
            overlay = self.edits.overlay
            found = [edit for edit in overlay.log if edit.id in ids] if ids and overlay is not None else []
            if found and found[0].kind == LEAVE:
                words = str(found[0].params.get("command") or found[0].params.get("place") or "")
                self.access.copy(words)
                self.say(done(f"copied: {safe_text.one_line(words, 300)}"))
            elif found:
                self.edits.take_back(found)

        self.access.push(EditLogScreen(self.edits.overlay.log, self.edits.answers.named), take_back)


def _key(key: str, does: str) -> list[Span]:
    return [Span(key, "accent bold"), Span(f" {does}", "dim")]


class Apply(Command):
    """Apply what is staged now: the next request, forks and exports leave with it. What waits goes on waiting."""

    name, keys, label, group = "apply staged edits", ("a",), "apply", "editing the context"
    run = Act(EditLogController, EditLogController.apply)
    needs = frozenset({STAGED})


class Discard(Apply):
    """Take back everything that is only staged. `u` brings it back."""

    name, keys, label = "discard staged edits", ("X",), "discard"
    run = Act(EditLogController, EditLogController.discard)


class When(Apply):
    """When what is staged leaves: now (by `a`), or it waits until the cache has expired, or for the next miss that
    comes anyway; the first request after it leaves with it. Each press is the next of these."""

    name, keys, label = "when to apply", ("w",), "when"
    run = Act(EditLogController, EditLogController.when)


class Breaks(Apply):
    """What staged edits break: literals that later blocks quote, literals that a summary lost; `enter` keeps one."""

    name, keys, label = "what it breaks", ("l",), "breaks"
    run = Act(EditLogController, EditLogController.breaks)


class Undo(Command):
    """Undo the last action on the context, also one of an earlier day."""

    name, keys, label, group = "undo edit", ("u",), "undo", "editing the context"
    beside = ("Redo",)
    together = ("u ^r", "undo edit, redo edit")
    run = Act(EditLogController, EditLogController.undo)
    needs = frozenset({UNDOABLE})


class Redo(Undo):
    """Bring back what was undone last."""

    name, keys, label = "redo edit", ("ctrl+r",), ""
    run = Act(EditLogController, EditLogController.redo)
    key_unless = frozenset({ASKING})


class OnlyEdits(Command):
    """Show only the rows that edits touch, the rest folded; again: all rows."""

    name, keys, label, group = "edits only or all rows", ("z",), "edits only", "editing the context"
    run = Act(EditLogController, EditLogController.only_edits)
    needs = frozenset({STAGED})


class EditLog(Undo):
    """Every edit with its author and time; single ones can be taken back."""

    name, keys, label = "edit log", ("E",), "edit log"
    sought = ("history", "changes")
    run = Act(EditLogController, EditLogController.edit_log)
