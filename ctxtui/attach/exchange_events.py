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
    - `session`, `thread`: "" if the recorder is to find the session, and readers the thread.
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
    """More of a request's body before edits, as compressed by the client.

    With `last` it is complete.
    """

    exchange_id: str
    data: bytes
    last: bool = False


class AnswerBegun(Struct, frozen=True):
    exchange_id: str
    at: float
    status: int
    fields: Fields


class AnswerBytes(Struct, frozen=True):
    """More of an answer's body, before edits."""

    exchange_id: str
    at: float
    data: bytes


class SocketMessage(Struct, frozen=True):
    exchange_id: str
    at: float
    by_client: bool
    text: str


class ExchangeEnded(Struct, frozen=True):
    """`error`: the reason of a premature end."""

    exchange_id: str
    at: float
    error: str = ""


class RequestDecided(Struct, frozen=True):
    """The decision on a request.

    `replacement_body`: what is sent instead of the client's, if any.
    """

    exchange_id: str
    at: float
    replacement_body: bytes | None
    report: Mapping[str, Json]


class AnswerDecided(Struct, frozen=True):
    """The record of the decision on a held answer, which is recorded as the provider sent it."""

    exchange_id: str
    at: float
    report: Mapping[str, Json]


class ExchangeHeld(Struct, frozen=True):
    """A request, or its answer, is held until `until` (Unix seconds), which the user may extend.

    `why`: the reason in words.
    """

    exchange_id: str
    at: float
    until: float
    why: str


ExchangeEvent = (
    RequestBegun
    | RequestBytes
    | RequestDecided
    | ExchangeHeld
    | AnswerDecided
    | AnswerBegun
    | AnswerBytes
    | SocketMessage
    | ExchangeEnded
)
