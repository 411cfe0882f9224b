"""The chat screen: the inspector with a prompt and a running agent."""

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
from ctxtui.core.session import MAIN
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.context_window import ASSUMED_ORIGIN
from ctxtui.services.chat.resume import unfinished_here
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat.approval import KEYS as APPROVAL_KEYS
from ctxtui.tui.chat.approval import ApprovalPane
from ctxtui.tui.chat.commands import CHAT_COMMANDS, AnswerTool, EditMessage, EnterTalk, HoldNext, ReleaseHeld
from ctxtui.tui.chat.figures import FiguresController
from ctxtui.tui.chat.held import HeldController
from ctxtui.tui.chat.model import ChatModelAccess, ModelController
from ctxtui.tui.chat.prompt import HINT, TalkController
from ctxtui.tui.chat.servers import ServersController, describe_missing_servers, describe_starting_servers
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
from ctxtui.tui.widgets.line_edit import LineEdit, pasted_text
from ctxtui.views.inspector.layout import Box
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.live_rows import LiveRows


class AlarmLine(Widget):
    """Shows `words`; the screen gives it a row if there are any."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="alarm")
        self.unrecorded = ""
        self._other = ""

    @property
    def words(self) -> str:
        return self.unrecorded or self._other

    def show(self, words: str) -> None:
        self._other = words
        self.refresh()

    def show_unrecorded(self, words: str) -> None:
        """Show why events are not recorded now, before any other alarm; "" when all are."""
        self.unrecorded = words
        self.refresh()

    def render_line(self, y: int) -> Strip:
        room = self.size.width
        text = cells.fit(f" ▲ {self.words}", room) if self.words else " " * room
        return paint.strip([Span(text, "crit reverse bold")], room, look_of(self.app))


_LINE_BREAK_KEYS = ("ctrl+j", "shift+enter", "alt+enter")


class TalkEdit(LineEdit):
    """A `LineEdit` whose text may have several lines, shown as one (a break is ``·``)."""

    def _typed_spans(self, room: int) -> list[Span]:
        if self.has_focus and not self.buffer.size and not self.keys:
            # Keep the message visible while nothing is typed.
            return [Span(" ", "ink reverse"), Span(" "), *self.hint]
        return super()._typed_spans(room)

    def on_key(self, event: events.Key) -> None:
        """Insert a line break; the base class handles other keys."""
        if event.key in _LINE_BREAK_KEYS and not self.keys:
            event.stop()
            event.prevent_default()
            self.insert("\n")

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if not self.keys:
            self.insert(self.transform_paste(pasted_text(event)))


_FIXED_PANES = frozenset({"header", "alarm", "edge", "prompt", "keys"})
"""Panes that stay visible with the approval or the start pane."""


def _only_pane(name: str, boxes: dict[str, Box], width: int) -> dict[str, Box]:
    """Return the fixed boxes and, between them, only the pane `name`."""
    fixed = {each: box for each, box in boxes.items() if each in _FIXED_PANES}
    top = max(box.y for each, box in fixed.items() if each in ("header", "alarm")) + 1
    end = min(box.y for each, box in fixed.items() if each in ("edge", "prompt", "keys"))
    return {**fixed, name: Box(0, top, width, max(1, end - top))}


class ChatScreen(SessionScreen):
    """Shows the chat that `source` hosts. `pager` is the user's setting."""

    commands: ClassVar[tuple[type[Command], ...]] = (*CHAT_COMMANDS, *EVERYWHERE)
    BINDINGS = [*bindings(CHAT_COMMANDS), *moved.bindings(CHAT_COMMANDS)]
    first_keys = (ReleaseHeld, AnswerTool, EnterTalk, HoldNext, EditMessage)

    def __init__(self, source: ChatSource, *, pager: str = "") -> None:
        super().__init__(Panels(LiveRows), TalkEdit(id="prompt"), HINT)
        self.alarm = AlarmLine()
        self.approval = ApprovalPane()
        self.start_pane = StartPane()
        self.state: ChatState = ChatState(source, self.panels, self.access)
        parts = self.state, self.line, self.access
        self.edits = ContextEdits(*parts)
        self.turn, self.talk = TurnController(*parts), TalkController(*parts, self.edits)
        self.figures = FiguresController(*parts)
        self.start = StartController(*parts, self.start_pane)
        session = session_controllers(*parts, self.edits, pager, ChatModelAccess(source.host))
        log = next(controller for controller in session if isinstance(controller, EditLogController))
        self.controllers = (
            *session,
            NavigationController(*parts, [Span(" call › ", "accent bold")]),
            ForksController(*parts),
            self.turn,
            self.talk,
            HeldController(*parts, self.edits, self.talk, log),
            self.start,
            ModelController(*parts, pager),
            self.figures,
            ServersController(*parts, self.figures.compare, self.talk.append_draft, pager),
        )
        self.state.on.complete.subscribe(self._complete)
        self.state.chat_signals.alarm.subscribe(self._show_alarm)

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.alarm
        yield self.approval
        yield self.start_pane

    def on_mount(self) -> None:
        self.start.open()

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        boxes = self._panes(width, height)
        approval = self.talk.approval
        if self.approval.data is not approval:
            self.call_later(self.approval.show, approval)
        if approval is not None:
            # The approval replaces the panes: the user should read nothing else now.
            return _only_pane("approval", boxes, width)
        return _only_pane("start", boxes, width) if self.start.is_shown else boxes

    def _panes(self, width: int, height: int) -> dict[str, Box]:
        if not self.alarm.words or (height < 16 and not self.alarm.unrecorded):
            return super()._boxes(width, height)
        boxes = super()._boxes(width, height - 1)
        below_alarm = {name: box if name == "header" else box._replace(y=box.y + 1) for name, box in boxes.items()}
        return {**below_alarm, "alarm": Box(0, 1, width, 1)}

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.talk.lay_out()

    def on_key(self, event: events.Key) -> None:
        if self.talk.approval is not None and event.key in APPROVAL_KEYS:
            event.stop()
            event.prevent_default()
            self.approval.scroll_by(event.key)

    # Beginning and ending

    def enter_prompt(self) -> None:
        self.talk.talk()

    @property
    def current_groups(self) -> tuple[str, ...]:
        return (*super().current_groups, "chat")

    def leave_prompt(self) -> None:
        """Leave the prompt.

        While a message is typed, a waiting tool is asked about first, or else marks are cleared; the prompt stays.
        """
        if not (self.talk.is_talking and (self.talk.ask_permission_now() or self.state.unmark())):
            super().leave_prompt()

    def _complete(self) -> None:
        self.run_worker(self._begin(), group="host")

    async def _begin_host(self) -> bool:
        """Start the host and its MCP servers, showing progress; return whether the host began."""
        host = self.state.host
        if host.config.settings.mcp:
            self.line.show_message(describe_starting_servers(host))
        awaiting = self.set_interval(0.25, self._say_starting_servers)
        try:
            await host.begin(self.turn.hear, self.state.source.price, lambda: self.access.deliver(self._record_changed))
        except CtxtuiError as error:
            self._show_alarm(str(error))
            return False
        finally:
            awaiting.stop()
        return True

    def _say_starting_servers(self) -> None:
        host = self.state.host
        if host.tools is not None and host.tools.servers.starting:
            self.line.show_message(describe_starting_servers(host))

    async def _begin(self) -> None:
        host = self.state.host
        # Look this up before this chat is recorded itself.
        unfinished = (
            await asyncio.to_thread(unfinished_here, host.cwd, host.config.settings) if not host.choice.session else ""
        )
        # The host's own requests are those of the main thread, whichever is shown.
        host.overlay = lambda: self.edits.overlay_of(MAIN)
        host.children.overlay_of = self.edits.overlay_of
        host.on_released = self.edits.changed
        host.judge = self.figures.judge
        if not await self._begin_host():
            return
        # Freeze all objects, among them the SDK's, so that collections skip them while an answer arrives.
        gc.freeze()
        model = host.chat_model
        assert model is not None
        model_name = f"{model.model} of {model.endpoint}" if not model.is_offline else "the offline provider, no model"
        why = f" ({model.why})" if model.why else ""
        # A new chat shows this in the start pane.
        notices = [] if self.start.is_shown else [Span(f"{model_name}{why}", "dim")]
        if model.origin == ASSUMED_ORIGIN:
            notices.append(Span(f"the server reports no context window; assuming {model.window:,} tokens", "warn"))
        if host.recovered:
            notices.append(Span("continued where the chat ended", "dim"))
        if others := host.recovered.others:
            notices.append(Span(f"listed separately: {numbers.many(len(others), 'call')} of another process", "warn"))
        if waiting := len(host.recovered.queue):
            notices.append(Span(f"{numbers.many(waiting, 'waiting message')} will be sent with your next one", "warn"))
        if unfinished:
            notices.append(Span(f"the last chat here ended during a turn: ctxtui chat --continue {unfinished}", "warn"))
        if host.lost:
            notices.append(Span(f"not carried over: {', '.join(host.lost)}", "warn"))
        notices += describe_missing_servers(host)
        spans = [part for notice in notices for part in (Span("; ", "dim"), notice)]
        self.line.show_message([Span("● ", "ok"), *spans[1:]] if notices else [])
        if host.recovered.draft:
            self.talk.recover_draft(host.recovered.draft)
        self.talk.send_early()

    def _record_changed(self) -> None:
        writer = self.state.host.writer
        error = writer.trouble if writer is not None else None
        words = f"not recorded: {error}" if error is not None else ""
        self.alarm.show_unrecorded(safe_text.one_line(words, 400))
        self.access.replan()

    def _show_alarm(self, words: str) -> None:
        self.alarm.show(safe_text.one_line(words, 400))
        self.access.replan()

    @on(events.Unmount)
    async def close_chat(self) -> None:
        """End the turn and write its record."""
        if not await self.state.host.close() and isinstance(self.app, CtxtuiApp):
            writer = self.state.host.writer
            why = str(writer.trouble) if writer is not None and writer.trouble is not None else "it took too long"
            left = writer.pending if writer is not None else 0
            self.app.unrecorded = True
            self.app.farewell = f"The end of the chat was not recorded ({numbers.many(left, 'event')}): {why}"

    def may_quit(self, leave: Callable[[], None]) -> bool:
        return self.talk.may_quit(leave)

    def may_close(self, close: Callable[[], None]) -> bool:
        return self.talk.may_quit(close)
