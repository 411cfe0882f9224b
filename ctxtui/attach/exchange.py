"""One request passing a relay, and its answer. No IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from ctxtui.attach import http1
from ctxtui.attach.early_answer import EarlyAnswer
from ctxtui.attach.exchange_events import ExchangeEnded, ExchangeEvent, RequestBegun, RequestBytes, RequestDecided
from ctxtui.attach.gate import AnswerVerdict, DecideAnswer, KeepAlive, RequestVerdict, WaitingAnswer, WaitingRequest
from ctxtui.attach.http1 import BodyReader, Head
from ctxtui.attach.upstream import Upstream
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY_BYTES
from ctxtui.wire.unpacking import make_unpacker

GONE: Final = "the client went away"
CUT: Final = "the provider's connection broke off"


class HeldAnswer(Struct):
    """An answer kept for a decision: `raw` with its head, `content` without chunk framing."""

    decide: DecideAnswer
    raw: list[bytes] = field(default_factory=list)
    content: list[bytes] = field(default_factory=list)
    size: int = 0
    completed: float | None = None
    """Time of its last byte (Unix seconds); None until then."""
    connection_ended: bool = False


class Exchange(Struct, kw_only=True):
    """A request that passes a relay.

    `x` is its name. `target` is the path and query that the provider gets, `client_target` what the client sent.
    """

    x: str
    tell: Callable[[ExchangeEvent], None]
    upstream: Upstream
    head: Head
    method: str
    target: str
    client_target: str
    body: BodyReader
    gated: bool = False
    """Whether the request is held until it is complete and the gate has decided about it."""
    deciding: bool = False
    """Whether the gate is deciding about it."""
    connected: bool = False
    """Whether `Connection.open` has connected, or kept an earlier connection, for it."""
    waiting: list[bytes] = field(default_factory=list)
    """Data for the provider until it is connected."""
    gated_content: list[bytes] = field(default_factory=list)
    """The body of a gated request, without chunk framing."""
    size: int = 0
    """Bytes of `gated_content`."""
    skipped_gate: bool = False
    """Whether it skipped the gate because it is too large."""
    head_count: int = 0
    """Heads of the answer so far, interim ones too."""
    ended: bool = False
    answer: BodyReader | None = None
    """The body of the answer, once its head has arrived."""
    answer_head: Head | None = None
    early: EarlyAnswer | None = None
    """The answer that was begun before the provider's, so that the client does not give up."""
    held_answer: HeldAnswer | None = None
    """None if the answer is passed on as it arrives."""

    @property
    def url(self) -> str:
        return f"{self.upstream.origin}{self.target}"

    @property
    def is_answer_complete(self) -> bool:
        """Whether a complete answer waits for its decision."""
        return self.held_answer is not None and self.held_answer.completed is not None

    @property
    def is_too_large(self) -> bool:
        """Whether its body is too large to be held."""
        return max(self.body.length or 0, self.size) > MAX_BODY_BYTES

    def let_pass(self) -> None:
        """Queue it for the provider without the gate, because it is too large to hold."""
        self.gated, self.skipped_gate = False, True
        self.waiting.insert(0, self.head_bytes())
        self.gated_content.clear()

    def report_body(self, content: bytes, at: float) -> None:
        """Report more of the request's body; at its end also that it skipped the gate, if it did."""
        self.tell(RequestBytes(self.x, content, self.body.done))
        if self.skipped_gate and self.body.done:
            self.tell(RequestDecided(self.x, at, None, {"refused": {"": f"larger than {MAX_BODY_BYTES >> 20} MiB"}}))

    def begin(self, at: float) -> None:
        self.tell(RequestBegun(exchange_id=self.x, at=at, method=self.method, url=self.url, fields=self.head.fields))

    def end(self, at: float, error: str = "") -> None:
        """Report its end, once."""
        if not self.ended:
            self.ended = True
            self.tell(ExchangeEnded(self.x, at, error))

    def split_body(self, data: bytes) -> tuple[bytes, bytes, bytes]:
        """Split `data` into its body's bytes, the rest, and the body's content. Raises `Malformed`."""
        length, content = self.body.feed(data)
        if self.gated:
            self.gated_content.append(content)
            self.size += len(content)
        return (data, b"", content) if length == len(data) else (data[:length], data[length:], content)

    def to_waiting_request(self, alive: KeepAlive | None) -> WaitingRequest:
        body = _unpack(self.head, self.gated_content)
        return WaitingRequest(x=self.x, url=self.url, head=self.head, body=body, keep_alive=alive, can_hold_answer=True)

    def to_waiting_answer(self, alive: KeepAlive | None) -> WaitingAnswer:
        assert self.held_answer is not None and self.answer_head is not None
        return WaitingAnswer(body=_unpack(self.answer_head, self.held_answer.content), keep_alive=alive)

    def hold_answer_data(self, data: bytes, content: bytes) -> None:
        assert self.held_answer is not None
        self.held_answer.raw.append(data)
        self.held_answer.content.append(content)
        self.held_answer.size += len(data)

    def encode_held_data(self) -> bytes:
        """The bytes for the client from the held part of an incomplete answer. Raises `Malformed`."""
        assert self.held_answer is not None
        if self.early is None or self.answer_head is None:
            return b"".join(self.held_answer.raw)
        return self.early.add_provider_data(b"".join(self.held_answer.content))

    def encode_answer(self, verdict: AnswerVerdict) -> bytes:
        """The bytes for the client from the held answer, as decided. Raises `Malformed`."""
        assert self.held_answer is not None and self.answer_head is not None
        early = self.early
        if verdict.refusal is not None:
            if early is None:
                return verdict.refusal
            head, end, content = verdict.refusal.partition(http1.END)
            return early.end_with_error(http1.status_of(http1.read_head(head + end)), content)
        if verdict.body is not None:
            if early is None:
                return http1.with_length(self.answer_head.raw, len(verdict.body)) + verdict.body
            return early.end_with_stream(verdict.body)
        if early is None:
            return b"".join(self.held_answer.raw)
        early.begin_provider_answer(http1.status_of(self.answer_head), self.answer_head)
        return early.add_provider_data(b"".join(self.held_answer.content)) + early.end()

    def apply_verdict(self, verdict: RequestVerdict, at: float) -> None:
        """Report a verdict, and queue the request or the verdict's body for the provider."""
        if verdict.report or verdict.body is not None:
            self.tell(RequestDecided(self.x, at, verdict.body, verdict.report))
        if verdict.body is not None:
            self.waiting = [http1.with_length(self.head_bytes(), len(verdict.body)), verdict.body]
        else:
            self.waiting.insert(0, self.head_bytes())
        if verdict.answer is None and verdict.decide_answer is not None:
            self.held_answer = HeldAnswer(verdict.decide_answer)

    def head_bytes(self) -> bytes:
        """Its head for the provider."""
        head = http1.with_field(self.head, "host", self.upstream.host_header)
        return http1.with_target(head, self.client_target, self.target) if self.client_target != self.target else head

    @property
    def may_continue(self) -> bool:
        """Whether another request may follow on the same connection."""
        if self.early is not None or self.answer is None or self.answer_head is None:
            return False
        # Answered before the request was complete: its rest would be read as the next request.
        if self.answer.length is None or not self.body.done or not http1.has_sure_length(self.answer_head):
            return False
        return http1.keeps_open(self.answer_head) and http1.keeps_open(self.head)


def _unpack(head: Head, body: list[bytes]) -> bytes:
    """The body after `head`, decompressed.

    Empty if that is impossible, so that nothing in it is changed.
    """
    try:
        return make_unpacker(head.get("content-encoding")).feed(b"".join(body))
    except Malformed:
        return b""


def fault_record(error: Exception) -> dict[str, Json]:
    """The record of a request or an answer passed on unchanged because of a fault of ctxtui."""
    return {"refused": {"": f"a fault in ctxtui: {type(error).__name__}: {error}"}}
