"""Calls out of bodies: the request's context on the tree, the answer behind it, what is known of both.

An answer may be a body, an event stream, a bare message or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import COUNTED, Call, Fidelity, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.bodies.pairs import Pair
from ctxtui.transcripts.formats.bodies.shapes import answer_dialect, dialect, is_answer, is_count, is_message
from ctxtui.transcripts.formats.bodies.values import Text
from ctxtui.transcripts.kit.fields import moment, obj, word
from ctxtui.wire import sse
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammars import ANTHROPIC, CHAT, GRAMMARS, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_words

PREVIOUS: Final = "previous_response_id"
_PROVIDERS: Final = (("claude", "anthropic"), ("gpt-", "openai"), ("chatgpt", "openai"), ("deepseek", "deepseek"))
_HOMES: Final = {ANTHROPIC: "anthropic", RESPONSES: "openai", OLLAMA: "ollama"}


class CallContext(Struct, frozen=True, kw_only=True):
    """The context of a call: its `items`, and the `skeleton` where the request's own bytes are known. `whole` says
    that nothing of the request is missing, `name` is what an id can be made of, `previous` the response it goes on
    from."""

    dialect: str
    items: list[Item] = field(default_factory=list)
    skeleton: Skeleton | None = None
    model: str = ""
    whole: bool = False
    name: bytes = b""
    previous: str = ""


def provider_of(dialect: str, model: str) -> str:
    """Who answered, as far as the dialect and the model's name tell."""
    return _HOMES.get(dialect) or next((name for head, name in _PROVIDERS if model.startswith(head)), "")


class ContextMaker:
    """Makes the contexts of one recording's requests. `source` is the dialect where nothing else tells."""

    def __init__(self, tree: Tree, source: str) -> None:
        self._tree = tree
        self._source = source
        self._memo = Memo()
        self._heads: dict[str, int] = {}

    def asked(self, pair: Pair) -> CallContext:
        """The context in a record: a request, messages, or only what the answer repeats. Raises `Malformed`."""
        if pair.request is not None:
            return self._joined(self._request(pair.request, pair.exact))
        if pair.messages is None:
            return CallContext(dialect=self._source, items=echoed(pair.answer))
        spoken = dialect(pair.messages, self._source)
        body = canonical.dumps({"input" if spoken == RESPONSES else "messages": pair.messages})
        return CallContext(
            dialect=spoken, items=list(codec.decode(body, GRAMMARS[spoken], self._memo).items), name=body
        )

    def opened(self, items: list[Item], name: bytes) -> CallContext:
        """A context that begins with `items` and goes on record by record."""
        return CallContext(dialect=self._source, items=items, name=name)

    def message(self, value: Json) -> list[Item]:
        """The items of one message on its own."""
        section = next(s for s in GRAMMARS[self._source].sections if s.name == "messages")
        return [part.item for part in section.split(value, "$")]

    def answered(self, call: Call) -> None:
        """A call is known: later requests may go on where it ends."""
        self._heads.setdefault(call.id, call.response_head)

    def _request(self, text: Text, exact: bool) -> CallContext:
        value = text.value()
        if not isinstance(value, dict) or text.members is None:
            raise Malformed("a request must be an object", place="$")
        spoken = dialect(value, self._source)
        request = codec.decode_walked(text.text, text.members, 0, GRAMMARS[spoken], self._memo)
        model = word(value.get("model"))
        skeleton = request.skeleton if model and exact else None
        return CallContext(
            dialect=spoken,
            items=list(request.items),
            skeleton=skeleton,
            model=model,
            whole=bool(model),
            name=text.raw,
            previous=word(value.get(PREVIOUS)),
        )

    def _joined(self, asked: CallContext) -> CallContext:
        before = self._heads.get(asked.previous)
        if before is not None:
            return carried(asked, self._tree.items(before))
        # What the provider kept is not here.
        return replace(asked, whole=asked.whole and not asked.previous)


def carried(asked: CallContext, before: Sequence[Item]) -> CallContext:
    """A request that goes on where an earlier response ended: the provider keeps the messages `before`, while tools
    and instructions are this request's own (facts §4)."""
    front = [item for item in asked.items if item.place.section != "messages"]
    kept = [item for item in before if item.place.section == "messages"]
    skeleton = asked.skeleton
    if skeleton is not None and kept:
        skeleton = Skeleton(skeleton.dialect, {**skeleton.parts, "carried": [len(front), len(kept)]})
    return replace(asked, skeleton=skeleton, items=[*front, *kept, *asked.items[len(front) :]])


def echoed(answer: Json) -> list[Item]:
    """Tools and instructions that a Responses answer repeats from its request."""
    told = {key: answer[key] for key in ("instructions", "tools") if isinstance(answer, dict) and answer.get(key)}
    if not told:
        return []
    return list(codec.decode(canonical.dumps(told), GRAMMARS[RESPONSES]).items)


def call_of(tree: Tree, asked: CallContext, answer: Response | None, raw: Json) -> Call:
    """The call that `asked` made; `answer` is what came, read from the JSON `raw`. Thread and epoch are still open."""
    found = answer or Response()
    head = tree.extend(ROOT, asked.items)
    created = raw.get("created", raw.get("created_at")) if isinstance(raw, dict) else None
    model = found.model or asked.model
    return Call(
        id=found.id or _made_id(asked, found),
        thread="",
        raw_head=head,
        sent_head=head,
        response_head=tree.extend(head, found.items),
        provider=provider_of(asked.dialect, word(model)),
        model=model,
        started=moment(created),
        fidelity=Fidelity.WIRE if asked.whole else Fidelity.TRANSCRIPT,
        usage=found.usage,
        stop_reason=found.stop_reason,
        error=found.error or ("" if found.complete else "the answer breaks off"),
        skeleton=asked.skeleton,
        extra=found.extra,
    )


def _made_id(asked: CallContext, found: Response) -> str:
    evidence = [item.block.digest for item in found.items] or [found.error]
    return "call-" + canonical.digest(asked.name + canonical.dumps(evidence))[:16]


_PREFIXES: Final = (("response.", RESPONSES), ("message_", ANTHROPIC), ("content_block_", ANTHROPIC))


def answer_of(value: Json, dialect: str) -> Response | None:
    """The answer that `value` (a JSON value, or an event stream's text) is to a request in `dialect`; None for no
    answer at all. One that breaks off, or that no dialect reads, is kept as far as it goes."""
    if isinstance(value, str):
        return _streamed(value, dialect)
    if not isinstance(value, dict):
        return None
    if is_count(value):
        return Response(stop_reason=COUNTED)
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
