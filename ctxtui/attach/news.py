"""What a relay, or a hook in a program, tells of an exchange as it goes by; a recorder writes it down."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ctxtui.attach.lines import Fields
from ctxtui.core.canonical import Json


class RequestBegun(Struct, frozen=True, kw_only=True):
    """A request's head: `x` names the exchange within the run. `session`, `thread` where the program itself names
    them."""

    x: str
    at: float
    method: str
    url: str
    fields: Fields
    session: str = ""
    thread: str = ""


class RequestBytes(Struct, frozen=True):
    """More of a request's body as it went; `last` says that it is whole."""

    x: str
    data: bytes
    last: bool = False


class AnswerBegun(Struct, frozen=True):
    """The head of an answer."""

    x: str
    at: float
    status: int
    fields: Fields


class AnswerBytes(Struct, frozen=True):
    """More of an answer's body as it went."""

    x: str
    at: float
    data: bytes


class SocketMessage(Struct, frozen=True):
    """A message over a WebSocket, by the client or the server."""

    x: str
    at: float
    by_client: bool
    text: str


class ExchangeEnded(Struct, frozen=True):
    """An exchange is over; `error` says why before its time."""

    x: str
    at: float
    error: str = ""


class RequestSent(Struct, frozen=True):
    """What was decided about a request: the `body` that left in place of its own (None: its own), and what is `told`
    of it."""

    x: str
    at: float
    body: bytes | None
    told: Mapping[str, Json]


class RequestHeld(Struct, frozen=True):
    """A request waits, `until` then at most (Unix seconds), and why."""

    x: str
    at: float
    until: float
    why: str


ExchangeEvent = (
    RequestBegun | RequestBytes | RequestSent | RequestHeld | AnswerBegun | AnswerBytes | SocketMessage | ExchangeEnded
)
