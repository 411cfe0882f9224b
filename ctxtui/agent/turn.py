"""The turn machine: state and event in, state and commands out. It knows no clock, no network, no files."""

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

ATTEMPTS: Final = 6
"""How often one request is tried."""
LONGEST_WAIT: Final = 60.0
"""Seconds: a provider that asks for a longer pause gets no retry, and the user is told."""
STOPPED: Final = "Stopped by the user before it was done."
REFUSED: Final = "The user did not allow this."
ALONE: Final = "This needs the user's leave, and no user is there to give it."


class TurnPhase(StrEnum):
    """What a turn is doing."""

    REST = "rest"
    PREPARING = "preparing"
    HELD = "held"
    SENDING = "sending"
    CUTTING = "cutting"
    WAITING = "waiting"
    ACTING = "acting"


class TurnState(Struct, frozen=True, kw_only=True):
    """Where a turn stands. `queue` are messages for the next request, `calls` what the last answer asks for, `results`
    what came of them, `asked` the ids that wait for leave; of the first of them `planned` says that it is known what it
    would write, so that the user is asked, and `guarded` that the answer holds for this once. `hold` holds the next
    request, `let_go` says that the one being prepared was held and is to leave now. `allowed` and `refused` are tools
    that the user answered for, for the whole session; without `attended` there is no user to ask. `rounds` counts the
    requests of this turn, of which more than `most` are held (0: no limit)."""

    phase: TurnPhase = TurnPhase.REST
    queue: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    asked: tuple[str, ...] = ()
    planned: bool = False
    guarded: bool = False
    attempt: int = 0
    hold: bool = False
    let_go: bool = False
    allowed: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    attended: bool = True
    rounds: int = 0
    most: int = 0

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        return self.phase != TurnPhase.REST


Step = tuple[TurnState, list[Command]]


def step(state: TurnState, event: Event) -> Step:
    """What `event` makes of `state`, and what is to be done. An event that comes too late changes nothing."""
    handler = _HANDLERS.get((state.phase, type(event))) or _ANYWHERE.get(type(event))
    return handler(state, event) if handler else (state, [])


def _prepare(state: TurnState) -> Step:
    said: list[Command] = [AddUser(text) for text in state.queue]
    return replace(state, phase=TurnPhase.PREPARING, queue=(), attempt=0, let_go=False), [*said, Prepare()]


def _rest(state: TurnState, *before: Command) -> Step:
    """The end of a turn; what the user said meanwhile begins the next one."""
    ended = replace(_acted(state), phase=TurnPhase.REST, attempt=0, rounds=0, let_go=False)
    if ended.queue and not any(isinstance(one, Tell) for one in before):
        again, commands = _prepare(ended)
        return again, [*before, *commands]
    return ended, [*before, Rest()]


def _said(state: TurnState, event: UserSaid) -> Step:
    queued = replace(state, queue=(*state.queue, event.text))
    return _prepare(queued) if state.phase in (TurnPhase.REST, TurnPhase.HELD) else (queued, [])


def _hold_next(state: TurnState, _: HoldNext) -> Step:
    return replace(state, hold=not state.hold), []


def _prepared(state: TurnState, event: Prepared) -> Step:
    over = f"{state.rounds} rounds in this turn" if state.most and state.rounds >= state.most else ""
    reason = "you asked for it" if state.hold else "" if state.let_go else event.reason or over
    state = replace(state, let_go=False)
    if reason:
        return replace(state, phase=TurnPhase.HELD, hold=False), [HoldRequest(reason)]
    return _send(state)


def _send(state: TurnState) -> Step:
    sending = replace(state, phase=TurnPhase.SENDING, attempt=state.attempt + 1)
    return replace(sending, rounds=state.rounds + (sending.attempt == 1)), [Send(sending.attempt)]


def _released(state: TurnState, _: Released) -> Step:
    if state.phase != TurnPhase.HELD:
        return _prepare(state)
    # Made anew: while it was held, edits may have been applied.
    return replace(state, phase=TurnPhase.PREPARING, rounds=0, attempt=0, let_go=True), [Prepare()]


def _answered(state: TurnState, event: Answered) -> Step:
    if event.cut or state.phase == TurnPhase.CUTTING:
        stopped = tuple(ToolResult(call.id, STOPPED, is_error=True) for call in event.calls)
        rest: list[Command] = [AddResults(stopped)] if stopped else []
        return _rest(state, *rest, Tell("interrupt", "interrupted by the user"))
    if event.again:
        return _prepare(state)
    if not event.calls:
        return _rest(state)
    return _act(replace(_acted(state), phase=TurnPhase.ACTING, calls=event.calls, attempt=0))


def _acted(state: TurnState) -> TurnState:
    return replace(state, calls=(), results=(), asked=(), planned=False, guarded=False)


def _act(state: TurnState) -> Step:
    """Begin the calls of an answer; those that need leave wait for it one after the other, each planned when those
    before it are done with: what it would write hangs on what they wrote."""
    commands: list[Command] = []
    for call in state.calls:
        if call.asks and call.name in state.refused:
            state = replace(state, results=(*state.results, ToolResult(call.id, REFUSED, is_error=True)))
        elif call.asks:
            state = replace(state, asked=(*state.asked, call.id))
        else:
            commands.append(RunTool(call))
    return _ask_on(state, commands)


def _ask_on(state: TurnState, commands: list[Command]) -> Step:
    """The next call that needs leave; none is left: the next request."""
    state = replace(state, planned=False, guarded=False)
    if state.asked:
        return state, [*commands, Plan(next(call for call in state.calls if call.id == state.asked[0]))]
    return _next_round(state, commands)


def _planned(state: TurnState, event: Planned) -> Step:
    if not state.asked or event.id != state.asked[0] or state.planned:
        return state, []
    call = next(one for one in state.calls if one.id == event.id)
    further = replace(state, asked=state.asked[1:])
    if event.result is not None:
        return _ask_on(replace(further, results=(*state.results, event.result)), [])
    if call.name in state.allowed and not event.guarded:
        return _ask_on(further, [RunTool(call)])
    if not state.attended:
        alone = ToolResult(call.id, ALONE, is_error=True)
        what = "is asked for each time" if event.guarded else "asks first"
        told = Tell("refused", f"{call.name}: this {what}, and no user is there")
        return _ask_on(replace(further, results=(*state.results, alone)), [told])
    return replace(state, planned=True, guarded=event.guarded), [Ask(call)]


def _next_round(state: TurnState, commands: list[Command]) -> Step:
    """When every call has its result, the results go into the context and the next request is made."""
    found = {result.id: result for result in state.results}
    if len(found) < len(state.calls):
        return state, commands
    results = tuple(found[call.id] for call in state.calls)
    done, further = _prepare(_acted(state))
    return done, [*commands, AddResults(results), *further]


def _permitted(state: TurnState, event: Permitted) -> Step:
    if not state.planned or event.id != state.asked[0]:
        return state, []
    call = next(one for one in state.calls if one.id == event.id)
    if event.leave == ToolLeave.NOT_NOW:
        no = (*state.results, ToolResult(call.id, REFUSED, is_error=True))
        return _ask_on(replace(state, asked=state.asked[1:], results=no), [Tell("refused", f"{call.name}: not now")])
    if event.leave == ToolLeave.NEVER:
        # That counts for the same tool's other calls, too.
        gone = [one for one in state.calls if one.id in state.asked and one.name == call.name]
        refused = tuple(ToolResult(one.id, REFUSED, is_error=True) for one in gone)
        left = tuple(id_ for id_ in state.asked if id_ not in {one.id for one in gone})
        state = replace(state, refused=state.refused | {call.name}, results=(*state.results, *refused), asked=left)
        return _ask_on(state, [Tell("refused", f"{call.name} is not allowed in this session")])
    if event.leave == ToolLeave.SESSION and not state.guarded:
        state = replace(state, allowed=state.allowed | {call.name})
    return _ask_on(replace(state, asked=state.asked[1:]), [RunTool(call)])


def _finished(state: TurnState, event: Finished) -> Step:
    wanted = {call.id for call in state.calls} - {result.id for result in state.results} - set(state.asked)
    if event.result.id not in wanted:
        return state, []
    return _next_round(replace(state, results=(*state.results, event.result)), [])


def _broke(state: TurnState, event: Broke) -> Step:
    if state.phase == TurnPhase.CUTTING:
        return _rest(state, Tell("interrupt", "interrupted by the user"))
    wait = event.after if event.after is not None else backoff(state.attempt)
    if not event.retry or state.attempt >= ATTEMPTS or wait > LONGEST_WAIT:
        tried = f" (tried {state.attempt} times)" if state.attempt > 1 else ""
        asked = f"; the provider asks to wait {wait:.0f} s" if event.retry and wait > LONGEST_WAIT else ""
        return _rest(state, Tell("error", f"{event.message}{asked}{tried}"))
    said = Tell("retry", f"{event.message}; trying again in {wait:.1f} s")
    waiting = replace(state, phase=TurnPhase.WAITING)
    return waiting, [said, Wait(wait, state.attempt + 1, ATTEMPTS, event.message)]


def backoff(attempt: int) -> float:
    """Seconds to wait after failed attempt 1, 2, 3 ... where the provider names none: 0.5, 1, 2, 4 ..."""
    return min(30.0, 0.5 * 2.0 ** (attempt - 1))


def _waited(state: TurnState, _: Waited) -> Step:
    return _send(state)


def _cut(state: TurnState, _: Interrupted) -> Step:
    return replace(state, phase=TurnPhase.CUTTING), [StopListening()]


def _stop(state: TurnState, event: Interrupted) -> Step:
    """Interrupted while nothing is being said: calls without a result get one, so that the context stays legal."""
    commands: list[Command] = [StopWaiting()]
    if state.phase == TurnPhase.ACTING:
        found = {result.id: result for result in state.results}
        stopped = [found.get(call.id) or ToolResult(call.id, STOPPED, is_error=True) for call in state.calls]
        commands = [StopTools(), AddResults(tuple(stopped))]
    return _rest(state, *commands, Tell("interrupt", event.reason))


_ANYWHERE: Final[dict[type, Callable[..., Step]]] = {UserSaid: _said, HoldNext: _hold_next}
_HANDLERS: Final[dict[tuple[TurnPhase, type], Callable[..., Step]]] = {
    (TurnPhase.REST, Released): _released,
    (TurnPhase.PREPARING, Prepared): _prepared,
    (TurnPhase.PREPARING, Interrupted): _stop,
    (TurnPhase.PREPARING, Broke): _broke,
    (TurnPhase.HELD, Released): _released,
    (TurnPhase.HELD, Interrupted): _stop,
    (TurnPhase.SENDING, Answered): _answered,
    (TurnPhase.SENDING, Broke): _broke,
    (TurnPhase.SENDING, Interrupted): _cut,
    (TurnPhase.CUTTING, Answered): _answered,
    (TurnPhase.CUTTING, Broke): _broke,
    (TurnPhase.WAITING, Waited): _waited,
    (TurnPhase.WAITING, Interrupted): _stop,
    (TurnPhase.ACTING, Planned): _planned,
    (TurnPhase.ACTING, Permitted): _permitted,
    (TurnPhase.ACTING, Finished): _finished,
    (TurnPhase.ACTING, Interrupted): _stop,
}
