"""Exchanges put together to conversations: whose request goes on with whose, and what the server held for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart, Fidelity, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import MAIN, Event, Happened, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import listed, obj, word
from ctxtui.transcripts.kit.http_exchange import google
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value
from ctxtui.wire.grammars import split_item

OWN_WORDS: Final = re.compile(
    r"\s*(?:<(?:system-reminder|environment_context|user_instructions|permissions)|# AGENTS\.md)", re.IGNORECASE
)
"""How a text begins that a client says for itself in a person's place."""


class _Held(Struct):
    """What servers keep: items by the id that a later request names them with."""

    contexts: dict[str, tuple[Item, ...]] = field(default_factory=dict)

    def before(self, decoded: Decoded) -> tuple[tuple[Item, ...], str]:
        """The items that stand before a request's own, and the id that names them ("" where it names none)."""
        params = decoded.params
        talk = params.get("conversation")
        name = word(params.get("previous_response_id")) or word(talk) or word(obj(talk).get("id"))
        name = name or word(params.get("cachedContent")) or word(params.get("cached_content"))
        return self.contexts.get(name, ()), name


class LinePlace(Struct, frozen=True):
    """Which thread a request is of, and what that is called; `parent` is the thread that began it. What is asked
    `aside` is no line of context: each request there begins anew."""

    thread: str
    label: str = ""
    parent: str = ""
    aside: bool = False


class Conversations:
    """The threads of a recording of exchanges; requests that begin with the same words of a person are one thread."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._ids = Ids()
        self._held = _Held()
        self._threads: dict[str, Dialogue] = {}
        self._begun: dict[str, str] = {}
        """Thread -> the digest of the first thing that its last request has a person say."""
        self.other: list[str] = []
        """Requests that put nothing before a model, in words."""

    @property
    def title(self) -> str:
        """The first thing a person said."""
        return next((d.title for d in self._threads.values() if d.title), "")

    def take(self, exchange: Exchange, place: LinePlace | None = None) -> Iterator[Event]:
        """The events of one exchange; `place` is its thread, where the recording tells it."""
        try:
            decoded = decode(exchange)
        except Malformed as error:
            yield Skipped(max(1, exchange.line), f"{exchange.words}: {error}")
            return
        if decoded is None:
            self._keep(exchange)
            self.other.append(exchange.words)
            yield Happened("other request", exchange.words, at=exchange.started)
            return
        before, name = self._held.before(decoded)
        whole = with_held(decoded, before)
        items = whole.items
        dialogue = self._thread(items, place)
        head = self._tree.extend(ROOT, items)
        call = _call(exchange, whole, bool(name) and name not in self._held.contexts)
        if dialogue.calls == 0 and dialogue.thread != MAIN:
            known = place or LinePlace("")
            yield ThreadSeen(dialogue.thread, known.label or dialogue.title, known.parent)
        event = dialogue.answer(decoded.response.items, call, after=head)
        yield event
        self._remember(event.call, decoded, name)

    def waiting(self, exchange: Exchange, place: LinePlace | None = None) -> Iterator[Event]:
        """A request that has not left yet: where its thread now ends."""
        try:
            decoded = decode(exchange)
        except Malformed:
            return
        if decoded is not None:
            before, _ = self._held.before(decoded)
            items = with_held(decoded, before).items
            dialogue = self._thread(items, place)
            yield TipMoved(dialogue.thread, self._tree.extend(ROOT, items))

    def holds(self, id_: str) -> None:
        """A server has the response `id_` to go on with, and nothing stands before or in it."""
        self._held.contexts[id_] = ()

    def tips(self) -> Iterator[Event]:
        """Where each thread's record ends."""
        for dialogue in self._threads.values():
            yield dialogue.tip()

    def _thread(self, items: Sequence[Item], place: LinePlace | None) -> Dialogue:
        said = [i for i in items if i.place.section == "messages" and i.block.kind != HEADER and i.place.role == "user"]
        asked = next(iter(said), None)
        first = asked.block.digest if asked else ""
        key = f"thread {place.thread}" if place is not None else first
        if key in self._threads:
            if place is not None and not place.aside and first != self._begun[key]:
                # The client's own line of context begins with other words: it put a summary in its history's place.
                self._threads[key].restart(EpochStart.COMPACTION)
        else:
            name = place.thread if place is not None else ""
            name = name or self._new_name()
            dialogue = self._threads[key] = Dialogue(self._tree, name, self._ids)
            # Only to learn the title; the head is set by each call.
            spoken = next((i for i in said if not OWN_WORDS.match(read(i.block).text)), asked)
            dialogue.say([spoken] if spoken else [])
        self._begun[key] = first
        return self._threads[key]

    def _new_name(self) -> str:
        taken = {dialogue.thread for dialogue in self._threads.values()}
        return MAIN if MAIN not in taken else f"conversation {len(taken) + 1}"

    def _remember(self, call: Call, decoded: Decoded, name: str) -> None:
        if decoded.dialect == google.NAME:
            return
        context = tuple(i for i in self._tree.items(call.response_head) if i.place.section == "messages")
        for id_ in filter(None, {decoded.response.id, name if "conversation" in decoded.params else ""}):
            self._held.contexts[id_] = context

    def _keep(self, exchange: Exchange) -> None:
        """What is put into a server's keeping without a model reading it."""
        body, answer = obj(value(exchange.request)), obj(value(exchange.response))
        if exchange.path.endswith("/cachedContents") and word(answer.get("name")):
            self._held.contexts[word(answer["name"])] = tuple(google.request_items(body))
        elif exchange.path.endswith("/conversations") and word(answer.get("id")):
            parts = [split_item(item, f"$.items[{n}]") for n, item in enumerate(listed(body.get("items")))]
            self._held.contexts[word(answer["id"])] = tuple(part.item for some in parts for part in some)


def with_held(decoded: Decoded, before: Sequence[Item]) -> Decoded:
    """`decoded` with what its provider holds `before` the messages that it brings itself."""
    if not before:
        return decoded._replace(items=tuple(_ordered(decoded.items, before, _before_messages(decoded.items))))
    first, skeleton = _before_messages(decoded.items), decoded.skeleton
    if skeleton is not None:
        skeleton = Skeleton(skeleton.dialect, {**skeleton.parts, "carried": [first, len(before)]})
    return decoded._replace(items=tuple(_ordered(decoded.items, before, first)), skeleton=skeleton)


def _before_messages(items: Sequence[Item]) -> int:
    return next((n for n, item in enumerate(items) if item.place.section == "messages"), len(items))


def _ordered(items: Sequence[Item], before: Sequence[Item], first: int) -> list[Item]:
    """A request's items with what the server holds: tools and system first, then the held messages, then its own."""
    held = [item for item in before if item.place.section != "messages"]
    kept = [item for item in before if item.place.section == "messages"]
    heads = [*held, *items[:first]]
    tools = [item for item in heads if item.place.section == "tools"]
    return [*tools, *(item for item in heads if item.place.section != "tools"), *kept, *items[first:]]


def _call(exchange: Exchange, decoded: Decoded, tail_only: bool) -> Call:
    response = decoded.response
    extra: dict[str, Json] = {**response.extra, **exchange.extra}
    if exchange.url:
        extra["url"] = exchange.url.partition("?")[0]
    if exchange.status not in (0, 200):
        extra["status"] = exchange.status
    if decoded.skeleton is None and decoded.params:
        extra["params"] = decoded.params
    if tail_only:
        extra["tail_only"] = True
    return Call(
        response.id,
        "",
        provider=exchange.provider,
        model=response.model or decoded.model,
        started=exchange.started,
        first_byte=exchange.first_byte,
        ended=exchange.ended,
        fidelity=Fidelity.TRANSCRIPT if tail_only else Fidelity.WIRE,
        usage=response.usage,
        stop_reason=response.stop_reason,
        error=response.error or ("" if response.complete else "the answer breaks off"),
        skeleton=decoded.skeleton,
        line=exchange.line,
        extra=extra,
    )
