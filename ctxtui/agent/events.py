"""What happens to a turn (events) and what is to be done about it (commands); the machine is in `turn`."""

from __future__ import annotations

from enum import StrEnum

from ctxtui.core.canonical import Json
from ctxtui.dataclasses import dataclass
from ctxtui.wire.speech import ResultImage


class ToolLeave(StrEnum):
    """The user's answer to a tool that asks first."""

    ONCE = "once"
    SESSION = "session"
    NOT_NOW = "not now"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for: `id` pairs it with its result, `input` is its decoded JSON."""

    id: str
    name: str
    input: Json
    asks: bool = False
    """Whether the tool changes something, so that the user is asked."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call."""

    id: str
    text: str
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


# Events


@dataclass(frozen=True, slots=True)
class UserSaid:
    """The user sent a message; while a turn runs it waits for the next request."""

    text: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The turn is to end now; `reason` says who wants it, or why."""

    reason: str = "interrupted by the user"


@dataclass(frozen=True, slots=True)
class HoldNext:
    """The next request is to be held, or, said again, no longer."""


@dataclass(frozen=True, slots=True)
class Released:
    """A held request may go; with nothing held and no answer pending, the context is sent as it stands."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The request is made; `reason` says why a rule wants it held ("": no rule does)."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer ended and is in the context, with the whole `calls` it asks for. `cut`: it was interrupted."""

    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    again: bool = False
    """The provider paused its turn: the same context is to be sent once more."""


@dataclass(frozen=True, slots=True)
class Broke:
    """A request ended in an error and its answer is not in the context. `retry` says that trying again may help,
    `after` how many seconds the provider asked to wait (None: it did not say)."""

    message: str
    retry: bool = False
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait before a retry is over."""


@dataclass(frozen=True, slots=True)
class Planned:
    """It is known what the call `id` would write. `guarded`: the user is asked each time; `result`: it cannot be
    done."""

    id: str
    guarded: bool = False
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class Permitted:
    """The user answered for the call `id`."""

    id: str
    leave: ToolLeave


@dataclass(frozen=True, slots=True)
class Finished:
    """A tool is done."""

    result: ToolResult


Event = (
    UserSaid | Interrupted | HoldNext | Released | Prepared | Answered | Broke | Waited | Planned | Permitted | Finished
)


# Commands


@dataclass(frozen=True, slots=True)
class AddUser:
    """Put a user message into the context."""

    text: str


@dataclass(frozen=True, slots=True)
class AddResults:
    """Put the results of the last answer's calls into the context, in the order of the calls."""

    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the request of the context as it stands; then `Prepared`."""


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """Show that the request is held, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Send:
    """Send the prepared request (attempt 1, 2 ...); then `Answered` or `Broke`."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait so many seconds before attempt `attempt` of at most `most`, because of `reason`; then `Waited`."""

    seconds: float
    attempt: int
    most: int
    reason: str


@dataclass(frozen=True, slots=True)
class StopListening:
    """Stop listening to the answer and keep what came; then `Answered` with `cut`."""


@dataclass(frozen=True, slots=True)
class StopWaiting:
    """Forget what is being waited for: a request in the making, or the time before a retry."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool; then `Finished`."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Plan:
    """Work out what a call would write; then `Planned`."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the user for leave to run a tool; then `Permitted`."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class StopTools:
    """End running tools: what they still bring is not wanted."""


@dataclass(frozen=True, slots=True)
class Tell:
    """A thing worth a mark in the record: `kind` is ``retry``, ``error``, ``interrupt``, ``refused``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Rest:
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
