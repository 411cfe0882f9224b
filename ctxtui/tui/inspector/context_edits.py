"""The edits of the context that an Inspector shows: what was edited before, what is staged now, what comes of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.timer import Timer
from textual.worker import get_current_worker

from ctxtui.core.block import TOOL
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.situation import BLOCK, EDITS, MARKED, PUT_IN, STAGED, TOOLS, UNDOABLE
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.edit_answers import EditAnswers, SizesBefore
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.signs import warned
from ctxtui.views.text.span import Span
from ctxtui.views.transcript import edit_answers
from ctxtui.views.transcript.cursor_place import CursorPlace
from ctxtui.views.transcript.row_index import MISSING

if TYPE_CHECKING:
    from ctxtui.analysis.cache.next_call import NextCallForecast
    from ctxtui.curation.context import Context
    from ctxtui.curation.sent_blocks import SentBlocks
    from ctxtui.services.editing.overlay import ThreadEdits
    from ctxtui.services.editing.staging import StagingArea
    from ctxtui.views.model.staging import Staging
    from ctxtui.views.transcript.staged_pane import StagedPane


_LOOK: Final = 2.0
"""Seconds between two looks at what other programs have staged."""
_SENT: Final = 0.02
"""Seconds behind a frame after which the terminal has it."""


class ContextEdits:
    """What the controllers that edit the context share. `desk` is where edits are staged, None while the recording is
    being read; `ahead` says whether the next call is to be shown, None where nobody said."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        self.desk: StagingArea | None = None
        self._unreadable = ""
        self.ahead: bool | None = None
        self.answers = EditAnswers(state, prompt)
        self._brought: Sequence[Edit] = ()
        self._watch: Timer | None = None
        self._state = state
        self._prompt = prompt
        self._access = access
        state.take_edits(self)
        state.on.reopened.subscribe(self.load)

    def load(self) -> None:
        """Read what was edited before, in a worker."""
        self.desk, self._unreadable = None, ""
        self._access.work(self._load, "load edits", exclusive=True)

    def _load(self) -> None:
        study, loaded = self._state.study, self._state.loaded
        if study is None or loaded is None:
            return
        desk = self._state.source.staging(study, loaded)
        try:
            for thread in list(study.session.threads):
                desk.overlay(thread)
        except CtxtuiError as error:
            # What is staged on top of edits that nobody knows would be another request than is shown.
            self._unreadable = f"earlier edits: {error}"
            self._warn(self._unreadable)
            self._access.deliver(self._state.on.fitted.emit)
            return
        self._access.deliver(lambda: self._loaded(desk))

    def _loaded(self, desk: StagingArea) -> None:
        """From now on the context can be edited."""
        if desk.study is not self._state.study:
            return
        self.desk = desk
        desk.elsewhere.has_database_changed()
        if self._watch is None:
            self._watch = self._access.every(_LOOK, self._look_elsewhere)
        brought, self._brought = self._brought, ()
        overlay = desk.overlay(self._state.thread)
        if brought and not overlay.log:
            overlay.stage_all(brought)
            overlay.apply()
            self._access.after_frame(self._settle)
        if desk.has_edits(self._state.thread):
            self._state.show()
        else:
            self._state.on.fitted.emit()

    def _look_elsewhere(self) -> None:
        """Another program, such as an agent by `ctxtui mcp serve`, may have staged edits."""
        if self.desk is not None and self.desk.elsewhere.has_database_changed():
            self._access.work(partial(self._read_elsewhere, self.desk), "edits elsewhere", exclusive=True)

    def _read_elsewhere(self, desk: StagingArea) -> None:
        try:
            stored = desk.elsewhere.stored()
        except CtxtuiError as error:
            self._warn(f"edits of other programs: {error}")
            return
        self._access.deliver(lambda: self._take(desk, stored))

    def _take(self, desk: StagingArea, stored: Mapping[str, Iterable[Edit]]) -> None:
        new = desk.elsewhere.add_stored(stored) if desk is self.desk else []
        if new:
            self.changed()
            self.answers.say(edit_answers.external_change_answer(new, self.answers.blocks()))

    def bring(self, edits: Sequence[Edit]) -> None:
        """Apply these to the context, as soon as it is read."""
        self._brought = edits

    def _warn(self, why: str) -> None:
        self._access.deliver(lambda: self._prompt.say(warned(why)))

    # What there is

    @property
    def overlay(self) -> ThreadEdits | None:
        """The edits of the thread shown; None while the recording is being read."""
        return self.desk.overlay(self._state.thread) if self.desk is not None else None

    def facts(self) -> set[str]:
        """What commands may ask about editing."""
        overlay = self.overlay if self.desk is not None and self.desk.study is self._state.study else None
        if overlay is None:
            return set()
        found = {EDITS} if self.editable() else set()
        found |= {STAGED} if overlay.staged else set()
        found |= {MARKED} if self._state.marks else set()
        found |= {TOOLS} if self._on_tools() else set()
        return found | ({UNDOABLE} if overlay.version else set())

    def _on_tools(self) -> bool:
        """Whether a definition of a tool is marked, or under the cursor."""
        scene, node = self._state.panels.scene, self._state.panels.transcript.node
        nodes = self._state.marks or ([node] if node else [])
        return scene is not None and any(scene.session.tree[one].block.kind == TOOL for one in nodes)

    def editable(self) -> bool:
        """Whether the context shown can be edited now: all of it is there."""
        return self.desk is not None and self._state.glimpse is None and self._state.panels.scene is not None

    def ready(self, *, counted: bool = False) -> bool:
        """Whether the context shown can be edited now, and is `counted` where a command needs that; it is said where it
        is not."""
        scene = self._state.panels.scene
        if self._unreadable:
            self._prompt.say(warned(self._unreadable))
            return False
        if not self.editable() or scene is None:
            what = "this recording is" if self._state.glimpse is not None or scene is None else "earlier edits are"
            self._prompt.say([Span(f"{what} still being read", "dim")])
            return False
        if counted and not scene.counted:
            self._prompt.say([Span("this context is still being counted", "dim")])
            return False
        heavy = self._state.panels.heaviest
        if heavy.has_focus and heavy.screen.is_current and heavy.node is not None:
            # The block that one looks at is the one in that list: the transcript goes there, and the key acts on it.
            self._state.to_block(heavy.node)
        return True

    def context_of(self, scene: Scene) -> Context:
        """The context of a scene, for editing."""
        assert self.desk is not None
        return self.desk.context(scene)

    def _sent(self, scene: Scene | None) -> SentBlocks | None:
        return self.desk.sent_blocks(scene) if self.desk is not None and scene is not None else None

    def position(self, node: int | None) -> int | None:
        """The position, in the context that is edited, of the block that `node` shows; None where it shows none."""
        sent = self._sent(self._state.panels.scene)
        return sent.position(node) if sent is not None and node else None

    def blocks_of(self, nodes: Iterable[int]) -> list[int]:
        """The nodes of the context that is edited, of the blocks that `nodes` show."""
        found, scene = [*nodes], self._state.panels.scene
        sent = self._sent(scene) if found and scene is not None and scene.call.is_edited else None
        return found if sent is None else [sent.block(node) for node in found]

    def shown(self, scene: Scene | None, nodes: Iterable[int]) -> list[int]:
        """The nodes that show these blocks in `scene`: what was sent under edits has nodes of its own."""
        found = [*nodes]
        sent = self._sent(scene) if found and scene is not None and scene.call.is_edited else None
        return found if sent is None else [sent.shown(node) for node in found]

    def chosen(self, *, marked: bool = True) -> list[int]:
        """The positions that a key acts on: the marked ones (where `marked`), else that under the cursor."""
        marks = self._state.marks if marked else ()
        found = map(self.position, marks or (self._state.panels.transcript.node,))
        return sorted(at for at in found if at is not None)

    def positions(self, *, marked: bool = True) -> list[int]:
        """As `chosen`; where there is none it is said why."""
        pane = self._state.panels.transcript
        coming_in = pane.data is not None and pane.cursor in pane.data.streaming_rows
        found = [] if coming_in and not (marked and self._state.marks) else self.chosen(marked=marked)
        if not found:
            self.answers.quiet(self._why_none(pane.place, marked=marked, coming_in=coming_in))
        return found

    def _why_none(self, place: CursorPlace, *, marked: bool, coming_in: bool) -> str:
        sent = self._sent(self._state.panels.scene)
        if marked and self._state.marks:
            return "none of the marked blocks is in this call: esc clears the marks"
        if coming_in:
            return "this answer is still coming in: it can be edited when it is complete"
        if place.new is not None:
            return "an edit puts this in: R edits it, d takes it back"
        if place.node == MISSING:
            return "this was not recorded: it cannot be edited"
        if sent is not None and place.node in sent.inserted:
            return "an edit that was taken back put this in: the next request goes without it"
        return "there is no block on this line"

    # What comes of it

    def edits_of(self, scene: Scene) -> tuple[Staging, StagedPane] | None:
        """What the edits of the thread make of the context shown; None without any."""
        state, desk = self._state, self.desk
        if desk is None or desk.study is not state.study or not desk.has_edits(scene.thread):
            return None
        if not desk.ready(scene, state.feed.want):
            return None
        staging = desk.staging(scene, frozenset(state.marks))
        pane = desk.pane(staging, None, state.feed.want, live=state.live)
        if desk.study.has_pending:
            state.feed.work()
        return pane.staging, pane

    def coming_of(self, scene: Scene) -> NextCallForecast | None:
        """The next call, where it is to be shown: while the context has edits, at the end of a live session, while what
        the last call left is still cached, or when it was asked for."""
        state, desk = self._state, self.desk
        if desk is None or desk.study is not state.study or self.ahead is False:
            return None
        edited = desk.has_edits(scene.thread)
        if not (scene.last or edited or self.ahead):
            return None
        # Imported here: a screen without a desk never asks.
        from ctxtui.services.editing.next_request_cache import should_forecast_ahead

        live = state.live or state.waits is not None
        wanted = self.ahead or edited or live
        if not wanted and not should_forecast_ahead(desk.study.book, scene, time.time()):
            return None
        coming = desk.coming(scene, state.feed.want, live=live)
        if coming is None:
            return None
        warm = coming.expires is not None and coming.expires > time.time()
        return coming if wanted or warm else None

    def next_moment(self) -> None:
        """Let what is staged leave at the next moment of those that there are: now, or it waits."""
        from ctxtui.curation.price.price_tag import NOW
        from ctxtui.services.editing.staging import UNTIL, WAIT_FOR

        pane, overlay = self._state.panels.staged.what, self.overlay
        if pane is None or overlay is None or not overlay.staged:
            return
        if not pane.moments and self.desk is not None and self.desk.foretelling:
            self._prompt.say([Span("the prices are being worked out", "dim")])
            return
        there = {NOW, *(one.name for one in pane.moments)}
        until = next(iter(overlay.waiting.values()), "")
        order = [*WAIT_FOR]
        at = order.index(UNTIL.get(until, NOW)) + 1
        overlay.postpone(WAIT_FOR[next(one for one in (*order[at:], *order) if one in there)])
        self.changed()
        shown = self._state.panels.staged.what
        waits = shown.waits if shown is not None else ()
        if waits:
            end = ": the first request after it leaves with them"
            self._prompt.say([Span(waits[0].words, "accent bold"), Span(end)])
        else:
            self._prompt.say([Span("nothing waits; "), Span("a", "accent bold"), Span(" applies it now")])

    def tick(self) -> None:
        """A second has passed: what is left until edits leave."""
        pane = self._state.panels.staged.what
        if self._state.panels.staging is not None and pane is not None and any(one.left for one in pane.waits):
            self._state.show()

    def look_ahead(self) -> None:
        """The next call of the context shown, or what this one was charged; it is said why no forecast is there."""
        self.ahead = not (self.ahead or self._state.panels.coming is not None)
        self._state.show()
        scene = self._state.panels.scene
        if not self.ahead or self._state.panels.coming is not None or self.desk is None or scene is None:
            return
        known = scene.call.usage is not None and scene.call.usage.has_cache
        why = "the next call is being worked out" if known else "no forecast: this call reported nothing of a cache"
        self.answers.quiet(why)

    # Staging

    def stage(self, edits: Sequence[Edit], left: int = 0, why: str = "") -> Sequence[Edit]:
        """Stage `edits` as one action, and answer what it gained; what is held, or gains nothing, is withdrawn with the
        reason. `left` other blocks stay as they are, because of `why`. The entries that were made and stand."""
        scene, overlay, desk = self._state.panels.scene, self.overlay, self.desk
        if scene is None or overlay is None or desk is None:
            return ()
        before = self.now()
        made = overlay.stage_all(edits)
        if not made:
            self.answers.quiet(edit_answers.explain_no_change(edits, overlay.edits_in_force))
            return ()
        ids = {edit.id for edit in made}
        held = [one for one in desk.staging(scene).applied.held if one.edit.id in ids]
        if held:
            overlay.remove_staged(made)
            rest = [edit for edit in made if edit.id not in {one.edit.id for one in held}]
            if rest:
                return self.stage(rest, left + len(held), held[0].why)
            self.answers.say(edit_answers.refused_answer(held[0].why, None, len(held)))
        else:
            self._state.mark(())
        self.changed()
        if not held:
            self.answers.staged(made, before, overlay, self.changed, left, why)
        return [] if held else made

    def take_back(self, edits: Sequence[Edit]) -> None:
        """Take back these edits, staged or applied, as one action."""
        overlay = self.overlay
        if overlay is None:
            return
        before = self.now()
        overlay.revert(edit.id for edit in edits)
        self.changed()
        self.answers.say(edit_answers.revert_answer(edits, self.answers.blocks(), self.freed_since(before)))

    def now(self) -> SizesBefore:
        """What the context comes to now."""
        scene = self._state.panels.scene
        there = self.desk is not None and scene is not None and self.desk.has_edits(scene.thread)
        if self.desk is None or scene is None or not there:
            return self.answers.sizes(None)
        found, shown = self.desk.staging(scene), self._state.staging
        # What is shown is counted already.
        same = shown is not None and shown.applied is found.applied and shown.scene is scene
        return self.answers.sizes(shown if same else found)

    def freed_since(self, before: SizesBefore) -> int | None:
        """Tokens that the next request has less than `before`; None while they are being counted."""
        now = self.now()
        gone, had = now.gone(now.staging), before.gone(now.staging)
        return None if gone is None or had is None else gone - had

    def changed(self) -> None:
        """The edits are others now: show them, and then keep them in the background."""
        self._state.show()
        self._access.after_frame(self._settle)

    def _settle(self) -> None:
        # Behind the frame: a thread that writes would take turns with the painting, and what an edit leaves behind is
        # looked through then, not in the middle of the next key. The frame is on its way to the terminal by a thread,
        # which the collector would keep waiting.
        self._access.timer(_SENT, partial(gc.collect, 1))
        self._state.feed.work()
        if self.desk is not None and self.desk.unsaved:
            self._access.work(self._save, "edits")

    def _save(self) -> None:
        if self.desk is None or get_current_worker().is_cancelled:
            return
        try:
            self.desk.save()
        except CtxtuiError as error:
            self._warn(f"edits are not saved: {error}")


class EditController(Controller):
    """A controller that edits the context; `edits` is what it shares with the others that do."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access)
        self.edits = edits


class OnBlocks(Command):
    """A command for the marked blocks, or the one under the cursor. `on_marked`: it changes those that are marked; then
    it asks first where none of them is in view."""

    on_marked: ClassVar[bool] = True
    group = "editing the context"
    panes = ("transcript",)
    needs = frozenset({EDITS})
    one_of = frozenset({BLOCK, MARKED})


class OnBlocksOrPutIn(OnBlocks):
    """The same, also on what an edit puts in."""

    one_of = frozenset({BLOCK, MARKED, PUT_IN})
