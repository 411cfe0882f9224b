"""Editing in the Inspector: what was edited before, what is edited now, and what comes of it.

What the commands that edit the context have in common.

Marking in the Inspector: which blocks a key acts on.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message
from textual.worker import get_current_worker

from ctxtui.core.block import TOOL
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.facts import EDITS, MARKED, STAGED, TOOLS, UNDOABLE
from ctxtui.tui.inspector.controllers.search import Searching
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.cache.next_call import Coming
    from ctxtui.core.edit import Edit
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
    from ctxtui.services.editing.overlay import ThreadEdits
    from ctxtui.services.editing.staging import StagingArea
    from ctxtui.views.model.scene import Scene
    from ctxtui.views.model.staging import Staging
    from ctxtui.views.transcript.staged_pane import StagedPane
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
    from ctxtui.curation.context import Context
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


class EditsLoaded(Message):
    """What was edited before is known."""

    def __init__(self, desk: StagingArea) -> None:
        super().__init__()
        self.desk = desk


class Editing(Searching):
    """What the parts of the Inspector that edit the context share.

    `marks` are the nodes that the user marked, in the order of marking; `every` shows all rows while edits are staged;
    `moment` is which price is chosen.
    """

    desk: StagingArea | None = None
    every = False
    moment: int | None = None
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
            self.offer_keys()

    def offer_keys(self) -> None:
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
    def overlay(self) -> ThreadEdits | None:
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
        found |= {TOOLS} if self._on_tools() else set()
        return found | ({UNDOABLE} if overlay.version else set())

    def _on_tools(self) -> bool:
        """Whether a definition of a tool is marked, or under the cursor."""
        scene, node = self.panels.scene, self.panels.transcript.node
        nodes = self.marks or ([node] if node else [])
        return scene is not None and any(scene.session.tree[one].block.kind == TOOL for one in nodes)

    def editable(self) -> bool:
        """Whether the context shown can be edited now: it is there, and counted."""
        scene = self.panels.scene
        return self.desk is not None and self.glimpse is None and scene is not None and scene.counted

    def edits_of(self, scene: Scene) -> tuple[Staging, StagedPane] | None:
        """What the edits of the thread make of the context shown; None without any."""
        desk = self.desk
        if desk is None or desk.study is not self.study or not desk.has_edits(scene.thread, self.marks):
            return None
        if not desk.ready(scene, self.feed.want):
            return None
        staging = desk.staging(scene, frozenset(self.marks))
        pane = desk.pane(staging, self.moment, self.feed.want, live=self.live)
        if desk.study.waits:
            self.feed.work()
        return pane.staging, pane

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

    def stage_now(self, edits: Sequence[Edit], kind: str) -> None:
        """Stage `edits` as one action of `kind`."""
        raise NotImplementedError

    def _ready(self) -> bool:
        scene, desk = self.panels.scene, self.desk
        if not self.editable() or scene is None or desk is None:
            self.say([Span("this context is still being counted", "dim")])
            return False
        if not desk.ready(scene, self.feed.want, waited_for=True):
            self.say([Span("this context is being read: once more in a moment", "dim")])
            return False
        return True

    def context_of(self, scene: Scene) -> Context:
        assert self.desk is not None
        return self.desk.context(scene)

    def _chosen(self, context: Context) -> list[int]:
        """The positions that a key acts on: the marked ones, else that under the cursor."""
        node = self.panels.transcript.node
        nodes = list(self.marks) or ([node] if node else [])
        holds = partial(edits_from_selection.holds, context)
        return sorted(context.position(one) for one in nodes if holds(one))

    def edited(self) -> None:
        """The edits are others now: show them, and then keep them in the background."""
        self.show()
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        # Behind the frame: a thread that writes would take turns with the painting, and what an edit leaves behind is
        # looked through now, not in the middle of the next key.
        gc.collect(1)
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


class Marking(Editing):
    """The part of the Inspector that marks blocks."""

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
        self._mark(context, edits_from_selection.between(context, context.position(last), context.position(node)))

    def action_widen(self) -> None:
        """Widen the mark to the message, the turn, the tool's results, the category."""
        node, scene = self.panels.transcript.node, self.panels.scene
        if not node or scene is None or not self._ready():
            return
        context = self.context_of(scene)
        now = {context.position(one) for one in self.marks} or {context.position(node)}
        wider, what = edits_from_selection.widened(context, context.position(node), frozenset(now))
        self._mark(context, wider)
        self.say([Span("■ ", "accent"), Span(f"{len(wider):,} marked: {what}", "ink")])

    def _mark(self, context: Context, positions: Iterable[int]) -> None:
        self.marks.clear()
        self.marks.update(dict.fromkeys(context.nodes[at] for at in positions))
        self.edited()
