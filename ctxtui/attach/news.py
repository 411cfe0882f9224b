"""What a relay, or a hook in a program, tells of an exchange as it goes by; a recorder writes it down."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.attach.masks import Fields
from ctxtui.core.canonical import Json
from ctxtui.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBegun:
    """A request's head: `x` names the exchange within the run. `session`, `thread` where the program itself names
    them."""

    x: str
    at: float
    method: str
    url: str
    fields: Fields
    session: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class RequestBytes:
    """More of a request's body as it went; `last` says that it is whole."""

    x: str
    data: bytes
    last: bool = False


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """The head of an answer."""

    x: str
    at: float
    status: int
    fields: Fields


@dataclass(frozen=True, slots=True)
class AnswerBytes:
    """More of an answer's body as it went."""

    x: str
    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class SocketMessage:
    """A message over a WebSocket, by the client or the server."""

    x: str
    at: float
    by_client: bool
    text: str


@dataclass(frozen=True, slots=True)
class ExchangeEnded:
    """An exchange is over; `error` says why before its time."""

    x: str
    at: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class RequestSent:
    """What was decided about a request: the `body` that left in place of its own (None: its own), and what is `told`
    of it."""

    x: str
    at: float
    body: bytes | None
    told: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RequestHeld:
    """A request waits, `until` then at most (Unix seconds), and why."""

    x: str
    at: float
    until: float
    why: str


ExchangeEvent = (
    RequestBegun | RequestBytes | RequestSent | RequestHeld | AnswerBegun | AnswerBytes | SocketMessage | ExchangeEnded
)
