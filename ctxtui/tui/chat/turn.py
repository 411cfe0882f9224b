"""Shows the progress of a turn: new records, the answer being received, and its token count."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from ctxtui.agent import progress
from ctxtui.agent.conversation import Draft
from ctxtui.agent.tools import command_tool
from ctxtui.core.session import MAIN
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands.situation import RESTING, RUNNING
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.growing_answer import GrowingAnswer
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.live_rows import ALL_LINES, LiveAnswer, category_of
from ctxtui.views.transcript.open_block import OpenState

if TYPE_CHECKING:
    from ctxtui.services.counting.live_count import LiveCount

FRAME_SECONDS = 1 / 40
"""Least seconds between frames of a streamed answer."""
_COUNT_SECONDS = 0.1
"""Seconds between token counts of the answer."""


def _import_views() -> None:
    """Import what shows an answer; runs in a worker while the provider works."""
    import ctxtui.analysis.content.block_weights
    import ctxtui.views.blocks.code_text
    import ctxtui.views.blocks.content
    import ctxtui.views.blocks.json_text
    import ctxtui.views.blocks.live_text  # noqa: F401


class TurnController(ChatController):
    """Shows the turns of the host's main thread."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._last_frame = -inf
        """Monotonic time of the last frame of the answer."""
        self._tail = GrowingAnswer(self.panels.transcript)
        self._answer: LiveAnswer | None = None
        """The answer being received, shown at the end of the main thread."""
        state.on.shown.subscribe(self._show_answer)
        self._frame_timer: Timer | None = None
        """Timer of the next frame, if there is more to paint."""
        self._count_timer: Timer | None = None
        self._live_count: LiveCount | None = None
        self._deferred_news: list[ChatNews] | None = None
        """News that wait until the end of an answer is painted; None: none do."""
        self._draft_sent: Draft | None = None
        self._handlers: dict[type, Callable[..., None]] = {
            progress.RequestDrafted: self._on_drafted,
            progress.DraftHeld: self._on_held,
            progress.RequestSent: self._on_sent,
            progress.CallBegan: self._on_call_began,
            progress.PieceReceived: self._on_piece,
            progress.CallEnded: self._on_call_ended,
            progress.CallFailed: self._on_call_failed,
            progress.ToolWaits: self._on_tool_waits,
            progress.ToolBegan: self._on_tool_began,
            progress.PermissionRequested: self._on_permission_requested,
            progress.RetryWaits: self._on_retry_waits,
            progress.Notice: self._on_notice,
            progress.TurnEnded: self._on_turn_ended,
        }

    def facts(self) -> set[str]:
        return {RUNNING if self.state.is_running else RESTING}

    # News of the host

    def hear(self, news: ChatNews) -> None:
        """Handle news of the host; runs in the event loop."""
        if self._deferred_news is not None:
            self._deferred_news.append(news)
        elif self._is_unpainted and news.thread == MAIN and isinstance(news.moment, progress.CallEnded):
            # Paint the last words first: laying out the finished block takes longer.
            self._deferred_news = [news]
            if self._frame_timer is not None:
                self._frame_timer.stop()
                self._paint()
            self.access.after_frame(self._handle_deferred)
        else:
            self._handle(news)

    @property
    def _is_unpainted(self) -> bool:
        """Whether received text may not be on the screen yet."""
        return self._frame_timer is not None or monotonic() < self._last_frame + FRAME_SECONDS

    def _handle_deferred(self) -> None:
        waiting, self._deferred_news = self._deferred_news or [], None
        for news in waiting:
            self._handle(news)

    def _handle(self, news: ChatNews) -> None:
        if news.events:
            from ctxtui.services.recordings.recording import RecordingNews

            self.state.add_hosted_news(RecordingNews(list(news.events)))
        if news.chat_model is not None:
            self.state.chat_signals.model.emit(news.chat_model)
        # Sub-agents are shown in their own threads.
        if news.moment is not None and news.thread == MAIN:
            handler = self._handlers.get(type(news.moment))
            if handler is not None:
                handler(news.moment)

    def _on_drafted(self, moment: progress.RequestDrafted) -> None:
        self._note("preparing the request")

    def _on_held(self, moment: progress.DraftHeld) -> None:
        self._note(f"held before sending: {moment.reason}", is_held=True)
        self.state.chat_signals.held.emit()

    def _on_sent(self, moment: progress.RequestSent) -> None:
        self._draft_sent = moment.draft
        # Show the answer among all rows, even if only edited ones were shown.
        self.state.show_only_edits(False)
        model = self.host.chat_model
        name = "the provider"
        if model is not None:
            name = "the offline provider" if model.is_offline else f"{model.model} of {model.endpoint.name}"
        self.access.work(_import_views, "what shows an answer")
        self._note(f"waiting for {name}" + (f", attempt {moment.attempt}" if moment.attempt > 1 else ""))
        if self.state.study is not None and model is not None:
            self._live_count = self.state.source.live_count(self.state.study, model.model)
        self._count_timer = self._count_timer or self.access.every(_COUNT_SECONDS, self._count_answer)

    def _on_call_began(self, moment: progress.CallBegan) -> None:
        if self._draft_sent is not None and moment.call.first_byte is not None:
            self.state.chat_signals.began.emit(self._draft_sent, moment.call.first_byte)

    def _on_piece(self, moment: progress.PieceReceived) -> None:
        self._answer = self._answer or LiveAnswer()
        room = self.panels.transcript.grid.body
        for block, kind, text in moment.deltas:
            self._answer.feed(block, kind, text, room)
            if self._live_count is not None:
                self._live_count.feed(block, kind, text)
        if moment.deltas:
            self._paint_soon()

    def _paint_soon(self) -> None:
        """Paint at once, or at the next allowed frame."""
        if self._frame_timer is None:
            wait = self._last_frame + FRAME_SECONDS - monotonic()
            if wait > 0:
                self._frame_timer = self.access.timer(wait, self._paint)
            else:
                self._paint()

    def _paint(self) -> None:
        self._frame_timer, self._last_frame = None, monotonic()
        self._show_answer(grown=True)

    def _show_answer(self, *, grown: bool = False) -> None:
        """Show the answer (`grown`: it is longer now) below the main thread's last call only."""
        rows, state = self.state.rows, self.state
        answer = self._answer if state.thread == MAIN and state.index >= state.count - 1 else None
        if rows is not None and (rows.answer is not answer or (grown and answer is not None)):
            rows.answer = answer
            self._tail.grew()

    def _count_answer(self) -> None:
        if self._live_count is not None:
            live = self._live_count

            def count() -> None:
                tokens = live.advance()
                self.access.deliver(lambda: self._show_counts(tokens))

            self.access.work(count, "live count")

    def _show_counts(self, counted: dict[int, int]) -> None:
        if self._answer is None:
            return
        for block, tokens in counted.items():
            if block in self._answer.blocks:
                self._answer.blocks[block].tokens = tokens
        self._paint_soon()
        self.state.chat_signals.grown.emit()

    def _end_answer(self) -> None:
        for timer in (self._frame_timer, self._count_timer):
            if timer is not None:
                timer.stop()
        self._frame_timer = self._count_timer = self._live_count = self._answer = None
        if self.state.rows is not None:
            self.state.rows.answer = None

    def _on_call_ended(self, moment: progress.CallEnded) -> None:
        self._end_answer()
        self._open_answer(moment.call.raw_head, moment.head)

    def _open_answer(self, before: int, head: int) -> None:
        """Keep the text of the finished answer open: the user was reading it."""
        rows, study = self.state.rows, self.state.study
        if rows is None or study is None:
            return
        tree = study.session.tree
        text_category = category_of("text")
        for node in tree.path(head, before):
            if tree[node].category == text_category and tree[node].block.kind != "header":
                rows.opened[node] = OpenState(ALL_LINES)

    def _on_call_failed(self, moment: progress.CallFailed) -> None:
        self._end_answer()

    def _on_tool_began(self, moment: progress.ToolBegan) -> None:
        call = safe_text.one_line(command_tool.describe_call(moment.call), 80)
        self._note(f"{call} is running; esc in the transcript ends the turn")

    def _on_tool_waits(self, moment: progress.ToolWaits) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} waits until the answer is recorded")

    def _on_permission_requested(self, moment: progress.PermissionRequested) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} needs your permission")
        self.state.chat_signals.permission.emit()

    def _on_retry_waits(self, moment: progress.RetryWaits) -> None:
        retry = f"trying again in {moment.seconds:.1f} s (attempt {moment.attempt} of {moment.max_attempts})"
        self._note(f"{safe_text.one_line(moment.reason, 80)}; {retry}")

    def _on_notice(self, moment: progress.Notice) -> None:
        if moment.kind != "retry":  # `_on_retry_waits` shows these.
            is_error = moment.kind == "error"
            sign = [Span("✗ ", "crit")] if is_error else []
            self.show_message([*sign, Span(safe_text.one_line(moment.text, 300), "crit" if is_error else "dim")])

    def _on_turn_ended(self, moment: progress.TurnEnded) -> None:
        self._end_answer()
        self.state.set_held(False)

    def _note(self, text: str, *, is_held: bool = False) -> None:
        """Show the state of the turn where the answer will appear, unless the answer has begun."""
        if self._answer is None or not self._answer.blocks:
            self._answer = LiveAnswer(note=text)
        self._show_answer()
        self.state.set_held(is_held)
