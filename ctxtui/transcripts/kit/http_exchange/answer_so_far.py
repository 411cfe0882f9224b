"""An answer that is still coming in, as far as it came: its blocks and their words."""

from __future__ import annotations

from msgspec import Struct, field

from ctxtui.core.errors import Malformed
from ctxtui.transcripts.kit.fields import obj
from ctxtui.transcripts.kit.http_exchange.decode import dialect_of
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import EventParser
from ctxtui.wire.stream import StreamReader


class AnswerSoFar(Struct):
    """The answer to one request. `feed` takes more of its stream; what is no stream of a known API says nothing until
    it is whole."""

    _reader: StreamReader | None
    _parser: EventParser = field(default_factory=EventParser)
    _blocks: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    @classmethod
    def to(cls, exchange: Exchange) -> AnswerSoFar:
        """The answer to this request, of which nothing came yet."""
        dialect = dialect_of(exchange, obj(value(exchange.request)))
        known = DIALECTS.get(dialect)
        return cls(known.stream_reader() if known is not None else None)

    def feed(self, data: bytes) -> None:
        """More of it."""
        if self._reader is None:
            return
        try:
            deltas = self._reader.feed(self._parser.feed(data))
        except Malformed:
            self._reader = None  # the call tells what is wrong with it
            return
        for block, kind, text in deltas:
            self._blocks.setdefault(block, (kind, []))[1].append(text)

    @property
    def blocks(self) -> tuple[tuple[str, str], ...]:
        """Its blocks by kind and text."""
        return tuple((kind, "".join(texts)) for _, (kind, texts) in sorted(self._blocks.items()))
