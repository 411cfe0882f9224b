"""Events of an exchange, from a relay or a hook in a program, for the recorder.

`at` is in Unix seconds; `fields` are the HTTP headers, in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ctxtui.attach.lines import Fields
from ctxtui.core.canonical import Json


class RequestBegun(Struct, frozen=True, kw_only=True):
    """A request's head.

    - `exchange_id`: names the exchange within the run.
    - `session`, `thread`: as a hooked program names them, or ctxtui for a request of its own; "": the recorder finds
      the session by headers, body, run and URL, and readers find the thread.
    - `keep_warm`: ctxtui sends it by itself, to keep a cached prefix from expiring.
    """

    exchange_id: str
    at: float
    method: str
    url: str
    fields: Fields
    session: str = ""
    thread: str = ""
    keep_warm: bool = False


class RequestBytes(Struct, frozen=True):
    """More of a request's body as the client sent it, still compressed, before edits.

    With `last`, the body is complete.
    """

    exchange_id: str
    data: bytes
    last: bool = False


class AnswerBegun(Struct, frozen=True):
    """The head of an answer: the provider's, or ctxtui's own."""

    exchange_id: str
    at: float
    status: int
    fields: Fields


class AnswerBytes(Struct, frozen=True):
    """More of an answer's body, still compressed, before edits."""

    exchange_id: str
    at: float
    data: bytes


class SocketMessage(Struct, frozen=True):
    """A WebSocket message, sent by the client (`by_client`) or the server."""

    exchange_id: str
    at: float
    by_client: bool
    text: str


class ExchangeEnded(Struct, frozen=True):
    """The end of an exchange; `error` is the reason if premature."""

    exchange_id: str
    at: float
    error: str = ""


class RequestDecided(Struct, frozen=True):
    """The decision on a request, if it changes it or has a report.

    - `replacement_body`: the body sent instead of the client's; None: the client's is sent, or ctxtui answers itself.
    - `report`: the record of the decision (see `gate.RequestVerdict`).
    """

    exchange_id: str
    at: float
    replacement_body: bytes | None
    report: Mapping[str, Json]


class AnswerDecided(Struct, frozen=True):
    """The decision on a held answer: `report` is its record.

    The answer is recorded as the provider sent it.
    """

    exchange_id: str
    at: float
    report: Mapping[str, Json]


class RequestHeld(Struct, frozen=True):
    """A request is held until `until` (Unix seconds) at the latest; `why` is the reason."""

    exchange_id: str
    at: float
    until: float
    why: str


ExchangeEvent = (
    RequestBegun
    | RequestBytes
    | RequestDecided
    | RequestHeld
    | AnswerDecided
    | AnswerBegun
    | AnswerBytes
    | SocketMessage
    | ExchangeEnded
)
