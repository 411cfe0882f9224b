"""What the runner tells of a turn as it goes on: for the record, and for the screen."""

from __future__ import annotations

from ctxtui.agent.conversation import Draft
from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.planned_write import Planned
from ctxtui.core.call import Call
from ctxtui.dataclasses import dataclass
from ctxtui.wire.stream import Delta


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A user message is in the context, which ended at `before` and now ends at `head`."""

    text: str
    head: int
    before: int


@dataclass(frozen=True, slots=True)
class ResultsCame:
    """The results of an answer's calls are in the context, which now ends at `head`."""

    results: tuple[ToolResult, ...]
    head: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """A request is made and not sent yet."""

    draft: Draft


@dataclass(frozen=True, slots=True)
class RequestHeld:
    """The drafted request waits for the user, because of `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The drafted request left, at Unix time `at`."""

    draft: Draft
    at: float
    attempt: int


@dataclass(frozen=True, slots=True)
class CallBegan:
    """The answer's first event came: the call has an id, and maybe already figures."""

    call: Call


@dataclass(frozen=True, slots=True)
class PieceReceived:
    """A piece of the answer: the bytes as they came, and what they add to it."""

    data: bytes
    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The answer is whole, or as whole as it will be (`call.error`, or `cut`); the context now ends at `head`."""

    call: Call
    head: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The request was refused, or its answer broke off: nothing of it is in the context. `call` is what came, None
    where nothing did."""

    message: str
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class ToolWaits:
    """A tool does not begin before the answer that asks for it is on record, and that takes its time."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolBegan:
    """A tool runs."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool is done."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class LeaveAsked:
    """A tool waits for the user's leave to do what was planned."""

    call: ToolCall
    planned: Planned


@dataclass(frozen=True, slots=True)
class RetryWaits:
    """A retry comes in `seconds`."""

    seconds: float
    attempt: int
    most: int
    reason: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A thing worth a mark: ``retry``, ``error``, ``interrupt``, ``refused``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Rested:
    """The turn is over."""


Moment = (
    UserSaid | ResultsCame | Drafted | RequestHeld | RequestSent | CallBegan | PieceReceived | CallEnded |
    CallFailed | ToolWaits | ToolBegan | ToolEnded | LeaveAsked | RetryWaits | Noted | Rested
)  # fmt: skip
