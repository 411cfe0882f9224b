"""Events of a turn and the commands that answer them; `turn` has the machine."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.wire.speech import ResultImage


class ToolLeave(StrEnum):
    """The user's answer to a tool that asks first."""

    ONCE = "once"
    SESSION = "session"
    NOT_NOW = "not now"
    NEVER = "never"


class ToolCall(Struct, frozen=True):
    """A call that the model asks for: `id` pairs it with its result, `input` is its decoded JSON."""

    id: str
    name: str
    input: Json
    asks: bool = False
    """Whether the tool changes something, so that the user is asked."""


class ToolResult(Struct, frozen=True):
    """The result of a tool call."""

    id: str
    text: str
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


# Events


class UserSaid(Struct, frozen=True):
    """The user sent a message; while a turn runs it waits for the next request."""

    text: str


class Interrupted(Struct, frozen=True):
    """The turn is to end now; `reason` says who wants it, or why."""

    reason: str = "interrupted by the user"


class HoldNext(Struct, frozen=True):
    """The next request is to be held, or, said again, no longer."""


class Released(Struct, frozen=True):
    """A held request may go; with nothing held and no answer pending, the context is sent as it stands."""


class Prepared(Struct, frozen=True):
    """The request is made; `reason` says why a rule wants it held ("": no rule does)."""

    reason: str = ""


class Answered(Struct, frozen=True):
    """An answer ended and is in the context, with the whole `calls` it asks for. `cut`: it was interrupted."""

    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    again: bool = False
    """The provider paused its turn: the same context is to be sent once more."""


class Broke(Struct, frozen=True):
    """A request ended in an error and its answer is not in the context. `retry` says that trying again may help,
    `after` how many seconds the provider asked to wait (None: it did not say)."""

    message: str
    retry: bool = False
    after: float | None = None


class Waited(Struct, frozen=True):
    """The wait before a retry is over."""


class Planned(Struct, frozen=True):
    """It is known what the call `id` would write. `guarded`: the user is asked each time; `result`: it cannot be
    done."""

    id: str
    guarded: bool = False
    result: ToolResult | None = None


class Permitted(Struct, frozen=True):
    """The user answered for the call `id`."""

    id: str
    leave: ToolLeave


class Finished(Struct, frozen=True):
    """A tool is done."""

    result: ToolResult


Event = (
    UserSaid | Interrupted | HoldNext | Released | Prepared | Answered | Broke | Waited | Planned | Permitted | Finished
)


# Commands


class AddUser(Struct, frozen=True):
    """Put a user message into the context."""

    text: str


class AddResults(Struct, frozen=True):
    """Put the results of the last answer's calls into the context, in the order of the calls."""

    results: tuple[ToolResult, ...]


class Prepare(Struct, frozen=True):
    """Make the request of the context as it stands; then `Prepared`."""


class HoldRequest(Struct, frozen=True):
    """Show that the request is held, and why."""

    reason: str


class Send(Struct, frozen=True):
    """Send the prepared request (attempt 1, 2 ...); then `Answered` or `Broke`."""

    attempt: int


class Wait(Struct, frozen=True):
    """Wait so many seconds before attempt `attempt` of at most `most`, because of `reason`; then `Waited`."""

    seconds: float
    attempt: int
    most: int
    reason: str


class StopListening(Struct, frozen=True):
    """Stop listening to the answer and keep what came; then `Answered` with `cut`."""


class StopWaiting(Struct, frozen=True):
    """Forget what is being waited for: a request in the making, or the time before a retry."""


class RunTool(Struct, frozen=True):
    """Run a tool; then `Finished`."""

    call: ToolCall


class Plan(Struct, frozen=True):
    """Work out what a call would write; then `Planned`."""

    call: ToolCall


class Ask(Struct, frozen=True):
    """Ask the user for leave to run a tool; then `Permitted`."""

    call: ToolCall


class StopTools(Struct, frozen=True):
    """End running tools: what they still bring is not wanted."""


class Tell(Struct, frozen=True):
    """A thing worth a mark in the record: `kind` is ``retry``, ``error``, ``interrupt``, ``refused``."""

    kind: str
    text: str


class Rest(Struct, frozen=True):
    """The turn is over."""


Command = (
    AddUser
    | AddResults
    | Prepare
    | HoldRequest
    | Send
    | Wait
    | StopListening
    | StopWaiting
    | RunTool
    | Plan
    | Ask
    | StopTools
    | Tell
    | Rest
)
