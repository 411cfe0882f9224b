"""What a relay asks before it passes a request on, where somebody wants to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct, field

from ctxtui.attach.early_answer import AsEvent
from ctxtui.attach.http1 import Head
from ctxtui.core.canonical import Json

Alive = Callable[[bytes, AsEvent, float], bool]
"""Says a ping to a client that waits for a stream, at a time (Unix seconds): its answer begins with it, and what goes
wrong from then on is told as an event, spelled by the function. Whether it could be said."""


class WaitingRequest(Struct, frozen=True, kw_only=True):
    """A request that is whole and has not left: `x` names the exchange, `body` is what it says, unpacked; `alive` tells
    its client that it is looked after (None: it cannot be told)."""

    x: str
    url: str
    head: Head
    body: bytes
    alive: Alive | None = None


class RequestVerdict(Struct, frozen=True, kw_only=True):
    """What becomes of it: it leaves as it is, with another `body`, or is answered with the bytes `answer` and never
    leaves. `told` goes on record: which edits were applied, which sleep, which were refused and why, who released it.
    """

    body: bytes | None = None
    answer: bytes | None = None
    told: Mapping[str, Json] = field(default_factory=dict)


class Gate(Protocol):
    """Decides about requests. A fault of it lets them pass as they are."""

    def wants(self, head: Head, url: str) -> bool:
        """Whether the request with this head has to be whole before it leaves. At once: every request waits for it."""

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """What becomes of the request."""
