"""The runner: executes the commands of the turn machine (`turn`) in one event loop.

Nothing here depends on a provider, a database or a screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct

from ctxtui.agent import events, progress
from ctxtui.agent.answer_reader import AnswerReader
from ctxtui.agent.conversation import Conversation, Draft
from ctxtui.agent.tools.tool import Planned
from ctxtui.agent.turn import TurnPhase, TurnState, step
from ctxtui.core.errors import CtxtuiError, ProviderError
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.speech import Attachment, Result
from ctxtui.wire.sse import EventParser


class BodySender(Protocol):
    """A connection to a provider (`providers.sdk_client.SdkClient`)."""

    def send(self, body: bytes) -> AsyncIterator[bytes]:
        """Yield the bytes of the answer to `body` as they arrive. Raises `ProviderError`."""


class Tools(Protocol):
    """The tools of an agent. Cancelling the task that awaits a call ends the call."""

    def asks(self, name: str) -> bool:
        """Whether the user is asked before this tool runs."""

    async def plan(self, call: events.ToolCall) -> Planned | events.ToolResult:
        """Plan `call`, or return the error for the model if it cannot be done."""

    async def run(self, call: events.ToolCall, planned: Planned | None = None) -> events.ToolResult:
        """Run `call` as it was `planned` (None: it was not). Errors are returned as the result."""

    async def close(self) -> None: ...


async def _assume_recorded(_: float) -> bool:
    return True


async def _do_nothing() -> None:
    pass


async def _attach_nothing(_: str) -> Sequence[Attachment]:
    return ()


class Surroundings(Struct, kw_only=True):
    """The functions that a runner calls.

    - `tell`: receives the progress events.
    - `judge`: checks a request before it is sent; returns the reason to hold it, or "".
    - `make_reader`: makes the reader of the answer to a draft, with the number of the attempt.
    - `clock`: the time in Unix seconds.
    - `recorded`: waits up to the given seconds until everything so far is written to the record; returns whether it is.
    - `before`: runs before each request is built.
    - `attached`: returns the attachments of a user's message.
    """

    tell: Callable[[progress.ProgressEvent], None]
    judge: Callable[[Draft], Awaitable[str]]
    make_reader: Callable[[Draft, int], AnswerReader]
    clock: Callable[[], float] = time.time
    recorded: Callable[[float], Awaitable[bool]] = _assume_recorded
    before: Callable[[], Awaitable[None]] = _do_nothing
    attached: Callable[[str], Awaitable[Sequence[Attachment]]] = _attach_nothing


class Runner:
    """Runs the turns of `conversation` with `client` and `tools`. User actions go to `feed`."""

    def __init__(
        self, conversation: Conversation, tools: Tools, client: BodySender, surroundings: Surroundings
    ) -> None:
        self.conversation = conversation
        self.tools = tools
        self.client = client
        self.state = TurnState()
        self._around = surroundings
        self.draft: Draft | None = None
        """The last built request."""
        self._task: asyncio.Task[None] | None = None
        self._calls: dict[str, asyncio.Task[None]] = {}
        """Running tools, and plans being made, by the id of their call."""
        self._said: list[str] = []
        self._plans: dict[str, Planned] = {}
        self._stopped: set[asyncio.Task[None]] = set()
        """Tools being stopped; `close` waits for their cleanup."""

    def feed(self, event: events.Event) -> None:
        """Handle an event and execute the resulting commands. Only in the event loop's own thread."""
        self.state, commands = step(self.state, event)
        for command in commands:
            self._execute(command)

    @property
    def waiting_messages(self) -> tuple[str, ...]:
        """The user's messages that wait for their attachments to be read; not in the context yet."""
        return tuple(self._said)

    async def close(self) -> None:
        """End the turn; the received part of a running answer is kept."""
        self.feed(events.Interrupted())
        tasks = [*([self._task] if self._task else []), *self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._stopped, return_exceptions=True)
        await self.tools.close()

    def _execute(self, command: events.Command) -> None:
        match command:
            case events.AddUser(text):
                self._said.append(text)
            case events.Prepare():
                self._start(self._prepare)
            case events.Send(attempt):
                self._start(partial(self._send, attempt))
            case events.Wait(seconds, attempt, max_attempts, reason):
                self._around.tell(progress.RetryWaits(seconds, attempt, max_attempts, reason))
                self._start(partial(self._wait, seconds))
            case events.StopListening():
                assert self._task is not None
                # A task that is cancelled before its first step would end without an event.
                asyncio.get_running_loop().call_soon(self._task.cancel)
            case events.StopWaiting():
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
                self._around.tell(self._execute_at_once(command))

    def _execute_at_once(self, command: events.Command) -> progress.ProgressEvent:
        match command:
            case events.AddResults(results):
                named_results = [
                    Result(result.id, "", result.text, result.is_error, result.images) for result in results
                ]
                return progress.ToolResultsAdded(results, self.conversation.add_results(named_results))
            case events.HoldRequest(reason):
                return progress.DraftHeld(reason)
            case events.Ask(call):
                return progress.PermissionRequested(call, self._plans[call.id])
            case events.Tell(kind, text):
                return progress.Notice(kind, text)
        return progress.TurnEnded()

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._task = asyncio.create_task(self._run_step(work))

    async def _run_step(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the boundary of a turn, which would wait forever
            self._add_without_attachments()
            self.feed(events.Broke(_error_text(error)))

    def _stop(self) -> None:
        self._add_without_attachments()
        if self._task is not None:
            self._task.cancel()

    async def _add_messages(self) -> None:
        while self._said:
            text = self._said[0]
            attached = await self._around.attached(text)
            # An interrupt may have appended the message without attachments meanwhile.
            if self._said and self._said[0] is text:
                self._add_message(attached)

    def _add_message(self, attached: Sequence[Attachment] = ()) -> None:
        text, before = self._said.pop(0), self.conversation.head
        self._around.tell(progress.UserMessageAdded(text, self.conversation.add_user_message(text, attached), before))

    def _add_without_attachments(self) -> None:
        while self._said:
            self._add_message()

    async def _prepare(self) -> None:
        await self._add_messages()
        await self._around.before()
        draft = self.draft = self.conversation.draft()
        self._around.tell(progress.RequestDrafted(draft))
        reason = await self._around.judge(draft)
        if self.state.phase == TurnPhase.PREPARING:
            self.feed(events.Prepared(reason))

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.feed(events.Waited())

    def plan_of(self, call: events.ToolCall) -> Planned | None:
        """The plan of a call that waits for permission; None for any other call."""
        return self._plans.get(call.id)

    async def _plan(self, call: events.ToolCall) -> None:
        await self._wait_for_record(call)
        try:
            outcome = await self.tools.plan(call)
        except Exception as error:  # noqa: BLE001 - the boundary of a call: the model is told
            outcome = _failed_call(call, error)
        self._calls.pop(call.id, None)
        if isinstance(outcome, events.ToolResult):
            self._around.tell(progress.ToolEnded(outcome))
            self.feed(events.Planned(call.id, result=outcome))
        else:
            self._plans[call.id] = outcome
            self.feed(events.Planned(call.id, guarded=bool(outcome.guard)))

    async def _run(self, call: events.ToolCall, planned: Planned | None) -> None:
        await self._wait_for_record(call)
        self._around.tell(progress.ToolBegan(call))
        try:
            result = await self.tools.run(call, planned)
        except Exception as error:  # noqa: BLE001 - the boundary of a call: the model is told
            result = _failed_call(call, error)
        self._calls.pop(call.id, None)
        self._around.tell(progress.ToolEnded(result))
        self.feed(events.Finished(result))

    async def _wait_for_record(self, call: events.ToolCall) -> None:
        """Wait until the answer with `call` is on record: a tool's effects cannot be undone."""
        if not await self._around.recorded(_REPORT_WAIT_S):
            self._around.tell(progress.ToolWaits(call))
            while not await self._around.recorded(_REPORT_WAIT_S):
                pass

    # One request

    async def _send(self, attempt: int) -> None:
        assert self.draft is not None
        reader = self._around.make_reader(self.draft, attempt)
        self._around.tell(progress.RequestSent(self.draft, reader.started, attempt))
        try:
            await self._listen(reader)
        except asyncio.CancelledError:
            if self.state.phase != TurnPhase.CUTTING:
                raise
            self._handle_end(reader, cut=True)
        except ProviderError as error:
            self._handle_break(reader, str(error), error.retry, error.after)
        except Exception as error:  # noqa: BLE001 - the boundary of a request: what arrived is kept
            self._handle_break(reader, _error_text(error), False, None)
        else:
            self._finish_answer(reader)

    async def _listen(self, reader: AnswerReader) -> None:
        began = False
        async for data in self.client.send(reader.draft.body):
            deltas = reader.feed(data, self._around.clock())
            if not began and ((response := reader.response).id or deltas):
                began = True
                self._around.tell(progress.CallBegan(reader.make_call(response, reader.draft.raw_head)))
            self._around.tell(progress.PieceReceived(data, deltas))
        last_deltas = reader.close()
        if last_deltas:
            self._around.tell(progress.PieceReceived(b"", last_deltas))

    def _finish_answer(self, reader: AnswerReader) -> None:
        response = reader.response
        if response.error:
            is_transient = any(word in response.error.lower() for word in _TRANSIENT_ERRORS)
            self._handle_break(reader, response.error, is_transient, None)
        elif not response.complete:
            self._handle_break(reader, "the answer broke off", True, None)
        else:
            self._handle_end(reader, cut=False)

    def _handle_end(self, reader: AnswerReader, *, cut: bool) -> None:
        response = reader.response
        # An answer that reached its limit may end in the middle of a call.
        is_incomplete = cut or response.stop_reason in LIMIT_REASONS
        settled = self.conversation.add_answer(response, cut=is_incomplete)
        head, error = self.conversation.head, "interrupted" if cut else ""
        call = reader.make_call(response, head, self._around.clock(), error)
        self._around.tell(progress.CallEnded(call, head, cut))
        calls = tuple(events.ToolCall(c.id, c.name, c.input, self.tools.asks(c.name)) for c in settled.calls)
        self.feed(events.Answered(calls, cut, again=response.stop_reason == "pause_turn"))

    def _handle_break(self, reader: AnswerReader, message: str, retry: bool, after: float | None) -> None:
        call = None
        if reader.first_byte is not None:
            response = reader.response
            shown = self.conversation.tree.extend(reader.draft.raw_head, response.items)
            call = reader.make_call(response, shown, self._around.clock(), message)
        self._around.tell(progress.CallFailed(message, call))
        self.feed(events.Broke(message, retry, after))


_REPORT_WAIT_S = 1.0
"""Seconds after which a waiting tool is reported."""
LIMIT_REASONS = frozenset({"max_tokens", "length", "max_output_tokens", "MAX_TOKENS", "model_context_window_exceeded"})
"""Stop reasons of an answer that reached a limit of tokens."""
_TRANSIENT_ERRORS = ("overloaded", "api_error", "rate_limit", "server_error", "timeout", "internal")


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, CtxtuiError) else f"{type(error).__name__}: {error}"


def _failed_call(call: events.ToolCall, error: Exception) -> events.ToolResult:
    return events.ToolResult(call.id, f"the tool failed: {_error_text(error)}", is_error=True)


async def send_once(client: BodySender, dialect: str, body: bytes) -> Response:
    """Send a request once, without a turn or a record.

    Raises `ProviderError`, also if the answer broke off.
    """
    reader, parser = DIALECTS[dialect].stream_reader(), EventParser()
    async for data in client.send(body):
        reader.feed(parser.feed(data))
    reader.feed(parser.close())
    response = reader.response()
    if response.error or not response.complete:
        raise ProviderError(response.error or "the answer broke off", retry=True)
    return response
