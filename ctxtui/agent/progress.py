"""Progress events of a turn, which the runner sends to the recorder and the screen."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.agent.conversation import Draft
from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.tool import Planned
from ctxtui.core.call import Call
from ctxtui.wire.stream import Delta


class UserMessageAdded(Struct, frozen=True):
    """A user message was appended: the context ended at `before` and now ends at `head`."""

    text: str
    head: int
    before: int


class ToolResultsAdded(Struct, frozen=True):
    """The results of an answer's calls are in the context, which now ends at `head`."""

    results: tuple[ToolResult, ...]
    head: int


class RequestDrafted(Struct, frozen=True):
    """A request is ready and not sent yet."""

    draft: Draft


class DraftHeld(Struct, frozen=True):
    """The drafted request waits for the user, because of `reason`."""

    reason: str


class RequestSent(Struct, frozen=True):
    """The drafted request was sent, at Unix time `at`; `attempt` counts from 1."""

    draft: Draft
    at: float
    attempt: int


class CallBegan(Struct, frozen=True):
    """The first event of the answer arrived: the call has an id, and maybe already figures."""

    call: Call


class PieceReceived(Struct, frozen=True):
    """A piece of the answer: the raw bytes, and what they add to it."""

    data: bytes
    deltas: tuple[Delta, ...]


class CallEnded(Struct, frozen=True):
    """The answer of `call` ended (`cut`: interrupted), and the context ends at `head`."""

    call: Call
    head: int
    cut: bool = False


class CallFailed(Struct, frozen=True):
    """The request was refused, or its answer broke off.

    `call` is the received part, which is not in the context.
    """

    message: str
    call: Call | None = None


class ToolWaits(Struct, frozen=True):
    """A tool waits until the answer that calls it is recorded; sent only if that is slow."""

    call: ToolCall


class ToolBegan(Struct, frozen=True):
    """A tool starts to run."""

    call: ToolCall


class ToolEnded(Struct, frozen=True):
    """A tool finished, or could not be planned."""

    result: ToolResult


class PermissionRequested(Struct, frozen=True):
    """A tool waits for the user's permission for the planned call."""

    call: ToolCall
    planned: Planned


class RetryWaits(Struct, frozen=True):
    """A failed request is sent again after `seconds`, as `attempt` of `max_attempts`."""

    seconds: float
    attempt: int
    max_attempts: int
    reason: str


class Notice(Struct, frozen=True):
    """An event worth showing: a `Tell` of the turn machine, or one of the host's own kinds."""

    kind: str
    text: str


class TurnEnded(Struct, frozen=True):
    """The turn ended; the agent waits for the user."""


ProgressEvent = (
    UserMessageAdded | ToolResultsAdded | RequestDrafted | DraftHeld | RequestSent | CallBegan | PieceReceived |
    CallEnded | CallFailed | ToolWaits | ToolBegan | ToolEnded | PermissionRequested | RetryWaits | Notice | TurnEnded
)  # fmt: skip
