"""Held requests of an attached program, shown as the next call with a countdown."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import COMPACTING, Happened
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ATTACHED, HELD
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.controllers.attached_program import NOT_ATTACHED, recording
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.blocks.editable import is_too_long
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
    from ctxtui.services.attach import held_requests
    from ctxtui.services.attach.held_requests import RemoteHeldRequest
    from ctxtui.tui.lists.held_compaction import SummaryChange
    from ctxtui.views.inspector import composition, header, held_lines
else:
    composition = later("ctxtui.views.inspector.composition")
    header = later("ctxtui.views.inspector.header")
    held_lines = later("ctxtui.views.inspector.held_lines")
    held_requests = later("ctxtui.services.attach.held_requests")

_RECENT_S: Final = 60.0
"""Seconds for which a compaction counts as under way."""
_QUERY_SECONDS: Final = 0.5
"""Seconds between queries for held requests."""


class HeldRequestsController(Controller):
    """Watches for held requests of the session shown, and asks what to do."""

    def __init__(
        self,
        state: InspectorState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        edits: ContextEdits,
        log: EditLogController,
    ) -> None:
        super().__init__(state, prompt, access)
        self._edits, self._log = edits, log
        self._is_attached = self._holds_next = False
        self._held: tuple[RemoteHeldRequest, ...] = ()
        self._asked_id = ""
        """Id of the request that was shown last."""
        self._deadline = 0.0
        """Its deadline: requests over a WebSocket share one id, but the next one has a later deadline."""
        self._own_question: Question | None = None
        self._is_querying = False
        self._shown_reasons: set[str] = set()
        """Reasons for incomplete recording that were shown already."""
        self._cold_reason = ""
        """Why the cache is not kept warm, as said last."""
        self._summaries: dict[str, str] = {}
        """Held summaries as the user changed them, by the id of their request."""
        self._told_compactions: set[Happened] = set()
        state.on.complete.subscribe(self._begin)
        state.on.shown.subscribe(self._show_figures)
        state.on.fitted.subscribe(self._show_figures)

    def facts(self) -> set[str]:
        return ({ATTACHED} if self._is_attached else set()) | ({HELD} if self._held else set())

    # Looking

    def _begin(self) -> None:
        if recording(self.state) is not None and not self._is_querying:
            self._is_querying = True
            self._query()

    def _query(self) -> None:
        """Query the run in a thread; `_update` schedules the next query."""
        path = recording(self.state)
        if path is None:
            self._is_querying = False
            return

        def ask() -> None:
            program = held_requests.read_status(path)
            self.access.deliver(partial(self._update, program))

        self.access.work(ask, "held requests")

    def _update(self, program: held_requests.AttachedProgram) -> None:
        self.access.timer(_QUERY_SECONDS, self._query)
        before = self.facts()
        self._is_attached, self._holds_next, self._held = program.runs, program.next, program.held
        first = self._first
        if first is None:
            self._clear()
        else:
            self._on_held(first)
        self._show_recording_errors(program.troubles)
        self._show_keep_warm(program.keep_warm)
        self._tell_compaction()
        if self.facts() != before:
            self.state.on.fitted.emit()

    def _show_recording_errors(self, troubles: tuple[str, ...]) -> None:
        """Show each reason for incomplete recording once."""
        fresh = {trouble.rpartition(": ")[2]: trouble for trouble in troubles}
        fresh = {why: trouble for why, trouble in fresh.items() if why not in self._shown_reasons}
        if fresh and not self.prompt.is_asking:
            self._shown_reasons |= fresh.keys()
            self.show_message([MARK["error"].span, Span(f" not everything is recorded: {', '.join(fresh)}", "crit")])

    def _show_keep_warm(self, status: KeepWarmStatus | None) -> None:
        """Show how the cache is kept warm, and say once why it no longer is."""
        self.panels.next.show_keep_warm(status)
        why = status.why if status is not None else ""
        if why != self._cold_reason and not self.prompt.is_asking:
            self._cold_reason = why
            if why:
                self.show_message([Span("○ ", "warn"), Span(f"the cache is not kept warm: {why}", "dim")])

    def _tell_compaction(self) -> None:
        """Say once that the program compacts its history."""
        study = self.state.study
        events = study.session.happenings[-1:] if study is not None and self._is_attached else ()
        for event in events:
            is_new = event.kind == COMPACTING and event not in self._told_compactions
            if is_new and event.at is not None and time.time() - event.at < _RECENT_S and not self.prompt.is_asking:
                self._told_compactions.add(event)
                self.show_message([MARK["compaction"].span, Span(f" {event.text} now")])

    @property
    def _first(self) -> RemoteHeldRequest | None:
        return self._held[0] if self._held else None

    def _on_held(self, request: RemoteHeldRequest) -> None:
        """Show the countdown of a held request, and ask about it once."""
        self.state.set_held_countdown(request.seconds_left(time.monotonic()))
        is_new = request.id != self._asked_id or request.until > self._deadline + _QUERY_SECONDS
        self._deadline = request.until
        if self._own_question is not None and self.prompt.question is self._own_question:
            if not is_new:
                self._refresh(request)
                return
            self.prompt.cancel()
        if is_new:
            self._asked_id = request.id
            self._show(request)
            if not self.prompt.is_asking:
                self._ask(request)

    def _show(self, request: RemoteHeldRequest) -> None:
        """Go to the end of its thread, where it is the next call."""
        self._to_thread(request)
        self.state.go(self.state.count - 1, to_end=True)

    def _to_thread(self, request: RemoteHeldRequest) -> None:
        """Show the thread of a request: the question is about the edits of the thread shown."""
        study = self.state.study
        if study is not None and request.thread in study.session.threads:
            self.state.to_thread(request.thread)

    def _show_figures(self) -> None:
        """Show header and composition of the held request."""
        scene, study, staging = self.panels.scene, self.state.study, self.panels.staging
        if self.state.held_countdown is None or scene is None or study is None or not scene.last:
            return
        now = composition.next_scene(scene, self._held[0].model if self._held else "")
        if staging is not None:
            if (what := self.panels.header.content) is not None:
                self.panels.header.show(replace(what, call=scene.number + 1 if scene.call.id else 1))
            return
        if now is None:
            return
        thread_study = study.thread(self.state.thread)
        self.panels.context.show(
            composition.composition(now, scene.figures if scene.call.id else None, None, self.state.shown)
        )
        spent = thread_study.spent[scene.number] if scene.number < len(thread_study.spent) else None
        shown = header.header(now, self.state.recording_state, spent, scene.number < len(thread_study.spent))
        number = now.number if scene.call.id else 1
        self.panels.header.show(
            replace(shown, call=number, auto_release_s=self.state.held_countdown, totals=study.totals)
        )

    def _clear(self) -> None:
        self._asked_id = ""
        self.state.set_held_countdown(None)
        if self._own_question is not None and self.prompt.question is self._own_question:
            self.prompt.cancel()
        self._own_question = None

    # Asking

    def hold(self) -> None:
        """Hold the next request, or stop holding; if one is held, ask what to do."""
        request, path, study = self._first, recording(self.state), self.state.study
        if request is not None:
            self._to_thread(request)
            self._ask(request)
            return
        if not self._is_attached or path is None or study is None:
            self.show_message(NOT_ATTACHED)
            return
        self._holds_next = not self._holds_next
        self.access.work(
            partial(held_requests.hold_next, path, study.session.about.id, hold=self._holds_next), "held requests"
        )
        words = (
            "The next request will be held before it is sent."
            if self._holds_next
            else "The next request is held only if a rule says so."
        )
        self.show_message([Span("‖ " if self._holds_next else "● ", "warn" if self._holds_next else "ok"), Span(words)])

    def _staged_count(self) -> int:
        overlay = self._edits.overlay
        return len(overlay.ready) if overlay is not None else 0

    def _applied_count(self) -> int:
        overlay = self._edits.overlay
        return len(overlay.applied) if overlay is not None else 0

    def _question(self, request: RemoteHeldRequest) -> Spans:
        if request.summary is not None:
            left, is_edited = request.seconds_left(time.monotonic()), request.id in self._summaries
            return held_lines.compaction_question(left, self._staged_count(), request.can_wait, request.pins, is_edited)
        return held_lines.question(
            request.seconds_left(time.monotonic()), self._staged_count(), request.can_wait, self._applied_count()
        )

    def _ask(self, request: RemoteHeldRequest) -> None:
        keys: tuple[str, ...] = held_lines.ANSWER_KEYS
        answered: Callable[[str], None] = partial(self._answered, request.id)
        if request.summary is not None:
            keys = (*held_lines.COMPACTION_KEYS, *(("a",) if self._staged_count() else ()))
            answered = partial(self._answered_summary, request)
        self._own_question = Question(
            self._question(request),
            answered,
            keys=(*keys, held_lines.MORE_KEY) if request.can_wait else keys,
            esc="look",
            on_cancel=self._explain_later,
        )
        self.prompt.ask(self._own_question)

    def _refresh(self, request: RemoteHeldRequest) -> None:
        assert self._own_question is not None
        self._own_question.lead = self.prompt.edit.lead = self._question(request)
        self.prompt.edit.refresh()

    def _explain_later(self) -> None:
        if self._held:
            self.access.soon(self._explain)

    def _explain(self) -> None:
        if self._held and not self.prompt.is_asking:
            is_summary = self._held[0].summary is not None
            self.show_message(held_lines.COMPACTION_LATER if is_summary else held_lines.LATER)

    def _answered(self, id_: str, key: str) -> None:
        if key == "w":
            self.prompt.ask_for(held_lines.WRITING, partial(self._written, id_))
        elif key == "a":
            if self._staged_count():
                self._log.apply()
            if self._staged_count():
                # The edits were refused, or must be read first; the line says so.
                return
            if self._applied_count():
                self._decide(id_, "apply")
            else:
                self.show_message(held_lines.NO_EDITS)
        elif key == held_lines.MORE_KEY:
            self._wait_longer(id_)
        else:
            self._decide(id_, "refuse" if key == "x" else "release")

    def _answered_summary(self, request: RemoteHeldRequest, key: str) -> None:
        summary = self._summaries.get(request.id)
        if key == "l":
            self._open_summary(request)
        elif key == "R":
            self._edit_summary(request)
        elif key == "a":
            # The applied edits shorten the context, so the program's compaction is refused.
            self._log.apply()
            if not self._staged_count():
                self._decide(request.id, "refuse")
        elif key == held_lines.MORE_KEY:
            self._wait_longer(request.id)
        elif key == "x" or summary is None:
            self._decide(request.id, "refuse" if key == "x" else "release")
        else:
            self._decide(request.id, "answer", summary)

    def _open_summary(self, request: RemoteHeldRequest) -> None:
        """Show the held summary and what it loses."""
        from ctxtui.tui.lists.held_compaction import HeldCompactionScreen

        def closed(change: SummaryChange | None) -> None:
            if change is None:
                return
            self._keep_summary(request, change.summary)
            if change.edits:
                self._edit_summary(request)
            elif change.shown is not None:
                # The call before the compaction still has the lost block.
                self.state.to_call(change.shown.compaction.thread, change.shown.compaction.number - 1)
                self.state.to_block(change.shown.node)
                self.show_message(held_lines.COMPACTION_LATER)
            elif self._held and self._held[0].id == request.id:
                self._ask(self._held[0])

        text = self._summaries.get(request.id, request.summary or "")
        self.access.push(HeldCompactionScreen(self.state, request.thread, text), closed)

    def _edit_summary(self, request: RemoteHeldRequest) -> None:
        """Open the held summary in the editor, then show what it loses."""
        from ctxtui.tui.dialogs.text_editor import TextEditor

        def edited(text: str | None) -> None:
            if text is not None and text.strip():
                self._keep_summary(request, text)
            self._open_summary(request)

        text = self._summaries.get(request.id, request.summary or "")
        if is_too_long(text):
            self.prompt.refuse("This summary is too long to edit here; `ctxtui hold answer --text` gives another one.")
        else:
            self.access.push(TextEditor(text, "edit the summary"), edited)

    def _keep_summary(self, request: RemoteHeldRequest, text: str) -> None:
        if text != request.summary:
            self._summaries[request.id] = text

    def _wait_longer(self, id_: str) -> None:
        """Extend the time by ten minutes, and ask again."""
        path = recording(self.state)
        if path is None:
            return

        def do() -> None:
            try:
                held_requests.decide(path.parent, id_, "more")
            except CtxtuiError as error:
                self.access.deliver(partial(self.prompt.refuse, str(error)))
                return
            self.access.deliver(partial(self.show_message, held_lines.OUTCOMES["more"]))

        self._asked_id = ""
        self.access.work(do, "held requests")

    def _written(self, id_: str, text: str) -> None:
        if text.strip():
            self._decide(id_, "answer", text)
        else:
            self.show_message(
                [Span("An empty answer was not sent; the request is still held. ", "dim"), *held_lines.DECIDES]
            )

    def _decide(self, id_: str, how: str, text: str = "") -> None:
        """Send the decision `how` to the run, in a thread; apply and refuse save the edits first."""
        path, area = recording(self.state), self._edits.staging_area
        if path is None:
            return

        def do() -> None:
            try:
                if how in ("apply", "refuse") and area is not None:
                    area.save()
                held_requests.decide(path.parent, id_, how, text)
            except CtxtuiError as error:
                self.access.deliver(partial(self.prompt.refuse, str(error)))
                return
            self.access.deliver(partial(self.show_message, outcomes[how]))

        is_summary = any(request.id == id_ and request.summary is not None for request in self._held)
        outcomes = held_lines.COMPACTION_OUTCOMES if is_summary else held_lines.OUTCOMES
        self._held = tuple(request for request in self._held if request.id != id_)
        self._asked_id = id_
        self.access.work(do, "held requests")


class HoldRequest(Command):
    """Hold the attached program's next request, so that you can inspect and change it.

    Press again to cancel.
    """

    name, keys, label, group = "hold the next request", ("ctrl+o",), "hold", "attached program"
    run = Act(HeldRequestsController, HeldRequestsController.hold)
    needs = frozenset({ATTACHED})
    unless = frozenset({HELD})


class DecideRequest(Command):
    """Decide about the held request: send it, answer it yourself, or refuse it.

    It is sent as is or with the applied edits; your answer takes the place of the model's.
    """

    name, label, group = "decide about the held request", "decide", "attached program"
    run = Act(HeldRequestsController, HeldRequestsController.hold)
    shown = "^o"
    needs = frozenset({HELD})


ATTACHED_KEYS: tuple[type[Command], ...] = (DecideRequest, HoldRequest)
