"""The part of a chat's screen that hears what happens in a turn: the record grows, an answer comes in, is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from ctxtui.core.errors import ProviderError
from ctxtui.tui.chat.live_transcript import LiveTranscript
from ctxtui.tui.highlight import highlight
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.live_rows import WHOLE, LiveAnswer, LiveRows, category_of
from ctxtui.views.transcript.open_block import Opened

if TYPE_CHECKING:
    from ctxtui.agent import progress as mo
    from ctxtui.agent.conversation import Draft
    from ctxtui.services.chat.chat_source import ChatSource
    from ctxtui.services.chat.host import ChatNews, Host
    from ctxtui.services.counting.live_count import LiveCount
else:
    mo = later("ctxtui.agent.progress")

FRAME = 1 / 30
"""Seconds between two frames of an answer that comes in."""
_COUNT = 0.1
"""Seconds between two counts of it."""


class AnswerCounted(Message):
    """The answer that comes in was counted: tokens by block number."""

    def __init__(self, tokens: dict[int, int]) -> None:
        super().__init__()
        self.tokens = tokens


class TurnSeen(InspectorScreen):
    """Shows the turns of `host`."""

    chat: ChatSource
    """Where the session comes from."""
    status = ""
    """What the turn does, in a word or two."""
    hosted = True
    along = True
    """Whether the view goes along with the chat: until the user looks elsewhere."""
    _dirty = False
    _grow_due = False
    _frames: Timer | None = None
    _counts: Timer | None = None
    _live: LiveCount | None = None
    _draft_sent: Draft | None = None
    _drafted_last: Draft | None = None

    @property
    def host(self) -> Host:
        """What hosts the chat."""
        return self.chat.host

    @property
    def rows(self) -> LiveRows | None:
        """The transcript's rows."""
        pane = self.panels.transcript
        return pane.rows if isinstance(pane, LiveTranscript) else None

    @property
    def at_end(self) -> bool:
        """Whether the view goes along."""
        return self.along

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`; the end of the last one goes along."""
        super().go(index, to_end=to_end)
        self.along = self.index >= self.count - 1 and (to_end or self.panels.transcript.at_last)

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """The user moved the cursor: away from the end, or back to it."""
        if message.pane is self.panels.transcript:
            self.along = self.index >= self.count - 1 and self.panels.transcript.at_last

    def _open(self) -> None:
        super()._open()
        # The rows of a chat know of an answer that comes in.
        data = self.panels.transcript.data
        if data is not None and not isinstance(data, LiveRows):
            made = LiveRows(data.readings, highlight)
            made.preview_lines = data.preview_lines
            self.panels.transcript.data = made

    # What the host tells

    def hear(self, news: ChatNews) -> None:
        """Something happened; in the event loop."""
        if news.events and self.loaded is not None:
            from ctxtui.services.recordings.recording import RecordingNews as Read

            self.loaded.take(Read(list(news.events)))
            if not self._grow_due:
                self._grow_due = True
                self.call_later(self._grow)
        if news.moment is not None:
            handler = self._handlers().get(type(news.moment))
            if handler is not None:
                handler(news.moment)

    def _grow(self) -> None:
        self._grow_due = False
        self.session_grew(at_end=self.at_end)

    def _handlers(self) -> dict[type, Callable[..., None]]:
        return {
            mo.Drafted: self._drafted,
            mo.RequestHeld: self._held,
            mo.RequestSent: self._sent,
            mo.CallBegan: self._began,
            mo.PieceReceived: self._heard,
            mo.CallEnded: self._ended,
            mo.CallFailed: self._failed,
            mo.ToolBegan: self._tool,
            mo.LeaveAsked: self._leave_asked,
            mo.Waiting: self._waiting,
            mo.Noted: self._noted,
            mo.Rested: self._rested,
        }

    def _drafted(self, moment: mo.Drafted) -> None:
        self._drafted_last = moment.draft
        self._note("looking at the request")

    def _held(self, moment: mo.RequestHeld) -> None:
        self._note(f"held: {moment.reason}. ^o sends it, esc takes it back", "held")
        if self._drafted_last is not None:
            self.run_worker(self._count_held(self._drafted_last, moment.reason), group="counting held")

    async def _count_held(self, draft: Draft, reason: str) -> None:
        """A held request has the time to be counted by its provider."""
        try:
            exact = await self.host.counted(draft)
        except ProviderError:
            return
        if exact is not None and self.status == "held" and draft is self._drafted_last:
            self._note(f"held: {reason}; {exact:,} tokens, the provider counts. ^o sends it, esc takes it back", "held")

    def _sent(self, moment: mo.RequestSent) -> None:
        self._draft_sent = moment.draft
        # The answer is read among all rows, not among those that edits changed.
        self.every = True
        partner = self.host.partner
        name = "the provider"
        if partner is not None:
            name = "the offline provider" if partner.is_offline else f"{partner.model} of {partner.endpoint.name}"
        self._note(f"{name} was asked" + (f", attempt {moment.attempt}" if moment.attempt > 1 else ""))
        if self.study is not None and partner is not None:
            self._live = self.chat.live_count(self.study, partner.model)
        self._frames = self._frames or self.set_interval(FRAME, self._frame)
        self._counts = self._counts or self.set_interval(_COUNT, self._answer_count)

    def _began(self, moment: mo.CallBegan) -> None:
        if self._draft_sent is not None and moment.call.first_byte is not None:
            self.call_began(self._draft_sent, moment.call.first_byte)

    def call_began(self, draft: Draft, at: float) -> None:
        """The answer to `draft` begins."""

    def _heard(self, moment: mo.PieceReceived) -> None:
        rows = self.rows
        if rows is None:
            return
        if rows.answer is None:
            rows.answer = LiveAnswer()
        room = self.panels.transcript.grid.body
        for block, kind, text in moment.deltas:
            rows.answer.feed(block, kind, text, room)
            if self._live is not None:
                self._live.feed(block, kind, text)
        self._dirty = self._dirty or bool(moment.deltas)

    def _frame(self) -> None:
        """At most thirty times a second: what came since is painted."""
        if self._dirty and isinstance(self.panels.transcript, LiveTranscript):
            self._dirty = False
            self.panels.transcript.grew()

    def _answer_count(self) -> None:
        if self._live is not None:
            live = self._live
            self.run_worker(lambda: self.post_message(AnswerCounted(live.advance())), thread=True, group="live count")

    def on_answer_counted(self, message: AnswerCounted) -> None:
        """The figures of what comes in."""
        rows = self.rows
        if rows is None or rows.answer is None:
            return
        for number, tokens in message.tokens.items():
            if number in rows.answer.blocks:
                rows.answer.blocks[number].tokens = tokens
        self._dirty = True
        self.moved()

    def moved(self) -> None:
        """The figures of the context moved with the answer."""

    def _over(self) -> None:
        """No answer comes in any more."""
        for timer in (self._frames, self._counts):
            if timer is not None:
                timer.stop()
        self._frames = self._counts = self._live = None
        if self.rows is not None:
            self.rows.answer = None

    def _ended(self, moment: mo.CallEnded) -> None:
        self._over()
        self._open_answer(moment.call.raw_head, moment.head)

    def _open_answer(self, before: int, head: int) -> None:
        """What was read while it came in stays open: the words of the answer."""
        rows, study = self.rows, self.study
        if rows is None or study is None:
            return
        tree = study.session.tree
        words = category_of("text")
        for node in tree.path(head, before):
            if tree[node].category == words and tree[node].block.kind != "header":
                rows.opened[node] = Opened(WHOLE)

    def _failed(self, moment: mo.CallFailed) -> None:
        self._over()

    def _tool(self, moment: mo.ToolBegan) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} runs")

    def _leave_asked(self, moment: mo.LeaveAsked) -> None:
        self._note(f"{safe_text.one_line(moment.call.name, 40)} waits for your leave: `i` answers")
        self.leave_wanted()

    def leave_wanted(self) -> None:
        """A tool waits for the user."""

    def _waiting(self, moment: mo.Waiting) -> None:
        again = f"trying again in {moment.seconds:.1f} s (attempt {moment.attempt} of {moment.most})"
        self._note(f"{safe_text.one_line(moment.reason, 80)}; {again}")

    def _noted(self, moment: mo.Noted) -> None:
        if moment.kind != "retry":
            wrong = moment.kind == "error"
            sign = [Span("✗ ", "crit")] if wrong else []
            self.say([*sign, Span(safe_text.one_line(moment.text, 300), "crit" if wrong else "dim")])

    def _rested(self, moment: mo.Rested) -> None:
        self._over()
        self.status = ""
        self._look_again()

    def _note(self, text: str, status: str = "") -> None:
        """What is waited for stands where the answer will come."""
        self.status = status
        rows = self.rows
        if rows is not None:
            if rows.answer is None or not rows.answer.blocks:
                rows.answer = LiveAnswer(note=text)
            if isinstance(self.panels.transcript, LiveTranscript):
                self.panels.transcript.grew()
        self._look_again()

    def _look_again(self) -> None:
        if not self._grow_due:
            self._grow_due = True
            self.call_later(self._grow)
