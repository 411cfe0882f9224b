"""The log of edits in the Inspector: applied, taken back, listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ASKING, STAGED, UNDOABLE
from ctxtui.tui.inspector.context_edits import EditController
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.core.edit import Target
    from ctxtui.curation import edits_from_selection
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class EditLogController(EditController):
    """Applies edits and takes them back."""

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
        self.say([Span("? ", "warn bold"), Span(what, "ink"), Span("a", "accent bold"), Span(" to apply", "dim")])
        return False

    def apply(self) -> None:
        """Apply what is staged now, but for what waits."""
        overlay, staging = self.edits.overlay, self.panels.staging
        if overlay is None or staging is None:
            return
        if staging.applied.refused:
            self.say([Span("✗ ", "crit"), Span(f"refused: {staging.applied.refused}", "crit")])
            return
        ready, waits = overlay.ready, self.panels.staged.what
        if overlay.apply(edit.id for edit in ready):
            self.say([Span("✓ ", "ok"), Span(f"{len(ready):,} applied; u takes it back", "ink")])
        elif overlay.waiting and waits is not None and waits.waits:
            told = waits.waits[0].words
            self.say([Span(f"{told}; ", "ink"), Span("w", "accent bold"), Span(" says when", "dim")])
        self.edits.changed()

    def discard(self) -> None:
        """Take back what is staged."""
        overlay = self.edits.overlay
        if overlay is not None and (gone := overlay.discard()):
            self.say([Span(f"{len(gone):,} discarded; u brings them back", "ink")])
        self.state.mark(())
        self.edits.changed()

    def undo(self) -> None:
        """Undo the last action."""
        if self.edits.overlay is not None and not self.edits.overlay.undo():
            self.say([Span("nothing to undo", "dim")])
        self.edits.changed()

    def redo(self) -> None:
        """Redo it."""
        if self.edits.overlay is not None and not self.edits.overlay.redo():
            self.say([Span("nothing to redo", "dim")])
        self.edits.changed()

    def when(self) -> None:
        """Choose another moment."""
        self.edits.next_moment()

    def breaks(self) -> None:
        """Show what is broken; a literal that a summary lost can be kept."""
        scene, desk, staging = self.panels.scene, self.edits.desk, self.panels.staging
        if desk is None or scene is None or staging is None:
            return
        found = desk.broken(staging, self.state.feed.want, live=self.state.live)
        if found is None:
            return
        from ctxtui.tui.lists.breaks import BreaksScreen

        def keep(literal: str | None) -> None:
            overlay = self.edits.overlay
            if literal is None or overlay is None:
                return
            edit = edits_from_selection.keeping(self.edits.context_of(scene), overlay.in_force, literal)
            if edit is None:
                self.say([Span("no summary took this away: u takes the edit back", "dim")])
            else:
                self.edits.stage([edit])

        self.access.push(BreaksScreen(*found), keep)

    def all_rows(self) -> None:
        """All rows, or only what the edits touch."""
        self.state.show_every(not self.state.every)
        self.state.show()

    def edit_log(self) -> None:
        """Show every edit."""
        if self.edits.overlay is None:
            return
        from ctxtui.tui.lists.edit_log import EditLogScreen

        def take_back(ids: Sequence[str] | None) -> None:
            if ids and self.edits.overlay is not None:
                self.edits.overlay.revert(ids)
                self.edits.changed()

        self.access.push(EditLogScreen(self.edits.overlay.log, self._named), take_back)

    def _named(self, target: Target) -> str:
        """What a target of an edit is, in a few words."""
        from ctxtui.analysis.short_names import first_words
        from ctxtui.core.block_content import read

        block = self.state.study.session.tree.blocks.get(target.digest) if self.state.study is not None else None
        if block is None:
            return "a block that is not in this recording"
        got = read(block)
        return got.name or first_words(got.text) or block.kind


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
    run = Act(EditLogController, EditLogController.undo)
    needs = frozenset({UNDOABLE})


class Redo(Undo):
    """Bring back what was undone last."""

    name, keys, label = "redo edit", ("ctrl+r",), ""
    run = Act(EditLogController, EditLogController.redo)
    key_unless = frozenset({ASKING})


class AllRows(Command):
    """Show all rows, or only what the edits touch."""

    name, keys, label, group = "all rows or edits only", ("z",), "all rows", "editing the context"
    run = Act(EditLogController, EditLogController.all_rows)
    needs = frozenset({STAGED})


class EditLog(Undo):
    """Every edit with its author and time; single ones can be taken back."""

    name, keys, label = "edit log", ("E",), "edit log"
    run = Act(EditLogController, EditLogController.edit_log)
