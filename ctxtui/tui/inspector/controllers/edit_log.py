"""The log of edits in the Inspector: applied, taken back, listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.tui.inspector.controllers.edits import Marking
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.core.edit import Target
    from ctxtui.curation import edits_from_selection
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class Logging(Marking):
    """The part of the Inspector that applies edits and takes them back."""

    _told = -1
    """The version of the overlay of which leaving was warned."""

    def may_quit(self) -> bool:
        """Whether the program may end: with staged edits it says so once; the same key again leaves, they are kept."""
        overlay = self.overlay
        if overlay is None or not overlay.staged or self._told == overlay.version:
            return True
        self._told = overlay.version
        count = len(overlay.staged)
        what = f"{count:,} staged edit{' is' if count == 1 else 's are'} not applied; kept as a draft. Again to leave, "
        self.say([Span("? ", "warn bold"), Span(what, "ink"), Span("a", "accent bold"), Span(" to apply", "dim")])
        return False

    def action_apply(self) -> None:
        """Apply what is staged."""
        overlay, staging = self.overlay, self.panels.staging
        if overlay is None or staging is None:
            return
        if staging.applied.refused:
            self.say([Span("✗ ", "crit"), Span(f"refused: {staging.applied.refused}", "crit")])
            return
        count = len(overlay.staged)
        if overlay.apply():
            self.say([Span("✓ ", "ok"), Span(f"{count:,} applied; u takes it back", "ink")])
        self.edited()

    def action_discard(self) -> None:
        """Take back what is staged."""
        overlay = self.overlay
        if overlay is not None and (gone := overlay.discard()):
            self.say([Span(f"{len(gone):,} discarded; u brings them back", "ink")])
        self.marks.clear()
        self.edited()

    def action_undo(self) -> None:
        """Undo the last action."""
        if self.overlay is not None and not self.overlay.undo():
            self.say([Span("nothing to undo", "dim")])
        self.edited()

    def action_redo(self) -> None:
        """Redo it."""
        if self.overlay is not None and not self.overlay.redo():
            self.say([Span("nothing to redo", "dim")])
        self.edited()

    def action_when(self) -> None:
        """Choose another moment."""
        pane = self.panels.staged.what
        self.moment = 0 if pane is None else pane.chosen + 1
        self.show()

    def action_breaks(self) -> None:
        """Show what is broken; a literal that a summary lost can be kept."""
        scene, desk, staging = self.panels.scene, self.desk, self.panels.staging
        if desk is None or scene is None or staging is None:
            return
        found = desk.broken(staging, self.feed.want, live=self.live)
        if found is None:
            return
        from ctxtui.tui.lists.breaks import BreaksScreen

        def keep(literal: str | None) -> None:
            overlay = self.overlay
            if literal is None or overlay is None:
                return
            edit = edits_from_selection.keeping(self.context_of(scene), overlay.in_force, literal)
            if edit is None:
                self.say([Span("no summary took this away: u takes the edit back", "dim")])
            else:
                self.stage_now([edit], "summarize")

        self.app.push_screen(BreaksScreen(*found), keep)

    def action_rate(self, rating: str, remark: str = "") -> None:
        """Rate the summary that stands for the block under the cursor, or say something of it."""
        scene, overlay, node = self.panels.scene, self.overlay, self.panels.transcript.node
        new = self.panels.transcript.new
        if scene is None or overlay is None or not (node or new) or not self._ready():
            return
        context = self.context_of(scene)
        at = context.position(node) if node else context.find(new.edit.targets[0]) if new is not None else None
        edit = None if at is None else edits_from_selection.annotated(context, overlay.in_force, at, rating, remark)
        if edit is None:
            self.say([Span("no summary stands for this block", "dim")])
        else:
            overlay.stage_all([edit])
            said = f"the summary is rated {rating}" if rating else "the remark is kept"
            self.say([Span("✓ ", "ok"), Span(f"{said}; E lists it", "ink")])
            self.edited()

    def action_all_rows(self) -> None:
        """All rows, or only what the edits touch."""
        self.every = not self.every
        self.show()

    def action_edit_log(self) -> None:
        """Show every edit."""
        if self.overlay is None:
            return
        from ctxtui.tui.lists.edit_log import EditLogScreen

        def take_back(ids: Sequence[str] | None) -> None:
            if ids and self.overlay is not None:
                self.overlay.revert(ids)
                self.edited()

        self.app.push_screen(EditLogScreen(self.overlay.log, self._named), take_back)

    def _named(self, target: Target) -> str:
        """What a target of an edit is, in a few words."""
        from ctxtui.analysis.short_names import first_words
        from ctxtui.core.block_content import read

        block = self.study.session.tree.blocks.get(target.digest) if self.study is not None else None
        if block is None:
            return "a block that is not in this recording"
        got = read(block)
        return got.name or first_words(got.text) or block.kind
