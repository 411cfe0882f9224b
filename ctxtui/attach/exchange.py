"""One request on its way through a relay, and its answer: what is known of it while it goes by. No IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ctxtui.attach import http1
from ctxtui.attach.early_answer import EarlyAnswer
from ctxtui.attach.gate import Alive, RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import BodyReader, Head
from ctxtui.attach.news import ExchangeEnded, ExchangeEvent, RequestBegun, RequestBytes, RequestSent
from ctxtui.attach.upstream import Upstream
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY
from ctxtui.wire.unpacking import make_unpacker

if TYPE_CHECKING:
    pass

GONE: Final = "the client went away"
CUT: Final = "the provider's connection broke off"


class Exchange(Struct, kw_only=True):
    """A request, from its head on. `x` names it, `target` is told to the provider, `tell` hears of it."""

    x: str
    tell: Callable[[ExchangeEvent], None]
    upstream: Upstream
    head: Head
    method: str
    target: str
    asked: str
    """The target as the client wrote it."""
    body: BodyReader
    gated: bool = False
    """Whether it has to be whole before it leaves."""
    deciding: bool = False
    connected: bool = False
    waiting: list[bytes] = field(default_factory=list)
    """What is for the provider once it is connected; of a gated one the whole body."""
    said: list[bytes] = field(default_factory=list)
    """What a gated body says, unpacked from its chunks."""
    size: int = 0
    """Bytes of that."""
    unread: bool = False
    """Whether the gate would have been asked about it, were it not too large."""
    heads: int = 0
    """Heads that the provider has sent."""
    ended: bool = False
    answer: BodyReader | None = None
    """The body of the answer, once its head is there."""
    answer_head: Head | None = None
    early: EarlyAnswer | None = None
    """What the client is told already, where it would have given up."""

    @property
    def url(self) -> str:
        """Whom it asks, and for what."""
        return f"{self.upstream.origin}{self.target}"

    @property
    def is_whole(self) -> bool:
        """Whether all of its body has come."""
        return self.body.done

    @property
    def is_too_large(self) -> bool:
        """Whether its body is more than can be kept until it is whole."""
        return max(self.body.length or 0, self.size) > MAX_BODY

    def let_pass(self) -> None:
        """Do not wait until it is whole."""
        self.gated, self.unread = False, True
        self.waiting.insert(0, self.head_bytes())
        self.said.clear()

    def tell_body(self, said: bytes, at: float) -> None:
        """Tell of more of its body."""
        self.tell(RequestBytes(self.x, said, self.body.done))
        if self.unread and self.body.done:
            self.tell(RequestSent(self.x, at, None, {"refused": {"": f"larger than {MAX_BODY >> 20} MiB"}}))

    def begin(self, at: float) -> None:
        """Tell of its head."""
        self.tell(RequestBegun(x=self.x, at=at, method=self.method, url=self.url, fields=self.head.fields))

    def end(self, at: float, error: str = "") -> None:
        """Tell that it is over, once."""
        if not self.ended:
            self.ended = True
            self.tell(ExchangeEnded(self.x, at, error))

    def taken(self, data: bytes) -> tuple[bytes, bytes, bytes]:
        """Take what belongs to its body: that, the rest, and what it says. Raises `Malformed`."""
        taken, said = self.body.feed(data)
        if self.gated:
            self.said.append(said)
            self.size += len(said)
        return (data, b"", said) if taken == len(data) else (data[:taken], data[taken:], said)

    def whole(self, alive: Alive | None) -> WaitingRequest:
        """A gated one as the gate is asked about it; `alive` says a ping to its client."""
        try:
            body = make_unpacker(self.head.get("content-encoding")).feed(b"".join(self.said))
        except Malformed:
            # Nothing is known of it, so nothing is changed in it.
            body = b""
        return WaitingRequest(x=self.x, url=self.url, head=self.head, body=body, alive=alive)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """What leaves: its own bytes, or others in their place."""
        if verdict.told or verdict.body is not None:
            self.tell(RequestSent(self.x, at, verdict.body, verdict.told))
        if verdict.body is not None:
            self.waiting = [http1.with_length(self.head_bytes(), len(verdict.body)), verdict.body]
        else:
            self.waiting.insert(0, self.head_bytes())

    def undecided(self, error: Exception, at: float) -> None:
        """The gate has a fault: the request's own bytes leave."""
        self.tell(RequestSent(self.x, at, None, passed(error)))
        self.waiting.insert(0, self.head_bytes())

    def head_bytes(self) -> bytes:
        """Its head as the provider is told it."""
        head = http1.with_field(self.head, "host", self.upstream.host_header)
        return http1.with_target(head, self.asked, self.target) if self.asked != self.target else head

    @property
    def goes_on(self) -> bool:
        """Whether another one may follow on the same connection."""
        if self.early is not None or self.answer is None or self.answer_head is None:
            return False
        # Answered before it was asked to the end: what is left of it cannot be told from what follows.
        if self.answer.length is None or not self.body.done or not http1.is_sure(self.answer_head):
            return False
        return http1.keeps_open(self.answer_head) and http1.keeps_open(self.head)


def passed(error: Exception) -> dict[str, Json]:
    """What is told of a request that leaves as it is because of a fault of ctxtui's."""
    return {"refused": {"": f"a fault in ctxtui: {type(error).__name__}: {error}"}}
