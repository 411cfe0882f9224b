"""A chat: the Inspector with a prompt and a running agent."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.context_window import ASSUMED_ORIGIN
from ctxtui.services.chat.resume import unfinished_here
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat.approval import KEYS as APPROVAL_KEYS
from ctxtui.tui.chat.approval import ApprovalPane
from ctxtui.tui.chat.commands import CHAT_KEYS, AnswerTool, EditMessage, EnterTalk, HoldNext, ReleaseHeld
from ctxtui.tui.chat.figures import FiguresController
from ctxtui.tui.chat.held import HeldController
from ctxtui.tui.chat.model import ChatAsker, ModelController
from ctxtui.tui.chat.prompt import HINT, TalkController
from ctxtui.tui.chat.servers import ServersController, missing
from ctxtui.tui.chat.start import StartController, StartPane
from ctxtui.tui.chat.state import ChatState
from ctxtui.tui.chat.turn import TurnController
from ctxtui.tui.commands import EVERYWHERE, Command, bindings, moved
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.controllers.fork import ForksController
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.inspector.panels import Panels
from ctxtui.tui.inspector.screen import SessionScreen
from ctxtui.tui.inspector.session_controllers import session_controllers
from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.inspector.layout import Box
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.live_rows import LiveRows


class AlarmLine(Widget):
    """Shows `words`; without any it has no place on the screen. What is not on record comes before any other alarm, and
    stays for as long as it is true."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="alarm")
        self.unrecorded = ""
        """Why nothing is recorded now."""
        self._other = ""

    @property
    def words(self) -> str:
        """What is shown."""
        return self.unrecorded or self._other

    def show(self, words: str) -> None:
        """Another alarm, or none ("")."""
        self._other = words
        self.refresh()

    def show_unrecorded(self, words: str) -> None:
        """Something is not on record; "" when all is again."""
        self.unrecorded = words
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        text = cells.fit(f" ▲ {self.words}", room) if self.words else " " * room
        return paint.strip([Span(text, "crit reverse bold")], room, look_of(self.app))


_BREAKS = ("ctrl+j", "shift+enter", "alt+enter")


class TalkEdit(LineEdit):
    """A `LineEdit` whose text may have several lines, shown as one (a break is ``·``)."""

    def _typed(self, room: int) -> list[Span]:
        if self.has_focus and not self.buffer.size and not self.keys:
            # What is said stays readable while nothing is typed.
            return [Span(" ", "ink reverse"), Span(" "), *self.hint]
        return super()._typed(room)

    def on_key(self, event: events.Key) -> None:
        """A line break; everything else is the line's own."""
        if event.key in _BREAKS and not self.keys:
            event.stop()
            event.prevent_default()
            self.insert("\n")

    def on_paste(self, event: events.Paste) -> None:
        """All lines of what is pasted."""
        event.stop()
        event.prevent_default()
        if not self.keys:
            self.insert(self.pasted(event.text.replace("\r\n", "\n")))


_BESIDE = frozenset({"header", "alarm", "edge", "prompt", "keys"})
"""What stays on the screen while leave is asked for, and before the first word."""


def _alone(name: str, boxes: dict[str, Box], width: int) -> dict[str, Box]:
    """The pane `name` in place of all panes but the lines at the edges."""
    kept = {each: box for each, box in boxes.items() if each in _BESIDE}
    top = max(box.y for each, box in kept.items() if each in ("header", "alarm")) + 1
    end = min(box.y for each, box in kept.items() if each in ("edge", "prompt", "keys"))
    return {**kept, name: Box(0, top, width, max(1, end - top))}


class ChatScreen(SessionScreen):
    """Shows the chat that `source` hosts. `pager` is the user's setting."""

    commands: ClassVar[tuple[type[Command], ...]] = (*CHAT_KEYS, *EVERYWHERE)
    BINDINGS = [*bindings(CHAT_KEYS), *moved.bindings(CHAT_KEYS)]
    first_keys = (ReleaseHeld, AnswerTool, EnterTalk, HoldNext, EditMessage)

    def __init__(self, source: ChatSource, *, pager: str = "") -> None:
        super().__init__(Panels(LiveRows), TalkEdit(id="prompt"), HINT)
        self.alarm = AlarmLine()
        self.approval = ApprovalPane()
        self.start_pane = StartPane()
        self.state: ChatState = ChatState(source, self.panels, self.access)
        every = self.state, self.line, self.access
        self.edits = ContextEdits(*every)
        self.turn, self.talk = TurnController(*every), TalkController(*every, self.edits)
        self.figures = FiguresController(*every)
        self.start = StartController(*every, self.start_pane)
        session = session_controllers(*every, self.edits, pager, ChatAsker(source.host))
        log = next(one for one in session if isinstance(one, EditLogController))
        self.controllers = (
            *session,
            NavigationController(*every, [Span(" call › ", "accent bold")]),
            ForksController(*every),
            self.turn,
            self.talk,
            HeldController(*every, self.edits, self.talk, log),
            self.start,
            ModelController(*every, pager),
            self.figures,
            ServersController(*every, self.figures.compare, self.talk.put, pager),
        )
        self.state.on.complete.subscribe(self._complete)
        self.state.tells.alarm.subscribe(self._alarmed)

    def compose(self) -> ComposeResult:
        """The Inspector's panes, and the line for an alarm."""
        yield from super().compose()
        yield self.alarm
        yield self.approval
        yield self.start_pane

    def on_mount(self) -> None:
        """The first frame says that it is being found out who answers. (Textual calls the Inspector's own, too.)"""
        self.start.open()

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        boxes = self._panes(width, height)
        asked = self.talk.asked_for
        if self.approval.data is not asked:
            self.call_later(self.approval.show, asked)
        if asked is not None:
            # What is asked for stands in place of the panes: nothing else is to be read now.
            return _alone("approval", boxes, width)
        return _alone("start", boxes, width) if self.start.shows else boxes

    def _panes(self, width: int, height: int) -> dict[str, Box]:
        if not self.alarm.words or (height < 16 and not self.alarm.unrecorded):
            return super()._boxes(width, height)
        boxes = super()._boxes(width, height - 1)
        moved = {name: box if name == "header" else box._replace(y=box.y + 1) for name, box in boxes.items()}
        return {**moved, "alarm": Box(0, 1, width, 1)}

    def on_resize(self, event: events.Resize) -> None:
        """Lines of another width."""
        super().on_resize(event)
        self.talk.lay_out()

    def on_key(self, event: events.Key) -> None:
        """What is to be written is read on by the keys that scroll."""
        if self.talk.asked_for is not None and event.key in APPROVAL_KEYS:
            event.stop()
            event.prevent_default()
            self.approval.scroll_by(event.key)

    # Beginning and ending

    def enter_prompt(self) -> None:
        """Talk."""
        self.talk.talk()

    @property
    def doing(self) -> tuple[str, ...]:
        """The groups of commands that what one is doing is about, for the help."""
        return (*super().doing, "chat")

    def leave_prompt(self) -> None:
        """Marks go before the prompt in which one talks is left; any other question is closed first. Where a tool waits
        behind a draft, that is asked next."""
        if not (self.talk.talking and (self.talk.asks_leave() or self.state.unmark())):
            super().leave_prompt()

    def _complete(self) -> None:
        """The session is open: now the partner is met."""
        self.run_worker(self._begin(), group="host", exit_on_error=True)

    async def _begin(self) -> None:
        host = self.state.host
        # Looked up before this chat is on record itself.
        left = await asyncio.to_thread(unfinished_here, host.cwd, host.config.settings) if not host.choice.name else ""
        host.overlay = lambda: self.edits.overlay
        host.on_released = self.edits.changed
        host.judge = self.figures.judge
        if host.config.settings.mcp:
            self.line.say([Span("the MCP servers are being started", "dim")])
        try:
            await host.begin(self.turn.hear, self.state.source.price, lambda: self.access.deliver(self._record_changed))
        except CtxtuiError as error:
            self._alarmed(str(error))
            return
        # What the SDK brought along stays: collections need not look through it while an answer comes in.
        gc.freeze()
        partner = host.chat_model
        assert partner is not None
        told = f"{partner.model} of {partner.endpoint}" if not partner.is_offline else "the offline provider, no model"
        why = f" ({partner.why})" if partner.why else ""
        # A new chat says it in a pane of its own.
        words = [] if self.start.shows else [Span(f"{told}{why}", "dim")]
        if partner.origin == ASSUMED_ORIGIN:
            words.append(Span(f"it tells no window: {partner.window:,} tokens assumed", "warn"))
        if host.recovered:
            words.append(Span("went on where the chat ended", "dim"))
        if host.recovered.others:
            words.append(Span("what another process had begun here is a call of its own", "warn"))
        if waiting := len(host.recovered.queue):
            words.append(Span(f"{waiting} message{'s' if waiting > 1 else ''} go with your next one", "warn"))
        if left:
            words.append(Span(f"the last chat here ended in a turn: ctxtui chat --continue {left}", "warn"))
        if host.lost:
            words.append(Span(f"not carried over: {', '.join(host.lost)}", "warn"))
        said = [part for n, one in enumerate(words) for part in (Span("; " if n else "● ", "dim" if n else "ok"), one)]
        self.line.say([*said, *missing(host)])
        if host.recovered.draft:
            self.talk.recover_draft(host.recovered.draft)
        self.talk.tell_early()

    def _record_changed(self) -> None:
        """The record can be written no longer, or again."""
        writer = self.state.host.writer
        trouble = writer.trouble if writer is not None else None
        words = f"not recorded: {trouble}" if trouble is not None else ""
        self.alarm.show_unrecorded(safe_text.one_line(words, 400))
        self.access.replan()

    def _alarmed(self, words: str) -> None:
        """Say it under the header until it is dismissed."""
        self.alarm.show(safe_text.one_line(words, 400))
        self.access.replan()

    @on(events.Unmount)
    async def part(self) -> None:
        """The turn ends, its record is written."""
        if not await self.state.host.close() and isinstance(self.app, CtxtuiApp):
            writer = self.state.host.writer
            why = str(writer.trouble) if writer is not None and writer.trouble is not None else "it took too long"
            left = writer.pending if writer is not None else 0
            self.app.unrecorded = True
            self.app.farewell = f"the end of the chat is not on record ({left:,} events): {why}"

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end at once; asks otherwise."""
        return self.talk.may_quit(leave)

    def may_close(self, close: Callable[[], None]) -> bool:
        """Whether the chat may be left for another screen at once; asks otherwise."""
        return self.talk.may_quit(close)
