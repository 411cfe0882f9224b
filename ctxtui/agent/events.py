"""Events of a turn, and commands with which the turn machine (`turn`) answers them."""

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
    """A call by the model; `input` is its decoded JSON, or text that is no JSON."""

    id: str
    name: str
    input: Json
    asks: bool = False
    """Whether the user is asked before the tool runs."""


class ToolResult(Struct, frozen=True):
    """The result of the call `id`, for the model."""

    id: str
    text: str
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


# Events


class UserSaid(Struct, frozen=True):
    """The user sent a message. In a turn it waits; a held request is built again with it."""

    text: str


class Interrupted(Struct, frozen=True):
    """The turn must end now. `reason` is shown, except if an answer is interrupted."""

    reason: str = "interrupted by the user"


class HoldNext(Struct, frozen=True):
    """Hold the next request; a second event takes that back."""


class Released(Struct, frozen=True):
    """Send a held request; outside of a turn, send the context as it is."""


class Prepared(Struct, frozen=True):
    """The request is ready; `reason` is why a rule holds it ("": no rule does)."""

    reason: str = ""


class Answered(Struct, frozen=True):
    """An answer ended and is in the context.

    `cut`: it was interrupted; `again`: the provider paused its turn.
    """

    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    again: bool = False


class Broke(Struct, frozen=True):
    """A request could not be built, or failed.

    `after`: seconds that the provider asked to wait (None: none).
    """

    message: str
    retry: bool = False
    after: float | None = None


class Waited(Struct, frozen=True):
    """The wait before a retry is over."""


class Planned(Struct, frozen=True):
    """The call `id` is planned; `guarded`: the user is asked each time. `result`: an error."""

    id: str
    guarded: bool = False
    result: ToolResult | None = None


class Permitted(Struct, frozen=True):
    """The user answered whether the call `id` may run."""

    id: str
    leave: ToolLeave


class Finished(Struct, frozen=True):
    """A tool finished with `result`."""

    result: ToolResult


Event = (
    UserSaid | Interrupted | HoldNext | Released | Prepared | Answered | Broke | Waited | Planned | Permitted | Finished
)


# Commands


class AddUser(Struct, frozen=True):
    """Append a user message to the context."""

    text: str


class AddResults(Struct, frozen=True):
    """Append the results of an answer's calls to the context."""

    results: tuple[ToolResult, ...]


class Prepare(Struct, frozen=True):
    """Build the request of the current context; then `Prepared`."""


class HoldRequest(Struct, frozen=True):
    """Keep the prepared request, because of `reason`, until `Released`."""

    reason: str


class Send(Struct, frozen=True):
    """Send the prepared request (attempt 1, 2 ...); then `Answered` or `Broke`."""

    attempt: int


class Wait(Struct, frozen=True):
    """Wait `seconds` before `attempt` of `max_attempts` because of `reason`; then `Waited`."""

    seconds: float
    attempt: int
    max_attempts: int
    reason: str


class StopListening(Struct, frozen=True):
    """Stop reading the answer and keep the received part; then `Answered`, as cut."""


class StopWaiting(Struct, frozen=True):
    """Cancel building a request, or the wait before a retry."""


class RunTool(Struct, frozen=True):
    """Run a tool; then `Finished`."""

    call: ToolCall


class Plan(Struct, frozen=True):
    """Plan a call that needs permission; then `Planned`."""

    call: ToolCall


class Ask(Struct, frozen=True):
    """Ask the user for permission to run a tool; then `Permitted`."""

    call: ToolCall


class StopTools(Struct, frozen=True):
    """Stop running tools and discard their results."""


class Tell(Struct, frozen=True):
    """Show and record an event: `kind` is ``retry``, ``error``, ``interrupt`` or ``refused``."""

    kind: str
    text: str


class Rest(Struct, frozen=True):
    """End the turn."""


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
