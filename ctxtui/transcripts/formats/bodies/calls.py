"""Bodies decoded: the context of a request, the answer to it, what is known of both.

An answer may be a body, an event stream, a bare message or an error.
"""

from __future__ import annotations

from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.transcripts.formats.bodies.pairs import Pair
from ctxtui.transcripts.formats.bodies.values import Text
from ctxtui.transcripts.kit.fields import moment, obj, word
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, counted
from ctxtui.transcripts.kit.http_exchange.pair import betas_in
from ctxtui.transcripts.kit.http_exchange.shapes import answer_dialect, dialect, is_answer, is_count, is_message
from ctxtui.wire import sse
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GRAMMARS, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_words

_PROVIDERS: Final = (("claude", "anthropic"), ("gpt-", "openai"), ("chatgpt", "openai"), ("deepseek", "deepseek"))
_HOMES: Final = {ANTHROPIC: "anthropic", RESPONSES: "openai", OLLAMA: "ollama"}


class BodyDecoder:
    """Decodes the bodies of one recording. `source` is the dialect where nothing else tells."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._memo = Memo()

    def decode(self, pair: Pair) -> Decoded:
        """The context in a record (of a request, of messages, or only what the answer repeats) and its answer. Raises
        `Malformed`."""
        if pair.request is not None:
            found = self._request(pair.request, pair.sent)
        elif pair.messages is None:
            found = self.opened(echoed(pair.answer))
        else:
            spoken = dialect(pair.messages, self._source)
            body = canonical.dumps({"input" if spoken == RESPONSES else "messages": pair.messages})
            items = codec.decode(body, GRAMMARS[spoken], self._memo).items
            found = Decoded(spoken, tuple(items), "", {}, Response())
        return found._replace(response=answer_of(pair.answer, found.dialect) or Response())

    def opened(self, items: list[Item]) -> Decoded:
        """A context that begins with `items` and goes on record by record."""
        return Decoded(self._source, tuple(items), "", {}, Response())

    def message(self, value: Json) -> list[Item]:
        """The items of one message on its own."""
        section = next(s for s in GRAMMARS[self._source].sections if s.name == "messages")
        return [part.item for part in section.split(value, "$")]

    def _request(self, text: Text, sent: bool) -> Decoded:
        value = text.value()
        if not isinstance(value, dict) or text.members is None:
            raise Malformed("a request must be an object", place="$")
        spoken = dialect(value, self._source)
        request = codec.decode_walked(text.text, text.members, 0, GRAMMARS[spoken], self._memo)
        model = word(value.get("model"))
        skeleton = request.skeleton if model and sent else None
        return Decoded(spoken, request.items, model, request.params, Response(), skeleton)


def known_of(pair: Pair, decoded: Decoded, text: Text) -> Call:
    """What the record `text` says of a call beside its bodies. Without an answer's id the same record is the same call.
    A request that names no model may not be all that was sent."""
    created = pair.answer.get("created", pair.answer.get("created_at")) if isinstance(pair.answer, dict) else None
    model = decoded.response.model or decoded.model
    provider = _HOMES.get(decoded.dialect) or next((name for head, name in _PROVIDERS if model.startswith(head)), "")
    return Call(
        "" if decoded.response.id else f"call-{canonical.digest(text.raw)[:16]}",
        "",
        provider=provider,
        started=pair.started or moment(created),
        ended=pair.ended,
        fidelity=Fidelity.WIRE if decoded.model else Fidelity.TRANSCRIPT,
        line=text.line,
        extra=betas_in(pair.headers),
    )


def echoed(answer: Json) -> list[Item]:
    """Tools and instructions that a Responses answer repeats from its request."""
    told = {key: answer[key] for key in ("instructions", "tools") if isinstance(answer, dict) and answer.get(key)}
    if not told:
        return []
    return list(codec.decode(canonical.dumps(told), GRAMMARS[RESPONSES]).items)


_PREFIXES: Final = (("response.", RESPONSES), ("message_", ANTHROPIC), ("content_block_", ANTHROPIC))


def answer_of(value: Json, dialect: str) -> Response | None:
    """The answer that `value` (a JSON value, or an event stream's text) is to a request in `dialect`; None for no
    answer at all. One that breaks off, or that no dialect reads, is kept as far as it goes."""
    if isinstance(value, str):
        return _streamed(value, dialect)
    if not isinstance(value, dict):
        return None
    if is_count(value):
        return counted(value)
    try:
        if is_answer(value):
            return DIALECTS[answer_dialect(value)].decode_response(value)
        if is_message(value):
            messages = next(s for s in GRAMMARS[dialect].sections if s.name == "messages")
            return Response(items=tuple(part.item for part in messages.split(value, "$")))
    except Malformed as error:
        return Response(error=str(error), complete=False, extra=dict(value))
    return Response(error=error_words(value), extra=dict(value)) if value.get("error") else None


def _streamed(text: str, dialect: str) -> Response | None:
    events = sse.parse(text.encode("utf-8", "surrogateescape"))
    reader = DIALECTS[_spoken(events) or dialect].stream_reader()
    reader.feed(events)
    try:
        return reader.response()
    except Malformed as error:
        return Response(error=str(error), complete=False)


def _spoken(events: list[sse.ServerEvent]) -> str:
    for event in events:
        value = obj(event.value())
        kind = word(value.get("type"))
        if "choices" in value:
            return CHAT
        for prefix, name in _PREFIXES:
            if kind.startswith(prefix):
                return name
    return ""
