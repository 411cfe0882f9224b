"""A chat: the Inspector with a prompt and a running agent."""

from __future__ import annotations

import asyncio
import gc
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.context_window import UNTOLD
from ctxtui.services.chat.resume import unfinished_here
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat.commands import CHAT
from ctxtui.tui.chat.figures import ChatFigures
from ctxtui.tui.chat.live_transcript import LiveTranscript
from ctxtui.tui.chat.model import Partnered
from ctxtui.tui.chat.prompt import Talking
from ctxtui.tui.chat.talk_edit import TalkEdit
from ctxtui.tui.commands import EVERYWHERE, Command, Situation, bindings
from ctxtui.tui.commands.facts import RESTING, RUNNING, USER_ROW
from ctxtui.tui.inspector.commands import INSPECTOR, EnterPrompt
from ctxtui.tui.inspector.loader import Complete
from ctxtui.tui.widgets.alarm_line import AlarmLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.inspector.layout import Box
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

_COMMANDS = (*CHAT, *(command for command in INSPECTOR if command is not EnterPrompt))


class RecordChanged(Message):
    """The record can be written no longer, or again."""


class ChatScreen(ChatFigures, Partnered, Talking):
    """Shows the chat that `source` hosts."""

    commands: ClassVar[tuple[type[Command], ...]] = (*_COMMANDS, *EVERYWHERE)
    BINDINGS = bindings(_COMMANDS)

    def __init__(self, source: ChatSource, *, pager: str = "") -> None:
        super().__init__(source, pager=pager, follow=True)
        self.chat = source
        self.panels.transcript = LiveTranscript()
        self.alarm = AlarmLine()

    def make_prompt(self) -> LineEdit:
        """The line in which one talks."""
        return TalkEdit(id="prompt")

    def compose(self) -> ComposeResult:
        """The Inspector's panes, and the line for an alarm."""
        yield from super().compose()
        yield self.alarm

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        if not self.alarm.words or height < 16:
            return super()._boxes(width, height)
        boxes = super()._boxes(width, height - 1)
        moved = {name: box if name == "header" else box._replace(y=box.y + 1) for name, box in boxes.items()}
        return {**moved, "alarm": Box(0, 1, width, 1)}

    # Beginning and ending

    def on_complete(self, message: Complete) -> None:
        """The session is open: now the partner is met."""
        self.action_prompt()
        self.run_worker(self._begin(), group="host", exit_on_error=True)

    async def _begin(self) -> None:
        host = self.host
        # Looked up before this chat is on record itself.
        left = await asyncio.to_thread(unfinished_here, host.cwd, host.config.settings) if not host.wish.name else ""
        host.overlay = lambda: self.overlay
        host.judge = self.judge
        try:
            await host.begin(self.hear, self.chat.price, lambda: self.post_message(RecordChanged()))
        except CtxtuiError as error:
            self.refused = error
            self.alarm.show(safe_text.one_line(str(error), 400))
            self.replan()
            return
        # What the SDK brought along stays: collections need not look through it while an answer comes in.
        gc.freeze()
        partner = host.partner
        assert partner is not None
        told = f"{partner.model} of {partner.endpoint}" if not partner.is_offline else "the offline provider, no model"
        why = f" ({partner.why})" if partner.why else ""
        words = [Span("● ", "ok"), Span(f"{told}{why}", "dim")]
        if partner.origin == UNTOLD:
            words.append(Span(f"; it tells no window: {partner.window:,} tokens assumed", "warn"))
        if host.recovered:
            words.append(Span("; went on where the chat ended", "dim"))
        if waiting := len(host.recovered.queue):
            words.append(Span(f"; {waiting} message{'s' if waiting > 1 else ''} go with your next one", "warn"))
        if left:
            words.append(Span(f"; the last chat here ended in a turn: ctxtui chat --continue {left}", "warn"))
        if host.lost:
            words.append(Span(f"; not carried over: {', '.join(host.lost)}", "warn"))
        self.say(words)
        if host.recovered.draft:
            self.recover_draft(host.recovered.draft)
        for words_ in self._early:
            self.tell(words_)
        self._early = ()

    def on_record_changed(self, message: RecordChanged) -> None:
        """The record can be written no longer, or again."""
        writer = self.host.writer
        trouble = writer.trouble if writer is not None else None
        self.alarm.show(f"not recorded: {safe_text.one_line(str(trouble), 300)}" if trouble is not None else "")
        self.replan()

    def alarmed(self, words: str) -> None:
        """Say it under the header until it is dismissed."""
        self.alarm.show(safe_text.one_line(words, 400))
        self.replan()

    def action_dismiss_alarm(self) -> None:
        """The alarm was seen."""
        self.alarm.show("")
        self.replan()

    @on(events.Unmount)
    async def part(self) -> None:
        """The turn ends, its record is written."""
        if not await self.host.close() and isinstance(self.app, CtxtuiApp):
            writer = self.host.writer
            why = str(writer.trouble) if writer is not None and writer.trouble is not None else "it took too long"
            left = writer.pending if writer is not None else 0
            self.app.farewell = f"the end of the chat is not on record ({left:,} events): {why}"

    # Showing

    def show(self, *, to_end: bool = False) -> None:
        """As for a recording; at its end the figures are those of the next request."""
        super().show(to_end=to_end)
        self.show_next()
        self.check_cut()

    @property
    def state(self) -> str:
        """The header's word."""
        return self.header_state

    def _situated(self) -> Situation:
        there = super()._situated()
        facts = set(there.facts) | {RUNNING if self.running else RESTING}
        transcript = self.panels.transcript
        if transcript.data is not None and transcript.row_count and transcript.data.asks(transcript.cursor):
            facts.add(USER_ROW)
        return Situation(there.pane, there.row, frozenset(facts))
