"""The part of a chat's screen that hears what happens in a turn: the record grows, an answer comes in, is counted."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from ctxtui.agent import progress as mo
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
from ctxtui.views.transcript.open_block import OpenBlock

if TYPE_CHECKING:
    from ctxtui.services.counting.live_count import LiveCount

FRAME = 1 / 40
"""Seconds from one frame of an answer that comes in to the next at least: as of any frames that no key waits for."""
_COUNT = 0.1
"""Seconds between two counts of it."""


def _load() -> None:
    """In a worker, while the provider thinks: what an answer is shown with that comes in, and that is on record."""
    import ctxtui.analysis.content.block_weights
    import ctxtui.analysis.labels.figures
    import ctxtui.views.blocks.code_text
    import ctxtui.views.blocks.content
    import ctxtui.views.blocks.json_text
    import ctxtui.views.blocks.live_text
    import ctxtui.views.blocks.markdown
    import ctxtui.views.transcript.open_block  # noqa: F401


class TurnController(ChatController):
    """Shows the turns of the host."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._painted = -inf
        """When the last frame of an answer that comes in was, by the monotonic clock."""
        self._tail = GrowingAnswer(self.panels.transcript)
        self._due: Timer | None = None
        """Waits until there may be another one, where there is more to paint."""
        self._counts: Timer | None = None
        self._live: LiveCount | None = None
        self._waiting_for_frame: list[ChatNews] | None = None
        """What is heard once the last words of an answer are painted; None: nothing waits for that."""
        self._draft_sent: Draft | None = None

    def facts(self) -> set[str]:
        """Whether a turn runs."""
        return {RUNNING if self.state.running else RESTING}

    def dismiss_alarm(self) -> None:
        """The alarm was seen."""
        self.state.tells.alarm.emit("")

    # What the host tells

    def hear(self, news: ChatNews) -> None:
        """Something happened; in the event loop."""
        if self._waiting_for_frame is not None:
            self._waiting_for_frame.append(news)
        elif self._is_unpainted and news.thread == MAIN and isinstance(news.moment, mo.CallEnded):
            # The block that the answer becomes is laid out anew: its last words do not wait for that.
            self._waiting_for_frame = [news]
            if self._due is not None:
                self._due.stop()
                self._frame()
            self.access.after_frame(self._hear_on)
        else:
            self._hear(news)

    @property
    def _is_unpainted(self) -> bool:
        """Whether words of an answer may not be on the screen yet."""
        return self._due is not None or monotonic() < self._painted + FRAME

    def _hear_on(self) -> None:
        waiting, self._waiting_for_frame = self._waiting_for_frame or [], None
        for news in waiting:
            self._hear(news)

    def _hear(self, news: ChatNews) -> None:
        if news.events:
            from ctxtui.services.recordings.recording import RecordingNews

            self.state.hear(RecordingNews(list(news.events)))
        if news.chat_model is not None:
            self.state.tells.partner.emit(news.chat_model)
        # What a sub-agent does is read in its own thread.
        if news.moment is not None and news.thread == MAIN:
            handler = self._handlers().get(type(news.moment))
            if handler is not None:
                handler(news.moment)

    def _handlers(self) -> dict[type, Callable[..., None]]:
        return {
            mo.Drafted: self._drafted,
            mo.RequestHeld: self._held,
            mo.RequestSent: self._sent,
            mo.CallBegan: self._began,
            mo.PieceReceived: self._heard,
            mo.CallEnded: self._ended,
            mo.CallFailed: self._failed,
            mo.ToolWaits: self._tool_waits,
            mo.ToolBegan: self._tool,
            mo.LeaveAsked: self._leave_asked,
            mo.RetryWaits: self._waiting,
            mo.Noted: self._noted,
            mo.Rested: self._rested,
        }

    def _drafted(self, moment: mo.Drafted) -> None:
        self._note("looking at the request")

    def _held(self, moment: mo.RequestHeld) -> None:
        self._note(f"held before sending: {moment.reason}", "held")
        self.state.tells.held.emit()

    def _sent(self, moment: mo.RequestSent) -> None:
        self._draft_sent = moment.draft
        # The answer is read among all rows, not among those that edits changed.
        self.state.show_only_edits(False)
        partner = self.host.chat_model
        name = "the provider"
        if partner is not None:
            name = "the offline provider" if partner.is_offline else f"{partner.model} of {partner.endpoint.name}"
        self.access.work(_load, "what shows an answer")
        self._note(f"{name} was asked" + (f", attempt {moment.attempt}" if moment.attempt > 1 else ""))
        if self.state.study is not None and partner is not None:
            self._live = self.state.source.live_count(self.state.study, partner.model)
        self._counts = self._counts or self.access.every(_COUNT, self._answer_count)

    def _began(self, moment: mo.CallBegan) -> None:
        if self._draft_sent is not None and moment.call.first_byte is not None:
            self.state.tells.began.emit(self._draft_sent, moment.call.first_byte)

    def _heard(self, moment: mo.PieceReceived) -> None:
        rows = self.state.rows
        if rows is None:
            return
        if rows.answer is None:
            rows.answer = LiveAnswer()
        room = self.panels.transcript.grid.body
        for block, kind, text in moment.deltas:
            rows.answer.feed(block, kind, text, room)
            if self._live is not None:
                self._live.feed(block, kind, text)
        if moment.deltas:
            self._grew()

    def _grew(self) -> None:
        """There is more to paint: at once, or as soon as a frame may be."""
        if self._due is None:
            wait = self._painted + FRAME - monotonic()
            if wait > 0:
                self._due = self.access.timer(wait, self._frame)
            else:
                self._frame()

    def _frame(self) -> None:
        """What came since the last one is painted."""
        self._due, self._painted = None, monotonic()
        self._tail.grew()

    def _answer_count(self) -> None:
        if self._live is not None:
            live = self._live

            def count() -> None:
                tokens = live.advance()
                self.access.deliver(lambda: self._counted(tokens))

            self.access.work(count, "live count")

    def _counted(self, counted: dict[int, int]) -> None:
        """The figures of what comes in: tokens by block number."""
        rows = self.state.rows
        if rows is None or rows.answer is None:
            return
        for number, tokens in counted.items():
            if number in rows.answer.blocks:
                rows.answer.blocks[number].tokens = tokens
        self._grew()
        self.state.tells.grown.emit()

    def _over(self) -> None:
        """No answer comes in any more."""
        for timer in (self._due, self._counts):
            if timer is not None:
                timer.stop()
        self._due = self._counts = self._live = None
        if self.state.rows is not None:
            self.state.rows.answer = None

    def _ended(self, moment: mo.CallEnded) -> None:
        self._over()
        self._open_answer(moment.call.raw_head, moment.head)

    def _open_answer(self, before: int, head: int) -> None:
        """What was read while it came in stays open: the words of the answer."""
        rows, study = self.state.rows, self.state.study
        if rows is None or study is None:
            return
        tree = study.session.tree
        words = category_of("text")
        for node in tree.path(head, before):
            if tree[node].category == words and tree[node].block.kind != "header":
                rows.opened[node] = OpenBlock(ALL_LINES)

    def _failed(self, moment: mo.CallFailed) -> None:
        self._over()

    def _tool(self, moment: mo.ToolBegan) -> None:
        self._note(f"{safe_text.one_line(command_tool.describe_call(moment.call), 80)} runs; in the panes, esc ends it")

    def _tool_waits(self, moment: mo.ToolWaits) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} waits until the answer is on record")

    def _leave_asked(self, moment: mo.LeaveAsked) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} needs your permission")
        self.state.tells.leave.emit()

    def _waiting(self, moment: mo.RetryWaits) -> None:
        again = f"trying again in {moment.seconds:.1f} s (attempt {moment.attempt} of {moment.most})"
        self._note(f"{safe_text.one_line(moment.reason, 80)}; {again}")

    def _noted(self, moment: mo.Noted) -> None:
        if moment.kind != "retry":
            wrong = moment.kind == "error"
            sign = [Span("✗ ", "crit")] if wrong else []
            self.say([*sign, Span(safe_text.one_line(moment.text, 300), "crit" if wrong else "dim")])

    def _rested(self, moment: mo.Rested) -> None:
        self._over()
        self.state.doing("")

    def _note(self, text: str, status: str = "") -> None:
        """What is waited for stands where the answer will come."""
        rows = self.state.rows
        if rows is not None:
            if rows.answer is None or not rows.answer.blocks:
                rows.answer = LiveAnswer(note=text)
            self._tail.grew()
        self.state.doing(status)
