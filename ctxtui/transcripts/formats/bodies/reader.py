"""Plain bodies: requests, pairs of request and answer, answers, messages; one a file or many."""

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
from ctxtui.core.session import MAIN, Described, Event, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.bodies import pairs
from ctxtui.transcripts.formats.bodies.pairs import Pair
from ctxtui.transcripts.formats.bodies.values import BLANK, Margins, Text, ValueStream, decoded, encoded, walked
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.conversations import Conversation
from ctxtui.transcripts.kit.fields import moment, obj, word
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, counted
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import betas_in, sender_of
from ctxtui.transcripts.kit.http_exchange.shapes import (
    BodyShape,
    answer_dialect,
    dialect,
    is_answer,
    is_count,
    is_message,
    listed_messages,
    sort_of,
)
from ctxtui.transcripts.reader import Reader
from ctxtui.wire import sse
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GRAMMARS, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_text
from ctxtui.wire.translate.turns import tool_dialect

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
    return Response(error=error_text(value), extra=dict(value)) if value.get("error") else None


def _streamed(text: str, dialect: str) -> Response | None:
    events = sse.parse_stream(text.encode("utf-8", "surrogateescape"))
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


NO_CONTEXT: Final = "JSON that is no request, answer or message"


class BodiesReader(Reader):
    """Reads plain bodies of any dialect; `source` is the dialect that the file's head shows."""

    def __init__(self, tree: Tree, source: str) -> None:
        self._tree = tree
        self._source = source
        self._stream = ValueStream(is_record)
        self._decoder = BodyDecoder(source)
        self._exchanges = Exchanges(tree)
        self._threads = self._exchanges.threads
        self._margins = Margins()
        self._fed = b""
        self._values = 0
        self._lone: tuple[Conversation, Call] | None = None
        self._growing: tuple[Conversation, Call] | None = None
        self._title = ""
        self._mended = b""

    @property
    def tail(self) -> Skipped | None:
        rest = self._stream.rest
        return Skipped(rest.number, f"cut off: {len(rest.data):,} bytes without an end") if rest else None

    def feed(self, data: bytes) -> list[Event]:
        self._fed = data
        if self._values < 2:
            self._margins.feed(data)
        return [event for found in self._stream.feed(data) for event in self._take(found)]

    def settle(self) -> list[Event]:
        events = [event for found in self._stream.settle() for event in self._take(found)]
        rest = self._stream.rest
        if not self._values and rest is not None and rest.data != self._mended:
            self._mended = rest.data
            events += self._cut(decoded(rest.data))
        if self._lone is not None and rest is None and self._lone[1].skeleton is not None:
            talk, call = self._lone
            events += self._threads.update(talk, replace(call, skeleton=self._margins.around(self._lone[1].skeleton)))
        events += self._threads.settle()
        title = self._threads.title
        if title != self._title:
            self._title = title
            events.append(Described(title=title))
        return events

    def _take(self, found: Text | Skipped) -> Iterator[Event]:
        if isinstance(found, Skipped):
            yield found
            return
        if not self._values:
            yield self._described()
            self._margins.found(found.start, found.start + len(found.raw), self._fed)
        self._values += 1
        if self._lone is not None:
            # No longer the only value: what stands around it is no part of it.
            yield from self._threads.update(*self._lone)
            self._lone = None
        try:
            yield from self._value(found)
        except Malformed as error:
            yield Skipped(found.line, str(error))
        except RecursionError:
            yield Skipped(found.line, "JSON nested too deeply")

    def _described(self) -> Described:
        return Described(source=self._source.replace("_", " "))

    def _value(self, text: Text) -> Iterator[Event]:
        value = text.value()
        sort = sort_of(value)
        if sort == BodyShape.MESSAGE:
            yield from self._message(value, text)
            return
        self._growing = None
        if sort == BodyShape.ANSWER:
            yield from self._call(Pair(answer=value), text)
        elif sort == BodyShape.MESSAGES:
            yield from self._call(Pair(messages=listed_messages(value)), text)
        elif sort == BodyShape.REQUEST and not pairs.has_answer(value):
            yield from self._call(Pair(request=text, sent=True), text)
            self._lone = self._threads.last if self._values == 1 else None
        else:
            yield from self._other(text)

    def _other(self, text: Text) -> Iterator[Event]:
        pair = pairs.find(text)
        if pair is not None:
            yield from self._call(pair, text)
        elif text.items and any(isinstance(item.value, dict | list) for item in text.items):
            # A list of records, such as an export.
            for item in text.items:
                before = text.text[: item.start]
                line, start = text.line + before.count("\n"), text.start + len(encoded(before))
                yield from self._take(walked(text.text[item.start : item.end], line, start))
        else:
            yield Skipped(text.line, NO_CONTEXT)

    def _call(self, pair: Pair, text: Text) -> Iterator[Event]:
        decoded = self._decoder.decode(pair)
        place = (text.start, text.start + len(text.raw))
        sender = sender_of({name.lower(): value for name, value in pair.headers})
        client = self._exchanges.client(decoded, sender, pair.path, pair.request.value() if pair.request else None)
        known = replace(known_of(pair, decoded, text), bytes_=place)
        yield from self._exchanges.add(decoded, known, client, sender.session)

    def _message(self, value: Json, text: Text) -> Iterator[Event]:
        """Messages one a line are one context that grows."""
        items = self._decoder.message(value)
        if self._growing is None:
            decoded = self._decoder.opened(items)
            yield from self._exchanges.add(decoded, known_of(Pair(), decoded, text))
            self._growing = self._threads.last
            return
        talk, call = self._growing
        head = self._tree.extend(call.raw_head, items)
        self._growing = talk, replace(call, raw_head=head, sent_head=head, response_head=head)
        yield from self._threads.update(*self._growing)

    def _cut(self, text: str) -> Iterator[Event]:
        """A file of one body that breaks off: what came is a context, but no call that is known to be whole."""
        value = file_head.mend(text.lstrip(BLANK))
        if sort_of(value) not in (BodyShape.REQUEST, BodyShape.MESSAGES):
            return
        try:
            body = walked(canonical.dump_text(value))
            pair = Pair(request=body) if isinstance(value, dict) else Pair(messages=value)
            items = self._decoder.decode(pair).items
        except (Malformed, RecursionError):
            return
        yield self._described()
        yield TipMoved(MAIN, self._tree.extend(ROOT, items))


def is_record(text: str) -> bool:
    """Whether a line's text is a record by itself, and no part of one that is written over many lines."""
    try:
        found = walked(text)
        record = sort_of(found.value()) in (BodyShape.REQUEST, BodyShape.ANSWER) or pairs.find(found) is not None
    except (Malformed, RecursionError):
        return False
    return record and not text[len(found.text) :].strip()


NAMES: Final = {ANTHROPIC: "anthropic", CHAT: "openai chat", RESPONSES: "openai responses"}
"""The format's name of each dialect."""


_SURE: Final = {BodyShape.REQUEST: 0.85, BodyShape.ANSWER: 0.8, BodyShape.MESSAGES: 0.6, BodyShape.MESSAGE: 0.55}
_PAIR: Final = 0.8
_LOG: Final = 0.7
_OTHERS: Final = frozenset({"kwargs", "backing_model"})
_LOOKED_AT: Final = 8
_SURE_OF_TOOLS: Final = 0.5
_TALK: Final = frozenset({"messages", "input", "contents", "prompt"})
"""Members under which a request's conversation stands."""
_BEFORE_SYSTEM: Final = frozenset({"system", "max_tokens", "stream", "temperature", "metadata", "thinking"})
_BEFORE_INPUT: Final = frozenset({"input", "model", "instructions", "stream", "store", "temperature", "metadata"})
"""Members that may stand with a long text before anything else tells that it is a request's."""
_DEFINES: Final = frozenset({"input_schema", "parameters", "function", "custom"})
"""Members of which a tool's definition has one."""


def sniff_as(name: str, head: bytes, file_name: str) -> float:
    """How sure the format of dialect `name` is of a head."""
    spoken, sure = _told(head[: file_head.HEAD_BYTES])
    return sure if spoken == name else 0.0


def open_as(name: str, tree: Tree) -> BodiesReader:
    """A reader of a file whose head speaks dialect `name`."""
    return BodiesReader(tree, name)


@lru_cache(maxsize=4)
def _told(head: bytes) -> tuple[str, float]:
    """The dialect of a head and how sure that is; three formats ask in turn."""
    found = file_head.values(head)[:_LOOKED_AT]
    lists = [value for value in found if isinstance(value, list) and sort_of(value) == BodyShape.OTHER]
    found += [item for value in lists for item in value[:_LOOKED_AT]]
    best = _begun(found[-1]) if found and len(head) >= file_head.HEAD_BYTES else ("", 0.0)
    lines = [value for value in found if sort_of(value) == BodyShape.MESSAGE]
    for value in found:
        try:
            spoken, sure = _one(value, lines)
        except (Malformed, RecursionError):
            continue
        if sure > best[1]:
            best = spoken, sure
    return best


def _begun(value: Json) -> tuple[str, float]:
    """What a request that is longer than the head says before its messages: a long system prompt, many tools. A pair
    is told by its request."""
    if not isinstance(value, dict):
        return "", 0.0
    if isinstance(value.get("request"), dict) and "response" not in value:
        return _begun(value["request"])
    if isinstance(value.get("input"), str) and value.keys() <= _BEFORE_INPUT:
        # The text itself is what is long; what comes behind it tells whether it is an embedding's.
        return RESPONSES, _SURE_OF_TOOLS
    if value.keys() & _TALK:
        return "", 0.0
    tools = value.get("tools")
    defined = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    # The last one may be cut.
    if defined and all(tool.keys() & _DEFINES for tool in defined[:-1]):
        if defined[:-1] or defined[0].keys() & _DEFINES:
            return tool_dialect(defined[0]), _SURE_OF_TOOLS
        if isinstance(defined[0].get("description"), str) and "name" in defined[0]:
            return (RESPONSES if "type" in defined[0] else ANTHROPIC), _SURE_OF_TOOLS
    if isinstance(value.get("system"), str | list) and ("model" in value or value.keys() <= _BEFORE_SYSTEM):
        return ANTHROPIC, _SURE_OF_TOOLS
    return (RESPONSES, _SURE_OF_TOOLS) if isinstance(value.get("instructions"), str) and "model" in value else ("", 0.0)


def _one(value: Json, lines: list[Json]) -> tuple[str, float]:
    sort = sort_of(value)
    sure = _SURE.get(sort, 0.0)
    if sort == BodyShape.REQUEST and value.keys() & _OTHERS:
        # A gateway's own log, which has a reader that knows the rest of it too.
        sure = _LOG
    match sort:
        case BodyShape.REQUEST:
            return dialect(value), sure
        case BodyShape.ANSWER:
            return answer_dialect(value), sure
        case BodyShape.MESSAGES:
            return dialect(listed_messages(value)), sure
        case BodyShape.MESSAGE:
            return dialect(lines), sure
    pair = pairs.find(_text(value)) if isinstance(value, dict) else None
    if pair is None:
        return "", 0.0
    if pair.request is not None:
        return dialect(pair.request.value()), _PAIR
    if pair.messages is not None:
        return dialect(pair.messages), _PAIR
    return (answer_dialect(pair.answer) if isinstance(pair.answer, dict) else CHAT), _PAIR


def _text(value: Json) -> Text:
    return walked(canonical.dump_text(value))
