"""The gate: applies the user's edits and holds to requests before a relay passes them on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct, field

from ctxtui.attach.early_answer import AsEvent
from ctxtui.attach.http1 import Head
from ctxtui.core.canonical import Json

KeepAlive = Callable[[bytes, AsEvent], bool]
"""Sends a ping, which begins the answer, to a client that waits for a stream. Returns whether it was sent.

Its arguments: the ping, and the encoder of a later error as an event.
"""


class WaitingRequest(Struct, frozen=True, kw_only=True):
    """A complete request that is held: `x` names the exchange, `body` is decompressed.

    `body` is empty if it cannot be decompressed. `keep_alive` is None if the client accepts no pings.
    """

    x: str
    url: str
    head: Head
    body: bytes
    keep_alive: KeepAlive | None = None
    can_hold_answer: bool = False


class WaitingAnswer(Struct, frozen=True, kw_only=True):
    """A complete answer with status 200 that is held. `body` is decompressed; empty if it cannot be."""

    body: bytes
    keep_alive: KeepAlive | None = None


class AnswerVerdict(Struct, frozen=True, kw_only=True):
    """A held answer is passed on, with another `body` if given, or refused with `refusal`."""

    body: bytes | None = None
    refusal: bytes | None = None
    report: Mapping[str, Json] = field(default_factory=dict)


DecideAnswer = Callable[[WaitingAnswer], Awaitable[AnswerVerdict]]


class RequestVerdict(Struct, frozen=True, kw_only=True):
    """A request is sent unchanged, with another `body`, or answered with the bytes `answer`.

    `report` is for the recording. `decide_answer`: None if the provider's answer is passed on as it arrives.
    """

    body: bytes | None = None
    answer: bytes | None = None
    report: Mapping[str, Json] = field(default_factory=dict)
    decide_answer: DecideAnswer | None = None


class Gate(Protocol):
    """Decides about requests. On a fault of the gate they pass unchanged."""

    def wants(self, head: Head) -> bool:
        """Whether to hold the request with this head until it is complete. Must be fast: all requests wait for it."""

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict: ...
