"""Edits of the context shown: loading, staging, their effect, saving.

A raw position is the number of a block (from 0) in the raw context, the one before edits.
"""

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
from ctxtui.core.edit_kinds import TRANSPLANT
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.situation import BLOCK, EDITS, INSERTED, MARKED, STAGED, TOOLS, UNDOABLE
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
    from ctxtui.views.transcript.staged_pane import StagedPane


_CHECK_SECONDS: Final = 2.0
"""Interval of checks for edits of other programs."""
_FRAME_SENT_SECONDS: Final = 0.02
"""Seconds after a frame until the terminal has received it."""


class ContextEdits:
    """State shared by the controllers that edit the context.

    `staging_area` is None until the earlier edits are read. `shows_next_call` is None until the user chooses.
    """

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        self.staging_area: StagingArea | None = None
        self._load_error = ""
        self.shows_next_call: bool | None = None
        self.answers = EditAnswers(state, prompt)
        self._pending_edits: Sequence[Edit] = ()
        self._watch: Timer | None = None
        self._state = state
        self._prompt = prompt
        self._access = access
        state.set_edits(self)
        state.on.reopened.subscribe(self.load)

    def load(self) -> None:
        self.staging_area, self._load_error = None, ""
        self._access.work(self._load, "load edits", exclusive=True)

    def _load(self) -> None:
        study, loaded = self._state.study, self._state.loaded
        if study is None or loaded is None:
            return
        staging_area = self._state.source.staging(study, loaded)
        try:
            for thread in list(study.session.threads):
                staging_area.overlay(thread)
        except CtxtuiError as error:
            # Edits staged on unknown earlier edits would make another request than the one shown.
            self._load_error = f"earlier edits cannot be read: {error}"
            self._warn(self._load_error)
            self._access.deliver(self._state.on.fitted.emit)
            return
        self._access.deliver(lambda: self._enable(staging_area))

    def _enable(self, staging_area: StagingArea) -> None:
        if staging_area.study is not self._state.study:
            return
        self.staging_area = staging_area
        staging_area.session_edits.has_database_changed()  # only later changes count
        if self._watch is None:
            self._watch = self._access.every(_CHECK_SECONDS, self._check_other_programs)
        pending, self._pending_edits = self._pending_edits, ()
        overlay = staging_area.overlay(self._state.thread)
        if pending and not overlay.log:
            overlay.stage_all(pending)
            overlay.apply()
            self._access.after_frame(self._save_later)
        if staging_area.has_edits(self._state.thread):
            self._state.show()
        else:
            self._state.on.fitted.emit()

    def _check_other_programs(self) -> None:
        # Such as an agent that uses `ctxtui mcp serve`.
        if self.staging_area is not None and self.staging_area.session_edits.has_database_changed():
            self._access.work(partial(self._read_other_edits, self.staging_area), "edits elsewhere", exclusive=True)

    def _read_other_edits(self, staging_area: StagingArea) -> None:
        try:
            stored = staging_area.session_edits.stored()
        except CtxtuiError as error:
            self._warn(f"edits of other programs: {error}")
            return
        self._access.deliver(lambda: self._add_other_edits(staging_area, stored))

    def _add_other_edits(self, staging_area: StagingArea, stored: Mapping[str, Iterable[Edit]]) -> None:
        new = staging_area.session_edits.add_stored(stored) if staging_area is self.staging_area else []
        if new:
            self.changed()
            self.answers.show_message(edit_answers.external_change_answer(new, self.answers.blocks()))

    def apply_when_ready(self, edits: Sequence[Edit]) -> None:
        """Apply these edits to the context once it is loaded, unless it has edits already."""
        self._pending_edits = edits

    def _warn(self, why: str) -> None:
        self._access.deliver(lambda: self._prompt.show_message(warned(why)))

    # Edits and selected blocks

    @property
    def overlay(self) -> ThreadEdits | None:
        """The edits of the thread shown; None without a `staging_area`."""
        return self.overlay_of(self._state.thread)

    def overlay_of(self, thread: str) -> ThreadEdits | None:
        return self.staging_area.overlay(thread) if self.staging_area is not None else None

    def facts(self) -> set[str]:
        area = self.staging_area
        if area is None or area.study is not self._state.study:
            return set()
        overlay = area.overlay(self._state.thread)
        facts = {EDITS} if self.is_editable() else set()
        facts |= {STAGED} if overlay.staged else set()
        facts |= {MARKED} if self._state.marks else set()
        facts |= {TOOLS} if self._on_tools() else set()
        return facts | ({UNDOABLE} if overlay.version else set())

    def _on_tools(self) -> bool:
        scene, node = self._state.panels.scene, self._state.panels.transcript.node
        nodes = self._state.marks or ([node] if node else [])
        return scene is not None and any(scene.session.tree[node].block.kind == TOOL for node in nodes)

    def is_editable(self) -> bool:
        """Whether the context shown and its earlier edits are loaded."""
        state = self._state
        return self.staging_area is not None and state.recording_end is None and state.panels.scene is not None

    def check_ready(self, *, counted: bool = False) -> bool:
        """Whether the context can be edited now, and is counted if `counted`; if not, shows why."""
        scene = self._state.panels.scene
        if self._load_error:
            self._prompt.show_message(warned(self._load_error))
            return False
        if not self.is_editable() or scene is None:
            is_reading = self._state.recording_end is not None or scene is None
            what = "this recording is" if is_reading else "earlier edits are"
            self._prompt.show_message([Span(f"{what} still being read", "dim")])
            return False
        if counted and not scene.counted:
            self._prompt.show_message([Span("The tokens of this context are still being counted.", "dim")])
            return False
        heavy = self._state.panels.heaviest
        if heavy.has_focus and heavy.screen.is_current and heavy.node is not None:
            # The user is looking at that list: move the transcript there, and act on that block.
            self._state.to_block(heavy.node)
        return True

    def context_of(self, scene: Scene) -> Context:
        assert self.staging_area is not None
        return self.staging_area.context(scene)

    def _sent_blocks(self, scene: Scene | None) -> SentBlocks | None:
        return self.staging_area.sent_blocks(scene) if self.staging_area is not None and scene is not None else None

    def position(self, node: int | None) -> int | None:
        """Return the raw position of the block that `node` shows, or None."""
        sent = self._sent_blocks(self._state.panels.scene)
        return sent.position(node) if sent is not None and node else None

    def blocks_of(self, nodes: Iterable[int]) -> list[int]:
        """Return the nodes of the raw context whose blocks `nodes` show."""
        blocks, scene = [*nodes], self._state.panels.scene
        sent = self._sent_blocks(scene) if blocks and scene is not None and scene.call.is_edited else None
        return blocks if sent is None else [sent.block(node) for node in blocks]

    def nodes_in(self, scene: Scene | None, nodes: Iterable[int]) -> list[int]:
        """Return the nodes that show these blocks in `scene`: the inverse of `blocks_of`."""
        blocks = [*nodes]
        sent = self._sent_blocks(scene) if blocks and scene is not None and scene.call.is_edited else None
        return blocks if sent is None else [sent.shown(node) for node in blocks]

    def selected_positions(self, *, marked: bool = True) -> list[int]:
        """Return the raw positions of marked blocks (if `marked`), else of that under the cursor."""
        marks = self._state.marks if marked else ()
        positions = map(self.position, marks or (self._state.panels.transcript.node,))
        return sorted(at for at in positions if at is not None)

    def require_positions(self, *, marked: bool = True) -> list[int]:
        """Like `selected_positions`; if there are none, show why."""
        pane = self._state.panels.transcript
        is_incoming = pane.data is not None and pane.cursor in pane.data.streaming_rows
        positions = [] if is_incoming and not (marked and self._state.marks) else self.selected_positions(marked=marked)
        if not positions:
            self.answers.say_quietly(self._no_position_reason(pane.place, marked=marked, coming_in=is_incoming))
        return positions

    def _no_position_reason(self, place: CursorPlace, *, marked: bool, coming_in: bool) -> str:
        sent = self._sent_blocks(self._state.panels.scene)
        if marked and self._state.marks:
            return "None of the marked blocks is in this call. esc clears the marks."
        if coming_in:
            return "This answer is still arriving; you can edit it when it is complete."
        if place.new is not None and place.new.edit.kind == TRANSPLANT:
            return "An edit put in this block: d takes it back."
        if place.new is not None:
            return "An edit inserts this block: R edits it, d takes it back."
        if place.node == MISSING:
            return "This was not recorded, so it cannot be edited."
        if sent is not None and place.node in sent.inserted:
            return "An edit that you took back inserted this; the next request does not contain it."
        return "There is no block on this line."

    # Effects of the edits

    def staged_pane_of(self, scene: Scene) -> StagedPane | None:
        """Return the effect of the thread's edits on a context. None without edits, or until it is computed."""
        state, area = self._state, self.staging_area
        if area is None or area.study is not state.study or not area.has_edits(scene.thread):
            return None
        if not area.is_ready(scene, state.loader.request_load):
            return None
        staging = area.staging(scene, frozenset(state.marks))
        pane = area.pane(staging, state.loader.request_load, live=state.live)
        if area.study.has_pending:
            state.loader.work()
        return pane

    def next_call_of(self, scene: Scene) -> NextCallForecast | None:
        """Return the forecast of the next call if it is to be shown and is computed, else None."""
        state, area = self._state, self.staging_area
        if area is None or area.study is not state.study or self.shows_next_call is False:
            return None
        edited = area.has_edits(scene.thread)
        if not (scene.last or edited or self.shows_next_call):
            return None
        # Imported late: most screens never need it.
        from ctxtui.services.editing.next_request_cache import should_forecast_ahead

        live = state.live or state.held_countdown is not None
        is_requested = self.shows_next_call or edited or live
        if not is_requested and not should_forecast_ahead(area.study.book, scene, time.time()):
            return None
        forecast = area.forecast(scene, state.loader.request_load, live=live)
        if forecast is None:
            return None
        is_cached = forecast.expires is not None and forecast.expires > time.time()
        return forecast if is_requested or is_cached else None

    def next_moment(self) -> None:
        """Choose the next moment from which staged edits are used: now, or after an event."""
        from ctxtui.curation.price.price_tag import NOW
        from ctxtui.services.editing.staging import CONDITION_OF_MOMENT, MOMENT_OF_CONDITION

        pane, overlay = self._state.panels.staged.content, self.overlay
        if pane is None or overlay is None or not overlay.staged:
            return
        if not pane.moments and self.staging_area is not None and self.staging_area.is_forecasting:
            self._prompt.show_message([Span("The prices are still being computed.", "dim")])
            return
        offered = {NOW, *(moment.name for moment in pane.moments)}
        until = next(iter(overlay.waiting.values()), "")
        order = [*CONDITION_OF_MOMENT]
        at = order.index(MOMENT_OF_CONDITION.get(until, NOW)) + 1
        overlay.postpone(
            CONDITION_OF_MOMENT[next(moment_name for moment_name in (*order[at:], *order) if moment_name in offered)]
        )
        self.changed()
        shown = self._state.panels.staged.content
        waits = shown.waits if shown is not None else ()
        if waits:
            end = ": the first request after that will be sent with the edits"
            self._prompt.show_message([Span(waits[0].words, "accent bold"), Span(end)])
        else:
            self._prompt.show_message([Span("No edit waits; "), Span("a", "accent bold"), Span(" applies them now")])

    def tick(self) -> None:
        pane = self._state.panels.staged.content
        if self._state.panels.staging is not None and pane is not None and any(wait.left for wait in pane.waits):
            self._state.show()

    def toggle_next_call(self) -> None:
        """Switch between the next call and this call; show why if there is no forecast."""
        self.shows_next_call = not (self.shows_next_call or self._state.panels.next_call is not None)
        self._state.show()
        scene = self._state.panels.scene
        is_missing = self.shows_next_call and self._state.panels.next_call is None
        if is_missing and self.staging_area is not None and scene is not None:
            has_cache = scene.call.usage is not None and scene.call.usage.has_cache
            self.answers.say_quietly(
                "The forecast is still being computed."
                if has_cache
                else "No forecast: this call reported no cache figures."
            )

    # Staging

    def stage(self, edits: Sequence[Edit], left: int = 0, why: str = "") -> Sequence[Edit]:
        """Stage `edits` as one action and show the effect; return the accepted ones.

        Refused edits are withdrawn with a reason. `left` other blocks stay unchanged because of `why`.
        """
        scene, overlay, area = self._state.panels.scene, self.overlay, self.staging_area
        if scene is None or overlay is None or area is None:
            return ()
        before = self.current_sizes()
        staged = overlay.stage_all(edits)
        if not staged:
            self.answers.say_quietly(edit_answers.explain_no_change(edits, overlay.edits_in_force))
            return ()
        ids = {edit.id for edit in staged}
        refused = [rejected for rejected in area.staging(scene).applied.rejected if rejected.edit.id in ids]
        if refused:
            overlay.remove_staged(staged)
            accepted = [edit for edit in staged if edit.id not in {rejected.edit.id for rejected in refused}]
            if accepted:
                return self.stage(accepted, left + len(refused), refused[0].why)
            self.answers.show_message(edit_answers.refused_answer(refused[0].why, None, len(refused)))
        else:
            self._state.mark(())
        self.changed()
        if not refused:
            self.answers.staged(staged, before, overlay, self.changed, left, why)
        return [] if refused else staged

    def stage_text(self, edit: Edit) -> Sequence[Edit]:
        """Like `stage`, for an edit with a text. If it is refused, the text is copied to the clipboard."""
        staged = self.stage([edit]) if self.check_ready() else ()
        if not staged:
            self._access.copy(str(edit.params["text"]))
            self._prompt.show_message([*self._prompt.edit.hint, Span("; the text is copied")])
        return staged

    def take_back(self, edits: Sequence[Edit]) -> None:
        overlay = self.overlay
        if overlay is None:
            return
        before = self.current_sizes()
        overlay.revert(edit.id for edit in edits)
        self.changed()
        self.answers.show_message(edit_answers.revert_answer(edits, self.answers.blocks(), self.freed_since(before)))

    def current_sizes(self) -> SizesBefore:
        scene = self._state.panels.scene
        has_edits = self.staging_area is not None and scene is not None and self.staging_area.has_edits(scene.thread)
        if self.staging_area is None or scene is None or not has_edits:
            return self.answers.sizes(None)
        staging, shown = self.staging_area.staging(scene), self._state.staging
        # The shown staging is already counted.
        same = shown is not None and shown.applied is staging.applied and shown.scene is scene
        return self.answers.sizes(shown if same else staging)

    def freed_since(self, before: SizesBefore) -> int | None:
        """Return how many tokens fewer the next request has than `before`; None while counting."""
        now = self.current_sizes()
        freed, freed_before = now.removed(now.staging), before.removed(now.staging)
        return None if freed is None or freed_before is None else freed - freed_before

    def changed(self) -> None:
        self._state.show()
        self._access.after_frame(self._save_later)

    def _save_later(self) -> None:
        # Saving competes with painting, so it starts after the frame. Garbage of the edit is collected now rather than
        # during the next key, but not before the thread that writes the frame to the terminal is done.
        self._access.timer(_FRAME_SENT_SECONDS, partial(gc.collect, 1))
        self._state.loader.work()
        if self.staging_area is not None and self.staging_area.unsaved:
            self._access.work(self._save, "edits")

    def _save(self) -> None:
        if self.staging_area is None or get_current_worker().is_cancelled:
            return
        try:
            self.staging_area.save()
        except CtxtuiError as error:
            self._warn(f"edits are not saved: {error}")


class EditController(Controller):
    """A controller that edits the context."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access)
        self.edits = edits


class BlocksCommand(Command):
    """A command for the marked blocks, or the one under the cursor.

    `on_marked`: it asks first if marked blocks are not in view.
    """

    on_marked: ClassVar[bool] = True
    group = "editing the context"
    panes = ("transcript",)
    needs = frozenset({EDITS})
    needs_any = frozenset({BLOCK, MARKED})


class BlocksOrInsertsCommand(BlocksCommand):
    """The same, also for inserted blocks."""

    needs_any = frozenset({BLOCK, MARKED, INSERTED})
