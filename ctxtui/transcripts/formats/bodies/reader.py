"""Reads plain JSON of model APIs: requests, pairs of request and answer, answers, messages.

Messages that are one a line are one growing conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.core.session import MAIN, Described, Event, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.bodies import pairs
from ctxtui.transcripts.formats.bodies.pairs import Pair
from ctxtui.transcripts.formats.bodies.values import BLANK, JsonText, Margins, ValueStream, to_json_text, walk_value
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.conversations import Conversation
from ctxtui.transcripts.kit.fields import as_time
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, asked_model, count_response
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import identify_sender, read_betas
from ctxtui.transcripts.kit.http_exchange.shapes import (
    BodyShape,
    answer_dialect,
    classify,
    detect_dialect,
    is_answer,
    is_count,
    is_message,
    list_messages,
)
from ctxtui.transcripts.kit.records import decode_text, encode_text
from ctxtui.transcripts.reader import Reader
from ctxtui.wire import sse
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, GRAMMARS, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_text
from ctxtui.wire.translate.turns import tool_dialect

_PROVIDERS: Final = (("claude", "anthropic"), ("gpt-", "openai"), ("chatgpt", "openai"), ("deepseek", "deepseek"))
"""Providers by the start of a model's name, for dialects of several providers."""
_HOMES: Final = {ANTHROPIC: "anthropic", RESPONSES: "openai", GOOGLE: "google"}
"""Provider of each dialect that has one."""


class _BodyDecoder:
    """Decodes bodies; `source` is the dialect of those that do not show their own."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._memo = Memo()

    def decode(self, pair: Pair) -> Decoded:
        """Decode the context in a record and its answer; raises `Malformed`.

        The context comes from a request, from messages, or only from the parts that the answer echoes.
        """
        if pair.request is not None:
            decoded = self._decode_request(pair.request, pair.sent, pair.path)
        elif pair.messages is None:
            decoded = self.start_context(_echoed_items(pair.answer))
        else:
            dialect = detect_dialect(pair.messages, self._source)
            body = canonical.dumps({"input" if dialect == RESPONSES else "messages": pair.messages})
            items = codec.decode(body, GRAMMARS[dialect], self._memo).items
            decoded = Decoded(dialect, tuple(items), "", {}, Response())
        return decoded._replace(response=decode_answer(pair.answer, decoded.dialect) or Response())

    def start_context(self, items: list[Item]) -> Decoded:
        return Decoded(self._source, tuple(items), "", {}, Response())

    def message(self, value: Json) -> list[Item]:
        section = next(s for s in GRAMMARS[self._source].sections if s.name == "messages")
        return [part.item for part in section.split(value, "$")]

    def _decode_request(self, text: JsonText, sent: bool, path: str) -> Decoded:
        value = text.value()
        if not isinstance(value, dict) or text.members is None:
            raise Malformed("a request must be an object", place="$")
        dialect = detect_dialect(value, self._source)
        request = codec.decode_walked(text.text, text.members, 0, GRAMMARS[dialect], self._memo)
        # A request to Google names its model in the URL.
        model = asked_model(path, value)
        skeleton = request.skeleton if (model or dialect == GOOGLE) and sent else None
        return Decoded(dialect, request.items, model, request.params, Response(), skeleton)


def _base_call(pair: Pair, decoded: Decoded, text: JsonText) -> Call:
    """Build a call from the fields of the record `text` outside its bodies.

    Without an answer's id, equal records are the same call. The fidelity of an answer alone, and of a request without a
    model, which may be incomplete, is that of a transcript.
    """
    created = pair.answer.get("created", pair.answer.get("created_at")) if isinstance(pair.answer, dict) else None
    model = decoded.response.model or decoded.model
    provider = _HOMES.get(decoded.dialect) or next((name for head, name in _PROVIDERS if model.startswith(head)), "")
    return Call(
        "" if decoded.response.id else f"call-{canonical.digest(text.raw)[:16]}",
        "",
        provider=provider,
        started=pair.started or as_time(created),
        ended=pair.ended,
        fidelity=Fidelity.WIRE
        if pair.request and (decoded.model or decoded.dialect == GOOGLE)
        else Fidelity.TRANSCRIPT,
        line=text.line,
        extra=read_betas(pair.headers),
    )


def _echoed_items(answer: Json) -> list[Item]:
    """Decode tools and instructions that a Responses answer repeats from its request."""
    members = {key: answer[key] for key in ("instructions", "tools") if isinstance(answer, dict) and answer.get(key)}
    if not members:
        return []
    return list(codec.decode(canonical.dumps(members), GRAMMARS[RESPONSES]).items)


_PREFIXES: Final = (("response.", RESPONSES), ("message_", ANTHROPIC), ("content_block_", ANTHROPIC))


def decode_answer(value: Json, dialect: str) -> Response | None:
    """Decode `value` as an answer to a request in `dialect`; None if it is not an answer.

    `value` is JSON, or the text of an event stream.
    """
    if isinstance(value, str):
        return _decode_stream(value, dialect)
    if not isinstance(value, dict):
        return None
    if is_count(value):
        return count_response(value)
    try:
        if is_answer(value):
            return DIALECTS[answer_dialect(value)].decode_response(value)
        if is_message(value):
            messages = next(s for s in GRAMMARS[dialect].sections if s.name == "messages")
            return Response(items=tuple(part.item for part in messages.split(value, "$")))
    except Malformed as error:
        return Response(error=str(error), complete=False, extra=dict(value))
    return Response(error=error_text(value), extra=dict(value)) if value.get("error") else None


def _decode_stream(text: str, dialect: str) -> Response | None:
    events = sse.parse_stream(text.encode("utf-8", "surrogateescape"))
    reader = DIALECTS[_stream_dialect(events) or dialect].stream_reader()
    reader.feed(events)
    try:
        return reader.response()
    except Malformed as error:
        return Response(error=str(error), complete=False)


def _stream_dialect(events: list[sse.ServerEvent]) -> str:
    for event in events:
        value = as_dict(event.value())
        kind = as_str(value.get("type"))
        if "candidates" in value:
            return GOOGLE
        if "choices" in value:
            return CHAT
        for prefix, name in _PREFIXES:
            if kind.startswith(prefix):
                return name
    return ""


_NO_CONTEXT: Final = "JSON that is not a request, an answer or a message"


class BodiesReader(Reader):
    """Reads plain bodies of any dialect; `source` is the dialect detected from the file's head."""

    def __init__(self, tree: Tree, source: str) -> None:
        self._tree = tree
        self._source = source
        self._stream = ValueStream(_is_record)
        self._decoder = _BodyDecoder(source)
        self._exchanges = Exchanges(tree)
        self._threads = self._exchanges.threads
        self._margins = Margins()
        self._fed = b""
        self._values = 0
        self._only_call: tuple[Conversation, Call] | None = None
        """The call of a request that is the file's only value so far."""
        self._growing: tuple[Conversation, Call] | None = None
        """The call whose context grows by messages that are one a line."""
        self._title = ""
        self._last_incomplete = b""

    @property
    def tail(self) -> Skipped | None:
        incomplete = self._stream.rest
        if incomplete is None:
            return None
        return Skipped(incomplete.number, f"cut off: {len(incomplete.data):,} bytes without an end")

    def feed(self, data: bytes) -> list[Event]:
        self._fed = data
        if self._values < 2:
            self._margins.feed(data)
        return [event for piece in self._stream.feed(data) for event in self._handle_piece(piece)]

    def settle(self) -> list[Event]:
        events = [event for piece in self._stream.settle() for event in self._handle_piece(piece)]
        incomplete = self._stream.rest
        if not self._values and incomplete is not None and incomplete.data != self._last_incomplete:
            self._last_incomplete = incomplete.data
            events += self._add_incomplete_body(decode_text(incomplete.data))
        if self._only_call is not None and incomplete is None and self._only_call[1].skeleton is not None:
            conversation, call = self._only_call
            events += self._threads.update(
                conversation, replace(call, skeleton=self._margins.add_to(self._only_call[1].skeleton))
            )
        events += self._threads.settle()
        title = self._threads.title
        if title != self._title:
            self._title = title
            events.append(Described(title=title))
        return events

    def _handle_piece(self, piece: JsonText | Skipped) -> Iterator[Event]:
        if isinstance(piece, Skipped):
            yield piece
            return
        if not self._values:
            yield self._describe()
            self._margins.set_value(piece.start, piece.start + len(piece.raw), self._fed)
        self._values += 1
        if self._only_call is not None:
            # No longer the only value, so the text around it is not part of it.
            yield from self._threads.update(*self._only_call)
            self._only_call = None
        try:
            yield from self._handle_value(piece)
        except Malformed as error:
            yield Skipped(piece.line, str(error))
        except RecursionError:
            yield Skipped(piece.line, "JSON nested too deeply")

    def _describe(self) -> Described:
        return Described(source=self._source.replace("_", " "))

    def _handle_value(self, text: JsonText) -> Iterator[Event]:
        value = text.value()
        shape = classify(value)
        if shape == BodyShape.MESSAGE:
            yield from self._add_message(value, text)
            return
        self._growing = None
        if shape == BodyShape.ANSWER:
            yield from self._add_call(Pair(answer=value), text)
        elif shape == BodyShape.MESSAGES:
            yield from self._add_call(Pair(messages=list_messages(value)), text)
        elif shape == BodyShape.REQUEST and not pairs.has_answer(value):
            yield from self._add_call(Pair(request=text, sent=True), text)
            self._only_call = self._threads.last if self._values == 1 else None
        else:
            yield from self._find_call(text)

    def _find_call(self, text: JsonText) -> Iterator[Event]:
        pair = pairs.find_pair(text)
        if pair is not None:
            yield from self._add_call(pair, text)
        elif text.items and any(isinstance(item.value, dict | list) for item in text.items):
            # A list of records, such as an export.
            for item in text.items:
                before = text.text[: item.start]
                line, start = text.line + before.count("\n"), text.start + len(encode_text(before))
                yield from self._handle_piece(walk_value(text.text[item.start : item.end], line, start))
        else:
            yield Skipped(text.line, _NO_CONTEXT)

    def _add_call(self, pair: Pair, text: JsonText) -> Iterator[Event]:
        decoded = self._decoder.decode(pair)
        place = (text.start, text.start + len(text.raw))
        sender = identify_sender({name.lower(): value for name, value in pair.headers})
        client = self._exchanges.identify_thread(
            decoded, sender, pair.path, pair.request.value() if pair.request else None
        )
        call = replace(_base_call(pair, decoded, text), bytes_=place)
        yield from self._exchanges.add_call(decoded, call, client, sender.session)

    def _add_message(self, value: Json, text: JsonText) -> Iterator[Event]:
        items = self._decoder.message(value)
        if self._growing is None:
            decoded = self._decoder.start_context(items)
            yield from self._exchanges.add_call(decoded, _base_call(Pair(), decoded, text))
            self._growing = self._threads.last
            return
        conversation, call = self._growing
        head = self._tree.extend(call.raw_head, items)
        self._growing = conversation, replace(call, raw_head=head, sent_head=head, response_head=head)
        yield from self._threads.update(*self._growing)

    def _add_incomplete_body(self, text: str) -> Iterator[Event]:
        """Read an incomplete file of one body: a context, but not a complete call."""
        value = file_head.repair_json(text.lstrip(BLANK))
        if classify(value) not in (BodyShape.REQUEST, BodyShape.MESSAGES):
            return
        try:
            pair = Pair(request=to_json_text(value)) if isinstance(value, dict) else Pair(messages=value)
            items = self._decoder.decode(pair).items
        except (Malformed, RecursionError):
            return
        yield self._describe()
        yield TipMoved(MAIN, self._tree.extend(ROOT, items))


def _is_record(text: str) -> bool:
    """Whether a line's text is a record by itself, not part of one that spans many lines."""
    try:
        walked = walk_value(text)
        record = (
            classify(walked.value()) in (BodyShape.REQUEST, BodyShape.ANSWER) or pairs.find_pair(walked) is not None
        )
    except (Malformed, RecursionError):
        return False
    return record and not text[len(walked.text) :].strip()


_SHAPE_CONFIDENCES: Final = {
    BodyShape.REQUEST: 0.85,
    BodyShape.ANSWER: 0.8,
    BodyShape.MESSAGES: 0.6,
    BodyShape.MESSAGE: 0.55,
}
"""Confidence in a file whose head has this shape."""
_PAIR_CONFIDENCE: Final = 0.8
"""Confidence in a file whose records hold requests or answers."""
_LOG_CONFIDENCE: Final = 0.7
"""Confidence in a gateway's log."""
_LOG_KEYS: Final = frozenset({"kwargs", "backing_model"})
"""Members of a gateway's log, which `request_log` reads better."""
_MAX_EXAMINED: Final = 8
"""Values in a head, and items of a list there, that are examined."""
_CUT_REQUEST_CONFIDENCE: Final = 0.5
"""Confidence in a request that the head cuts before its messages."""
_CONVERSATION_KEYS: Final = frozenset({"messages", "input", "contents", "prompt"})
_BEFORE_SYSTEM: Final = frozenset({"system", "max_tokens", "stream", "temperature", "metadata", "thinking"})
_BEFORE_INPUT: Final = frozenset({"input", "model", "instructions", "stream", "store", "temperature", "metadata"})
"""Members that may accompany a long text before other evidence of a request."""
_DEFINITION_KEYS: Final = frozenset({"input_schema", "parameters", "function", "custom"})


def sniff_as(name: str, head: bytes, file_name: str) -> float:
    """Return the confidence that a file with this head has bodies of the dialect `name`."""
    dialect, confidence = _detect(head[: file_head.HEAD_BYTES])
    return confidence if dialect == name else 0.0


def open_as(name: str, tree: Tree) -> BodiesReader:
    return BodiesReader(tree, name)


@lru_cache(maxsize=4)
def _detect(head: bytes) -> tuple[str, float]:
    values = file_head.parse_values(head)[:_MAX_EXAMINED]
    lists = [value for value in values if isinstance(value, list) and classify(value) == BodyShape.OTHER]
    values += [item for value in lists for item in value[:_MAX_EXAMINED]]
    best = _detect_cut(values[-1]) if values and len(head) >= file_head.HEAD_BYTES else ("", 0.0)
    lines = [value for value in values if classify(value) == BodyShape.MESSAGE]
    for value in values:
        try:
            dialect, confidence = _detect_value(value, lines)
        except (Malformed, RecursionError):
            continue
        if confidence > best[1]:
            best = dialect, confidence
    return best


def _detect_cut(value: Json) -> tuple[str, float]:
    """Detect a request that the head cuts before its messages."""
    if not isinstance(value, dict):
        return "", 0.0
    if isinstance(value.get("request"), dict) and "response" not in value:
        return _detect_cut(value["request"])
    if isinstance(value.get("input"), str) and value.keys() <= _BEFORE_INPUT:
        # The text itself is long; only later members would identify an embedding request.
        return RESPONSES, _CUT_REQUEST_CONFIDENCE
    if value.keys() & _CONVERSATION_KEYS:
        return "", 0.0
    tools = value.get("tools")
    defined = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    # The last one may be cut.
    if defined and all(tool.keys() & _DEFINITION_KEYS for tool in defined[:-1]):
        if defined[:-1] or defined[0].keys() & _DEFINITION_KEYS:
            return tool_dialect(defined[0]), _CUT_REQUEST_CONFIDENCE
        if isinstance(defined[0].get("description"), str) and "name" in defined[0]:
            return (RESPONSES if "type" in defined[0] else ANTHROPIC), _CUT_REQUEST_CONFIDENCE
    if isinstance(value.get("system"), str | list) and ("model" in value or value.keys() <= _BEFORE_SYSTEM):
        return ANTHROPIC, _CUT_REQUEST_CONFIDENCE
    has_instructions = isinstance(value.get("instructions"), str) and "model" in value
    return (RESPONSES, _CUT_REQUEST_CONFIDENCE) if has_instructions else ("", 0.0)


def _detect_value(value: Json, lines: list[Json]) -> tuple[str, float]:
    shape = classify(value)
    confidence = _SHAPE_CONFIDENCES.get(shape, 0.0)
    if shape == BodyShape.REQUEST and value.keys() & _LOG_KEYS:
        # A gateway's own log, whose reader knows its other members too.
        confidence = _LOG_CONFIDENCE
    match shape:
        case BodyShape.REQUEST:
            return detect_dialect(value), confidence
        case BodyShape.ANSWER:
            return answer_dialect(value), confidence
        case BodyShape.MESSAGES:
            return detect_dialect(list_messages(value)), confidence
        case BodyShape.MESSAGE:
            return detect_dialect(lines), confidence
    pair = pairs.find_pair(to_json_text(value)) if isinstance(value, dict) else None
    if pair is None:
        return "", 0.0
    if pair.request is not None:
        return detect_dialect(pair.request.value()), _PAIR_CONFIDENCE
    if pair.messages is not None:
        return detect_dialect(pair.messages), _PAIR_CONFIDENCE
    return (answer_dialect(pair.answer) if isinstance(pair.answer, dict) else CHAT), _PAIR_CONFIDENCE
