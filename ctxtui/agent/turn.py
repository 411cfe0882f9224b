"""The turn machine: from a state and an event, the next state and commands, without IO.

A turn lasts from the user's message until the agent stops: requests, answers, tool calls, retries, permissions.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.agent.events import (
    AddResults,
    AddUser,
    Answered,
    Ask,
    Broke,
    Command,
    Event,
    Finished,
    HoldNext,
    HoldRequest,
    Interrupted,
    Permitted,
    Plan,
    Planned,
    Prepare,
    Prepared,
    Released,
    Rest,
    RunTool,
    Send,
    StopListening,
    StopTools,
    StopWaiting,
    Tell,
    ToolCall,
    ToolLeave,
    ToolResult,
    UserSaid,
    Wait,
    Waited,
)

MAX_ATTEMPTS: Final = 6
MAX_WAIT_S: Final = 60.0
"""A provider that asks for a longer pause gets no retry."""
STOPPED: Final = "Stopped by the user before it was done."
REFUSED: Final = "The user did not allow this."
NO_USER: Final = "This needs the user's permission, and no user is there to give it."
"""Texts of error results, for the model."""


class TurnPhase(StrEnum):
    """The event that a turn waits for; at rest, the user's message."""

    REST = "rest"
    PREPARING = "preparing"
    HELD = "held"
    SENDING = "sending"
    CUTTING = "cutting"
    WAITING = "waiting"
    ACTING = "acting"


class TurnState(Struct, frozen=True, kw_only=True):
    """State of a turn.

    - `queue`: messages for the next request; `attempt`: number of the last attempt to send the present one.
    - `calls`: the tool calls of the last answer; `results`: their results so far.
    - `to_ask`: ids of calls that wait for permission. `planned`: the user is asked about the first; `guarded`: the
      permission for it holds only once.
    - `hold`: the next request is held. `release_next`: the one being prepared must be sent now.
    - `allowed`, `refused`: tools that the user decided on for the whole session.
    - `attended`: there is a user to ask.
    - `rounds`: number of requests of this turn, or since the user released a held one; after `max_rounds` of them,
      further requests are held (0: no limit).
    """

    phase: TurnPhase = TurnPhase.REST
    queue: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    to_ask: tuple[str, ...] = ()
    planned: bool = False
    guarded: bool = False
    attempt: int = 0
    hold: bool = False
    release_next: bool = False
    allowed: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    attended: bool = True
    rounds: int = 0
    max_rounds: int = 0

    @property
    def is_running(self) -> bool:
        return self.phase != TurnPhase.REST


Step = tuple[TurnState, list[Command]]


def step(state: TurnState, event: Event) -> Step:
    """Apply `event` to `state`; an event that comes too late changes nothing."""
    handler = _HANDLERS.get((state.phase, type(event))) or _ANYWHERE.get(type(event))
    return handler(state, event) if handler else (state, [])


def _begin_request(state: TurnState) -> Step:
    preparing = replace(state, phase=TurnPhase.PREPARING, queue=(), attempt=0, release_next=False)
    return preparing, [*map(AddUser, state.queue), Prepare()]


def _end_turn(state: TurnState, *before: Command) -> Step:
    """End a turn. Messages sent meanwhile begin the next one, unless it failed or was interrupted (a `Tell`)."""
    ended = replace(_clear_calls(state), phase=TurnPhase.REST, attempt=0, rounds=0, release_next=False)
    if ended.queue and not any(isinstance(command, Tell) for command in before):
        new_turn, commands = _begin_request(ended)
        return new_turn, [*before, *commands]
    return ended, [*before, Rest()]


def _handle_message(state: TurnState, event: UserSaid) -> Step:
    queued = replace(state, queue=(*state.queue, event.text))
    return _begin_request(queued) if state.phase in (TurnPhase.REST, TurnPhase.HELD) else (queued, [])


def _toggle_hold(state: TurnState, _: HoldNext) -> Step:
    return replace(state, hold=not state.hold), []


def _handle_prepared(state: TurnState, event: Prepared) -> Step:
    limit_reason = (
        f"{state.rounds} rounds in this turn" if state.max_rounds and state.rounds >= state.max_rounds else ""
    )
    reason = "you asked for it" if state.hold else "" if state.release_next else event.reason or limit_reason
    state = replace(state, release_next=False)
    if reason:
        return replace(state, phase=TurnPhase.HELD, hold=False), [HoldRequest(reason)]
    return _send_request(state)


def _send_request(state: TurnState) -> Step:
    sending = replace(state, phase=TurnPhase.SENDING, attempt=state.attempt + 1)
    return replace(sending, rounds=state.rounds + (sending.attempt == 1)), [Send(sending.attempt)]


def _handle_release(state: TurnState, _: Released) -> Step:
    if state.phase != TurnPhase.HELD:
        return _begin_request(state)
    # The request is built again, as edits may have been applied while it was held.
    return replace(state, phase=TurnPhase.PREPARING, rounds=0, attempt=0, release_next=True), [Prepare()]


def _handle_answer(state: TurnState, event: Answered) -> Step:
    if event.cut or state.phase == TurnPhase.CUTTING:
        stopped = tuple(ToolResult(call.id, STOPPED, is_error=True) for call in event.calls)
        last_commands: list[Command] = [AddResults(stopped)] if stopped else []
        return _end_turn(state, *last_commands, Tell("interrupt", "interrupted by the user"))
    if event.again:
        return _begin_request(state)
    if not event.calls:
        return _end_turn(state)
    return _begin_calls(replace(_clear_calls(state), phase=TurnPhase.ACTING, calls=event.calls, attempt=0))


def _clear_calls(state: TurnState) -> TurnState:
    return replace(state, calls=(), results=(), to_ask=(), planned=False, guarded=False)


def _begin_calls(state: TurnState) -> Step:
    """Begin the calls of an answer; those that need permission wait for it one after the other.

    `Tools` must not plan a write before the writes that were started earlier are done.
    """
    commands: list[Command] = []
    for call in state.calls:
        if call.asks and call.name in state.refused:
            state = replace(state, results=(*state.results, ToolResult(call.id, REFUSED, is_error=True)))
        elif call.asks:
            state = replace(state, to_ask=(*state.to_ask, call.id))
        else:
            commands.append(RunTool(call))
    return _ask_next(state, commands)


def _ask_next(state: TurnState, commands: list[Command]) -> Step:
    """Plan the next call that needs permission; if none is left, go on with `_next_round`."""
    state = replace(state, planned=False, guarded=False)
    if state.to_ask:
        return state, [*commands, Plan(next(call for call in state.calls if call.id == state.to_ask[0]))]
    return _next_round(state, commands)


def _handle_plan(state: TurnState, event: Planned) -> Step:
    if not state.to_ask or event.id != state.to_ask[0] or state.planned:
        return state, []
    call = next(waiting_call for waiting_call in state.calls if waiting_call.id == event.id)
    further = replace(state, to_ask=state.to_ask[1:])
    if event.result is not None:
        return _ask_next(replace(further, results=(*state.results, event.result)), [])
    if call.name in state.allowed and not event.guarded:
        return _ask_next(further, [RunTool(call)])
    if not state.attended:
        no_user_result = ToolResult(call.id, NO_USER, is_error=True)
        reason = "is asked for each time" if event.guarded else "asks first"
        event_to_tell = Tell("refused", f"{call.name}: this {reason}, and no user is there")
        return _ask_next(replace(further, results=(*state.results, no_user_result)), [event_to_tell])
    return replace(state, planned=True, guarded=event.guarded), [Ask(call)]


def _next_round(state: TurnState, commands: list[Command]) -> Step:
    """Once every call has its result, append the results and begin the next request."""
    results_by_id = {result.id: result for result in state.results}
    if len(results_by_id) < len(state.calls):
        return state, commands
    results = tuple(results_by_id[call.id] for call in state.calls)
    done, further = _begin_request(_clear_calls(state))
    return done, [*commands, AddResults(results), *further]


def _handle_permission(state: TurnState, event: Permitted) -> Step:
    if not state.planned or event.id != state.to_ask[0]:
        return state, []
    call = next(waiting_call for waiting_call in state.calls if waiting_call.id == event.id)
    if event.leave == ToolLeave.NOT_NOW:
        results = (*state.results, ToolResult(call.id, REFUSED, is_error=True))
        state = replace(state, to_ask=state.to_ask[1:], results=results)
        return _ask_next(state, [Tell("refused", f"{call.name}: not now")])
    if event.leave == ToolLeave.NEVER:
        # Applies to the same tool's other calls, too.
        ids = [same.id for same in state.calls if same.id in state.to_ask and same.name == call.name]
        results = (*state.results, *(ToolResult(id_, REFUSED, is_error=True) for id_ in ids))
        to_ask = tuple(id_ for id_ in state.to_ask if id_ not in ids)
        state = replace(state, refused=state.refused | {call.name}, results=results, to_ask=to_ask)
        return _ask_next(state, [Tell("refused", f"{call.name} is not allowed in this session")])
    if event.leave == ToolLeave.SESSION and not state.guarded:
        state = replace(state, allowed=state.allowed | {call.name})
    return _ask_next(replace(state, to_ask=state.to_ask[1:]), [RunTool(call)])


def _handle_tool_end(state: TurnState, event: Finished) -> Step:
    open_ids = {call.id for call in state.calls} - {result.id for result in state.results} - set(state.to_ask)
    if event.result.id not in open_ids:
        return state, []
    return _next_round(replace(state, results=(*state.results, event.result)), [])


def _handle_break(state: TurnState, event: Broke) -> Step:
    if state.phase == TurnPhase.CUTTING:
        return _end_turn(state, Tell("interrupt", "interrupted by the user"))
    wait = event.after if event.after is not None else backoff(state.attempt)
    if not event.retry or state.attempt >= MAX_ATTEMPTS or wait > MAX_WAIT_S:
        tried = f" (tried {state.attempt} times)" if state.attempt > 1 else ""
        wait_note = f"; the provider asks to wait {wait:.0f} s" if event.retry and wait > MAX_WAIT_S else ""
        return _end_turn(state, Tell("error", f"{event.message}{wait_note}{tried}"))
    notice = Tell("retry", f"{event.message}; trying again in {wait:.1f} s")
    waiting = replace(state, phase=TurnPhase.WAITING)
    return waiting, [notice, Wait(wait, state.attempt + 1, MAX_ATTEMPTS, event.message)]


def backoff(attempt: int) -> float:
    """Default seconds to wait after failed attempt 1, 2, 3 ...: 0.5, 1, 2, 4 ..."""
    return 0.5 * 2.0 ** (attempt - 1)


def _cut_answer(state: TurnState, _: Interrupted) -> Step:
    return replace(state, phase=TurnPhase.CUTTING), [StopListening()]


def _interrupt(state: TurnState, event: Interrupted) -> Step:
    """Interrupt outside of an answer; calls without a result get one."""
    commands: list[Command] = [StopWaiting()]
    if state.phase == TurnPhase.ACTING:
        results_by_id = {result.id: result for result in state.results}
        stopped = [results_by_id.get(call.id) or ToolResult(call.id, STOPPED, is_error=True) for call in state.calls]
        commands = [StopTools(), AddResults(tuple(stopped))]
    return _end_turn(state, *commands, Tell("interrupt", event.reason))


_ANYWHERE: Final[dict[type, Callable[..., Step]]] = {UserSaid: _handle_message, HoldNext: _toggle_hold}
_HANDLERS: Final[dict[tuple[TurnPhase, type], Callable[..., Step]]] = {
    (TurnPhase.REST, Released): _handle_release,
    (TurnPhase.PREPARING, Prepared): _handle_prepared,
    (TurnPhase.PREPARING, Interrupted): _interrupt,
    (TurnPhase.PREPARING, Broke): _handle_break,
    (TurnPhase.HELD, Released): _handle_release,
    (TurnPhase.HELD, Interrupted): _interrupt,
    (TurnPhase.SENDING, Answered): _handle_answer,
    (TurnPhase.SENDING, Broke): _handle_break,
    (TurnPhase.SENDING, Interrupted): _cut_answer,
    (TurnPhase.CUTTING, Answered): _handle_answer,
    (TurnPhase.CUTTING, Broke): _handle_break,
    (TurnPhase.WAITING, Waited): lambda state, _: _send_request(state),
    (TurnPhase.WAITING, Interrupted): _interrupt,
    (TurnPhase.ACTING, Planned): _handle_plan,
    (TurnPhase.ACTING, Permitted): _handle_permission,
    (TurnPhase.ACTING, Finished): _handle_tool_end,
    (TurnPhase.ACTING, Interrupted): _interrupt,
}
