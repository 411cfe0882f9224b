"""Reads the bytes of an answer as they arrive, and makes the `Call` of its request."""

from __future__ import annotations

from msgspec import Struct, field

from ctxtui.agent.conversation import Draft
from ctxtui.core.call import Call, Epoch, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.wire.request import Response
from ctxtui.wire.sse import EventParser
from ctxtui.wire.stream import Delta, StreamReader


class AnswerReader(Struct):
    """Reads the answer to `draft` from bytes, split anywhere, and makes its call.

    `own_id` is the call's id if the provider gives none, or one of `used_ids`. Times are Unix seconds.
    """

    draft: Draft
    reader: StreamReader
    thread: str
    provider: str
    model: str
    own_id: str
    started: float
    epoch: Epoch = field(default_factory=Epoch)
    attempt: int = 1
    first_byte: float | None = None
    used_ids: frozenset[str] = frozenset()
    parser: EventParser = field(default_factory=EventParser)

    def feed(self, data: bytes, at: float) -> tuple[Delta, ...]:
        """Read bytes of the answer; returns what they add to it."""
        if self.first_byte is None:
            self.first_byte = at
        return tuple(self.reader.feed(self.parser.feed(data)))

    def close(self) -> tuple[Delta, ...]:
        return tuple(self.reader.feed(self.parser.close()))

    @property
    def response(self) -> Response:
        """The answer so far."""
        return self.reader.response()

    def make_call(self, response: Response, head: int, ended: float | None = None, error: str = "") -> Call:
        """The call as known now, with the context `head` after it; `error` replaces the answer's."""
        extra: dict[str, Json] = dict(response.extra)
        if self.attempt > 1:
            extra["attempt"] = self.attempt
        id_ = response.id if response.id and response.id not in self.used_ids else self.own_id
        return Call(
            id=id_,
            thread=self.thread,
            raw_head=self.draft.raw_head,
            sent_head=self.draft.sent_head,
            response_head=head,
            provider=self.provider,
            model=response.model or self.model,
            started=self.started,
            first_byte=self.first_byte,
            ended=ended,
            fidelity=Fidelity.WIRE,
            epoch=self.epoch,
            usage=response.usage,
            stop_reason=response.stop_reason,
            error=error or response.error,
            skeleton=self.draft.skeleton,
            extra=extra,
        )
