"""Staging in the Inspector: what is marked, what is staged, and what the keys do to it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message
from textual.worker import get_current_worker

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.inspector_staging import EDITS, MARKED, STAGED, UNDOABLE
from ctxtui.tui.later import later
from ctxtui.tui.screens.inspector_search import Searching
from ctxtui.views.span import Span

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit, Target
    from ctxtui.curation import selection
    from ctxtui.curation.context import Context
    from ctxtui.lab.coming import Coming
    from ctxtui.runtime import staging_desk
    from ctxtui.runtime.overlay import Overlay
    from ctxtui.runtime.staging_desk import StagingDesk
    from ctxtui.views.scene import Scene
    from ctxtui.views.staged_pane import StagedPane
    from ctxtui.views.staging import Staging
else:
    staging_desk = later("ctxtui.runtime.staging_desk")
    selection = later("ctxtui.curation.selection")


class EditsLoaded(Message):
    """What was edited before is known."""

    def __init__(self, desk: StagingDesk) -> None:
        super().__init__()
        self.desk = desk


class OnEdits(Searching):
    """The part of the Inspector that edits the context.

    `marks` are the nodes that the user marked, in the order of marking; `every` shows all rows while edits are staged;
    `moment` is which price is chosen.
    """

    desk: StagingDesk | None = None
    every = False
    moment: int | None = None
    noting = False
    ahead = False
    """Whether the next call was asked for."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a search is typed `ctrl+r` belongs to it."""
        if action == "redo":
            return not self.asking
        return super().check_action(action, parameters)

    def load_edits(self) -> None:
        """Read what was edited before, in a worker."""
        self.desk = None
        self.run_worker(self._load, thread=True, group="load edits", exclusive=True, exit_on_error=True)

    def _load(self) -> None:
        study, loaded = self.study, self.loaded
        if study is None or loaded is None:
            return
        desk = self.source.desk(study, loaded)
        try:
            for thread in list(study.session.threads):
                desk.overlay(thread)
        except CtxtuiError as error:
            self.app.call_from_thread(self.say, [Span("▲ ", "warn"), Span(f"earlier edits: {error}", "warn")])
        self.post_message(EditsLoaded(desk))

    def on_edits_loaded(self, message: EditsLoaded) -> None:
        """From now on the context can be edited."""
        if message.desk.study is not self.study:
            return
        self.desk = message.desk
        if self.desk.has_edits(self.thread):
            self.show()
        else:
            self._offer()

    def _offer(self) -> None:
        """Other keys can be used now."""
        raise NotImplementedError

    @property
    def marks(self) -> dict[int, None]:
        """The marked nodes; the last one was marked last."""
        marks: dict[int, None] | None = self.__dict__.get("_marks")
        if marks is None:
            marks = self.__dict__["_marks"] = {}
        return marks

    @property
    def overlay(self) -> Overlay | None:
        """The edits of the thread shown; None while the recording is being read."""
        return self.desk.overlay(self.thread) if self.desk is not None else None

    def edit_facts(self) -> set[str]:
        """What commands may ask about editing."""
        overlay = self.overlay if self.desk is not None and self.desk.study is self.study else None
        if overlay is None:
            return set()
        found = {EDITS} if self.editable() else set()
        found |= {STAGED} if overlay.staged else set()
        found |= {MARKED} if self.marks else set()
        return found | ({UNDOABLE} if overlay.version else set())

    def editable(self) -> bool:
        """Whether the context shown can be edited now: it is there, and counted."""
        scene = self.panels.scene
        return self.desk is not None and self.glimpse is None and scene is not None and scene.counted

    def edits_of(self, scene: Scene) -> tuple[Staging, StagedPane] | None:
        """What the edits of the thread make of the context shown; None without any."""
        desk = self.desk
        if desk is None or desk.study is not self.study or not desk.has_edits(scene.thread, self.marks):
            return None
        staging = desk.staging(scene, frozenset(self.marks))
        pane = desk.pane(staging, self.moment, desk.next_call(scene, self.feed.want, live=self.live))
        if pane.breaks_at is not None:
            staging = replace(staging, parts_at=pane.breaks_at)
        return staging, replace(pane, staging=staging)

    def coming_of(self, scene: Scene) -> Coming | None:
        """The next call, where it is to be shown: at the end of a live session, while what the last call left is still
        cached, or when it was asked for."""
        desk = self.desk
        if desk is None or desk.study is not self.study or not (scene.last or self.ahead):
            return None
        found = desk.next_call(scene, self.feed.want, live=self.live)
        if found is None:
            return None
        warm = found.coming.expires is not None and found.coming.expires > time.time()
        return found.coming if self.ahead or self.live or warm else None

    def action_foretell(self) -> None:
        """The next call of the context shown, or what this one was charged."""
        self.ahead = not self.ahead
        self.show()

    # Marking

    def action_mark(self) -> None:
        """Mark the block under the cursor, or unmark it."""
        node = self.panels.transcript.node
        if not node or not self._ready():
            return
        if self.marks.pop(node, 0) == 0:
            self.marks[node] = None
        self.panels.transcript.move_to(self.panels.transcript.cursor + 1)
        self.edited()

    def action_mark_range(self) -> None:
        """Mark from the last marked block to the cursor."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self._ready():
            return
        context = self.context_of(scene)
        last = next(reversed(self.marks), node)
        self._mark(context, selection.between(context, context.position(last), context.position(node)))

    def action_widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self._ready():
            return
        context = self.context_of(scene)
        now = {context.position(one) for one in self.marks} or {context.position(node)}
        wider, what = selection.widened(context, context.position(node), frozenset(now))
        self._mark(context, wider)
        self.say([Span("■ ", "accent"), Span(f"{len(wider):,} marked: {what}", "ink")])

    def _mark(self, context: Context, positions: Iterable[int]) -> None:
        self.marks.clear()
        self.marks.update(dict.fromkeys(context.nodes[at] for at in positions))
        self.edited()

    # Staging

    def action_stage(self, kind: str) -> None:
        """Stage an edit of the marked blocks, or of the one under the cursor; take it back where it stands already."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or self.desk is None or not self._ready():
            return
        context = self.context_of(scene)
        new = self.panels.transcript.new
        if kind == "drop" and new is not None and not self.marks:
            overlay.revert(edit.id for edit in selection.put_in_there(overlay.in_force, new.edit))
            self._done([], kind)
            return
        positions = self._chosen(context)
        if not positions:
            return
        standing = selection.standing(context, overlay.in_force, kind, positions)
        if standing:
            overlay.revert(edit.id for edit in standing)
            self._done([], kind)
            return
        self.stage_now(selection.edits(context, kind, positions, self.desk.keep(self.thread)), kind)

    def action_breakpoint(self) -> None:
        """A breakpoint of five minutes behind the block, then of an hour, then none."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or not self._ready():
            return
        context = self.context_of(scene)
        at = self._chosen(context)[-1:]
        if at:
            self.stage_now([selection.breakpoint_step(context, overlay.in_force, at[0])], "breakpoint")

    def action_replace(self) -> None:
        """Write another text in $EDITOR."""
        scene, overlay = self.panels.scene, self.overlay
        if scene is None or overlay is None or not self._ready():
            return
        put_in = self.panels.transcript.new
        if put_in is not None:
            self._replace_put_in(put_in.edit)
            return
        context = self.context_of(scene)
        node, text, kind = self._editable_text(context)
        if node is None:
            self._no_text()
        elif (new := self._written_anew(text)) is not None:
            self.stage_now([selection.reworded(context, overlay.in_force, node, new)], kind)

    def _replace_put_in(self, edit: Edit) -> None:
        """Another text for the summary or the note that `edit` puts in."""
        text = str(edit.given.get("text") or "")
        if selection.put_in_again(edit, text) is None:
            self._no_text()
            return
        new = self._written_anew(text)
        again = selection.put_in_again(edit, new) if new is not None else None
        if again is not None and self.overlay is not None:
            if edit.kind == "note":
                # Summaries of the same blocks replace each other, notes stand side by side.
                self.overlay.revert([edit.id])
            self.stage_now([again], edit.kind)

    def _no_text(self) -> None:
        self.say([Span("✗ ", "crit"), Span("this block has no text that can be replaced", "crit")])

    def _written_anew(self, text: str) -> str | None:
        """`text` as the user leaves it in $EDITOR; None where it stays as it is."""
        from ctxtui.runtime.editor import NoEditor, edited_text

        try:
            with self.app.suspend():
                new = edited_text(text)
        except NoEditor as error:
            self.say([Span("✗ ", "crit"), Span(str(error), "crit")])
            return None
        self.app.refresh()
        return new if new != text else None

    def _editable_text(self, context: Context) -> tuple[int | None, str, str]:
        node = self.panels.transcript.node
        if node:
            return selection.text_at(context, self.overlay.in_force if self.overlay else (), context.position(node))
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
            self.stage_now([selection.note(context, context.position(node), text.strip())], "note")

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

    # The log

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
        found = (
            desk.next_call(scene, self.feed.want, live=self.live) if desk is not None and scene is not None else None
        )
        if desk is None or scene is None or staging is None or found is None:
            return
        from ctxtui.tui.screens.breaks import BreaksScreen

        def keep(literal: str | None) -> None:
            overlay = self.overlay
            if literal is None or overlay is None:
                return
            edit = selection.keeping(self.context_of(scene), overlay.in_force, literal)
            if edit is None:
                self.say([Span("no summary took this away: u takes the edit back", "dim")])
            else:
                self.stage_now([edit], "summarize")

        self.app.push_screen(BreaksScreen(*desk.broken(staging, found)), keep)

    def action_rate(self, rating: str) -> None:
        """Rate the summary that stands for the block under the cursor."""
        scene, overlay, node = self.panels.scene, self.overlay, self.panels.transcript.node
        new = self.panels.transcript.new
        if scene is None or overlay is None or not (node or new) or not self._ready():
            return
        context = self.context_of(scene)
        at = context.position(node) if node else context.find(new.edit.targets[0]) if new is not None else None
        edit = None if at is None else selection.annotated(context, overlay.in_force, at, rating)
        if edit is None:
            self.say([Span("no summary stands for this block", "dim")])
        else:
            overlay.stage_all([edit])
            self.say([Span("✓ ", "ok"), Span(f"the summary is rated {rating}; E lists it", "ink")])
            self.edited()

    def action_all_rows(self) -> None:
        """All rows, or only what the edits touch."""
        self.every = not self.every
        self.show()

    def action_edit_log(self) -> None:
        """Show every edit."""
        if self.overlay is None:
            return
        from ctxtui.tui.screens.edit_log import EditLogScreen

        def take_back(ids: Sequence[str] | None) -> None:
            if ids and self.overlay is not None:
                self.overlay.revert(ids)
                self.edited()

        self.app.push_screen(EditLogScreen(self.overlay.log, self._named), take_back)

    def _named(self, target: Target) -> str:
        """What a target of an edit is, in a few words."""
        from ctxtui.core.reading import read
        from ctxtui.lab.labels import first_words

        block = self.study.session.tree.blocks.get(target.digest) if self.study is not None else None
        if block is None:
            return "a block that is not in this recording"
        got = read(block)
        return got.name or first_words(got.text) or block.kind

    # What all of them need

    def _ready(self) -> bool:
        if self.editable():
            return True
        self.say([Span("this context is still being counted", "dim")])
        return False

    def context_of(self, scene: Scene) -> Context:
        assert self.desk is not None
        return self.desk.context(scene)

    def _chosen(self, context: Context) -> list[int]:
        """The positions that a key acts on: the marked ones, else that under the cursor."""
        node = self.panels.transcript.node
        nodes = list(self.marks) or ([node] if node else [])
        holds = partial(selection.holds, context)
        return sorted(context.position(one) for one in nodes if holds(one))

    def edited(self) -> None:
        """The edits are others now: show them, and keep them in the background."""
        self.show()
        self.feed.work()
        if self.desk is not None and self.desk.unsaved:
            self.run_worker(self._save, thread=True, group="edits", exit_on_error=True)

    def _save(self) -> None:
        if self.desk is None or get_current_worker().is_cancelled:
            return
        try:
            self.desk.save()
        except CtxtuiError as error:
            self.app.call_from_thread(self.say, [Span("▲ ", "warn"), Span(f"edits are not saved: {error}", "warn")])
