"""The gate: decides about requests before a relay passes them on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct, field

from ctxtui.attach.early_answer import AsEvent
from ctxtui.attach.http1 import Head
from ctxtui.core.canonical import Json

KeepAlive = Callable[[bytes, AsEvent], bool]
"""Sends a ping to a client that waits for a stream; returns whether it could be sent.

Its arguments: the ping, the encoder of errors as events (the answer has begun by then).
"""


class WaitingRequest(Struct, frozen=True, kw_only=True):
    """A complete request that is held: `x` names the exchange, `body` is its unpacked body.

    `body` is empty if it cannot be unpacked. `keep_alive` sends a ping to its client (None: the client accepts none).
    `can_hold_answer`: whether its answer can be held too, which is impossible for a WebSocket.
    """

    x: str
    url: str
    head: Head
    body: bytes
    keep_alive: KeepAlive | None = None
    can_hold_answer: bool = False


class WaitingAnswer(Struct, frozen=True, kw_only=True):
    """A provider's complete answer with status 200 that is held: `body` is its unpacked body.

    It is empty if it cannot be unpacked.
    """

    body: bytes
    keep_alive: KeepAlive | None = None


class AnswerVerdict(Struct, frozen=True, kw_only=True):
    """The decision on a held answer.

    It is passed on unchanged, with another `body`, or refused with the bytes `refusal`. `report` is for the recording.
    """

    body: bytes | None = None
    refusal: bytes | None = None
    report: Mapping[str, Json] = field(default_factory=dict)


DecideAnswer = Callable[[WaitingAnswer], Awaitable[AnswerVerdict]]


class RequestVerdict(Struct, frozen=True, kw_only=True):
    """The decision on a request.

    It is sent unchanged, with another `body`, or answered with the bytes `answer`. `report` is for the recording:
    applied, inactive and refused edits with reasons, and who released the request. `decide_answer` decides about the
    answer (None: it is passed on as it arrives).
    """

    body: bytes | None = None
    answer: bytes | None = None
    report: Mapping[str, Json] = field(default_factory=dict)
    decide_answer: DecideAnswer | None = None


class Gate(Protocol):
    """Decides about requests. On a fault of the gate they pass unchanged."""

    def wants(self, head: Head) -> bool:
        """Whether to hold the request with this head until it is complete.

        Must be fast: it delays every request.
        """

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """Decide about the request."""
