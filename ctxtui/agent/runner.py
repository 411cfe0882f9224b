"""The runner: it carries out what the turn machine commands, as requests, pauses and tools of an event loop.

Everything happens in one event loop; how tools are run is the business of `Tools`. Nothing here knows a provider, a
database or a screen. `answered` sends one request without a turn: nothing is tried again, nothing is recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from msgspec import Struct

from ctxtui.agent import events, progress
from ctxtui.agent.conversation import Conversation, Draft
from ctxtui.agent.exchange import AnswerReader
from ctxtui.agent.tools.tool import Planned
from ctxtui.agent.turn import TurnPhase, TurnState, step
from ctxtui.core.errors import CtxtuiError, ProviderError
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.speech import Attachment, Result
from ctxtui.wire.sse import EventParser


class ProviderLine(Protocol):
    """The way to a provider."""

    @property
    def name(self) -> str:
        """The provider's name."""

    def send(self, body: bytes) -> AsyncIterator[bytes]:
        """The bytes of the answer's event stream as they come. Raises `ProviderError`."""


class Tools(Protocol):
    """The tools of an agent. Cancelling the task that awaits a call ends the call."""

    def asks(self, name: str) -> bool:
        """Whether the user is asked before this tool runs."""

    async def plan(self, call: events.ToolCall) -> Planned | events.ToolResult:
        """Plan `call`, or return the error for the model if it cannot be done."""

    async def run(self, call: events.ToolCall, planned: Planned | None = None) -> events.ToolResult:
        """Do `call`, as it was `planned`. What goes wrong is the result."""

    async def close(self) -> None:
        """Nothing runs any more."""


async def _unrecorded(_: float) -> bool:
    return True


async def _nothing() -> None:
    """Nothing is to be done."""


async def _alone(_: str) -> Sequence[Attachment]:
    """Attach nothing to a message."""
    return ()


class Surroundings(Struct, kw_only=True):
    """The functions that a runner calls: where events go, the check of a request before it is sent (the reason to hold
    it, or ""), ids for calls, the clock. `recorded` waits that many seconds for the record to catch up, returns whether
    it has; `before` runs before each request is built; `attached` returns what is put in front of a user's message."""

    tell: Callable[[progress.Moment], None]
    judge: Callable[[Draft], Awaitable[str]]
    exchange: Callable[[Draft, int], AnswerReader]
    clock: Callable[[], float] = time.time
    recorded: Callable[[float], Awaitable[bool]] = _unrecorded
    before: Callable[[], Awaitable[None]] = _nothing
    attached: Callable[[str], Awaitable[Sequence[Attachment]]] = _alone


class Runner:
    """Runs the turns of `conversation` with `line` and `tools`. `feed` takes what the user does."""

    def __init__(self, conversation: Conversation, tools: Tools, line: ProviderLine, around: Surroundings) -> None:
        self.conversation = conversation
        self.tools = tools
        self.line = line
        self.state = TurnState()
        self._around = around
        self.draft: Draft | None = None
        """The request that was put together last."""
        self._task: asyncio.Task[None] | None = None
        self._calls: dict[str, asyncio.Task[None]] = {}
        """Tools at work, by the id of their call."""
        self._said: list[str] = []
        """What the user said and is not in the context yet."""
        self._plans: dict[str, Planned] = {}
        """What calls that wait for leave would write."""
        self._stopped: set[asyncio.Task[None]] = set()
        """Tools that are being ended: what they put in order is waited for at the close."""

    def feed(self, event: events.Event) -> None:
        """Take in an event and do what follows from it. For the event loop's own thread."""
        self.state, commands = step(self.state, event)
        for command in commands:
            self._do(command)

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The user's messages that wait for their attachments to be read; not in the context yet."""
        return tuple(self._said)

    async def close(self) -> None:
        """End the turn; the part of a running answer that has arrived is kept."""
        self.feed(events.Interrupted())
        tasks = [*([self._task] if self._task else []), *self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._stopped, return_exceptions=True)
        await self.tools.close()

    def _do(self, command: events.Command) -> None:
        match command:
            case events.AddUser(text):
                self._said.append(text)
            case events.Prepare():
                self._start(self._prepare())
            case events.Send(attempt):
                self._start(self._send(attempt))
            case events.Wait(seconds, attempt, most, reason):
                self._around.tell(progress.RetryWaits(seconds, attempt, most, reason))
                self._start(self._wait(seconds))
            case events.StopListening() | events.StopWaiting():
                self._stop()
            case events.RunTool(call):
                self._calls[call.id] = asyncio.create_task(self._run(call, self._plans.pop(call.id, None)))
            case events.Plan(call):
                self._calls[call.id] = asyncio.create_task(self._plan(call))
            case events.StopTools():
                for task in self._calls.values():
                    task.cancel()
                    self._stopped.add(task)
                    task.add_done_callback(self._stopped.discard)
                self._calls.clear()
                self._plans.clear()
            case _:
                self._around.tell(self._moment(command))

    def _moment(self, command: events.Command) -> progress.Moment:
        """Do what takes no time, and say what it came to."""
        match command:
            case events.AddResults(results):
                named = [Result(one.id, "", one.text, one.is_error, one.images) for one in results]
                return progress.ResultsCame(results, self.conversation.results(named))
            case events.HoldRequest(reason):
                return progress.RequestHeld(reason)
            case events.Ask(call):
                return progress.LeaveAsked(call, self._plans[call.id])
            case events.Tell(kind, text):
                return progress.Noted(kind, text)
        return progress.Rested()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(work)

    def _stop(self) -> None:
        self._say_alone()
        if self._task is not None:
            self._task.cancel()

    async def _add_said(self) -> None:
        """Put the user's waiting messages into the context, each with its attachments."""
        while self._said:
            text = self._said[0]
            attached = await self._around.attached(text)
            # It may have been said alone meanwhile: the turn was interrupted.
            if self._said and self._said[0] is text:
                self._say(attached)

    def _say(self, attached: Sequence[Attachment] = ()) -> None:
        text, before = self._said.pop(0), self.conversation.head
        self._around.tell(progress.UserSaid(text, self.conversation.say(text, attached), before))

    def _say_alone(self) -> None:
        """Put the user's waiting messages into the context without their attachments."""
        while self._said:
            self._say()

    async def _prepare(self) -> None:
        try:
            await self._add_said()
            await self._around.before()
            draft = self.draft = self.conversation.draft()
            self._around.tell(progress.Drafted(draft))
            reason = await self._around.judge(draft)
        except CtxtuiError as error:
            self._say_alone()
            self.feed(events.Broke(str(error)))
            return
        if self.state.phase == TurnPhase.PREPARING:
            self.feed(events.Prepared(reason))

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.feed(events.Waited())

    def plan_of(self, call: events.ToolCall) -> Planned | None:
        """The write that a call waiting for permission would make."""
        return self._plans.get(call.id)

    async def _plan(self, call: events.ToolCall) -> None:
        await self._on_record(call)
        found = await self.tools.plan(call)
        self._calls.pop(call.id, None)
        if isinstance(found, events.ToolResult):
            self._around.tell(progress.ToolEnded(found))
            self.feed(events.Planned(call.id, result=found))
        else:
            self._plans[call.id] = found
            self.feed(events.Planned(call.id, guarded=bool(found.guard)))

    async def _run(self, call: events.ToolCall, planned: Planned | None) -> None:
        await self._on_record(call)
        self._around.tell(progress.ToolBegan(call))
        result = await self.tools.run(call, planned)
        self._calls.pop(call.id, None)
        self._around.tell(progress.ToolEnded(result))
        self.feed(events.Finished(result))

    async def _on_record(self, call: events.ToolCall) -> None:
        """Wait until the answer that asks for `call` is on record: what a tool does cannot be taken back."""
        if not await self._around.recorded(_SOON):
            self._around.tell(progress.ToolWaits(call))
            while not await self._around.recorded(_SOON):
                pass

    # One request

    async def _send(self, attempt: int) -> None:
        assert self.draft is not None
        exchange = self._around.exchange(self.draft, attempt)
        self._around.tell(progress.RequestSent(self.draft, exchange.started, attempt))
        try:
            await self._listen(exchange)
        except asyncio.CancelledError:
            if self.state.phase != TurnPhase.CUTTING:
                raise
            self._ended(exchange, cut=True)
        except ProviderError as error:
            self._broke(exchange, str(error), error.retry, error.after)
        else:
            self._over(exchange)

    async def _listen(self, exchange: AnswerReader) -> None:
        began = False
        async for data in self.line.send(exchange.draft.body):
            deltas = exchange.feed(data, self._around.clock())
            if not began and ((response := exchange.response).id or deltas):
                began = True
                self._around.tell(progress.CallBegan(exchange.call(response, exchange.draft.raw_head)))
            self._around.tell(progress.PieceReceived(data, deltas))
        rest = exchange.close()
        if rest:
            self._around.tell(progress.PieceReceived(b"", rest))

    def _over(self, exchange: AnswerReader) -> None:
        response = exchange.response
        if response.error:
            self._broke(exchange, response.error, _passing(response.error), None)
        elif not response.complete:
            self._broke(exchange, "the answer broke off", True, None)
        else:
            self._ended(exchange, cut=False)

    def _ended(self, exchange: AnswerReader, *, cut: bool) -> None:
        response = exchange.response
        # An answer that ran into its limit may end in the middle of a call.
        short = cut or response.stop_reason in _SHORT
        settled = self.conversation.answer(response, cut=short)
        head, error = self.conversation.head, "interrupted" if cut else ""
        call = exchange.call(response, head, self._around.clock(), error)
        self._around.tell(progress.CallEnded(call, head, cut))
        calls = tuple(events.ToolCall(c.id, c.name, c.input, self.tools.asks(c.name)) for c in settled.calls)
        self.feed(events.Answered(calls, cut, again=response.stop_reason == "pause_turn"))

    def _broke(self, exchange: AnswerReader, message: str, retry: bool, after: float | None) -> None:
        call = None
        if exchange.first_byte is not None:
            response = exchange.response
            shown = self.conversation.tree.extend(exchange.draft.raw_head, response.items)
            call = exchange.call(response, shown, self._around.clock(), message)
        self._around.tell(progress.CallFailed(message, call))
        self.feed(events.Broke(message, retry, after))


_SOON = 1.0
"""Seconds after which is told that a tool waits."""
_SHORT = frozenset({"max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"})
_PASSING = ("overloaded", "api_error", "rate_limit", "server_error", "timeout", "internal")


def _passing(error: str) -> bool:
    """Whether an error said within a stream is worth another try."""
    return any(word in error.lower() for word in _PASSING)


class BodySender(Protocol):
    """Sends a body and gives the bytes of the answer (`providers.sdk_client.SdkLine`)."""

    def send(self, body: bytes) -> AsyncIterator[bytes]:
        """The bytes of the answer to `body` as they come. Raises `ProviderError`."""


async def answered(line: BodySender, dialect: str, body: bytes) -> Response:
    """The whole answer to `body`, a request in `dialect`. Raises `ProviderError`, also where the answer broke off."""
    reader, parser = DIALECTS[dialect].stream_reader(), EventParser()
    async for data in line.send(body):
        reader.feed(parser.feed(data))
    reader.feed(parser.close())
    response = reader.response()
    if response.error or not response.complete:
        raise ProviderError(response.error or "the answer broke off", retry=True)
    return response
