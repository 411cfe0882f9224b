"""Converts exchanges with providers to calls of a session, with context and thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import COMPACTS, COUNTED, Call, Fidelity, Skeleton
from ctxtui.core.canonical import Json, dumps
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Event, Happened, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.conversations import ClientThread, Conversation, Conversations
from ctxtui.transcripts.kit.http_exchange.compaction import compaction_of
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import COUNTS, LABELS, Exchange, Sender, classify_side_call, parse_body
from ctxtui.wire.grammar import GOOGLE, split_item
from ctxtui.wire.key_mask import mask_url
from ctxtui.wire.registry import DIALECTS

Change = Callable[[Call], Call]
"""Adds recorded fields that are not part of the exchange to its call."""


class Exchanges:
    """Adds exchanges to the threads of one session.

    Also keeps what providers store (conversations, cached content), because later requests refer to it by id.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.threads = Conversations(tree)
        self._stored_items: dict[str, tuple[Item, ...]] = {}
        """Server-side items, by the name that a later request uses for them."""
        self._heads: dict[str, int] = {}
        """Context ends of answers and server-side conversations, by id."""
        self._session = ""
        self.other_requests: list[str] = []
        """Summaries of requests without a context that ctxtui decodes: lists of models, but also embeddings."""

    def add_exchange(self, exchange: Exchange, change: Change = lambda call: call) -> Iterator[Event]:
        """Yield the events of an exchange; one that cannot be decoded is skipped with the reason."""
        try:
            decoded = decode(exchange)
        except Malformed as error:
            yield Skipped(max(1, exchange.line), f"{exchange.summary}: {error}")
            return
        if decoded is None:
            self._store_server_items(exchange)
            self.other_requests.append(exchange.summary)
            yield Happened("other request", exchange.summary, at=exchange.started)
            return
        client = self._identify_client(decoded, exchange)
        yield from self.add_call(decoded, _base_call(exchange), client, exchange.sender.session, change)

    def add_call(
        self,
        decoded: Decoded,
        base: Call,
        client: ClientThread | None = None,
        session: str = "",
        change: Change = lambda call: call,
    ) -> list[Event]:
        """Add a decoded call and return its events.

        `base` holds the fields recorded outside the bodies; its id is used if the answer has none. `client` is the
        thread as `identify_thread` returns it, `session` the client's id of its session ("": unknown).
        """
        before, name = self._server_items(decoded)
        with_stored = with_server_items(decoded, before)
        call = _make_call(base, with_stored, bool(name) and name not in self._stored_items and name not in self._heads)
        thread = self._find_thread(with_stored, client, session)
        events = self.threads.add_request(with_stored.items, with_stored.response.items, change(call), thread)
        if events and self.threads.last is not None and decoded.dialect != GOOGLE:
            for id_ in filter(None, {decoded.response.id, name if "conversation" in decoded.params else ""}):
                self._heads[id_] = self.threads.last[1].response_head
        return events

    def pending_tips(self, exchange: Exchange) -> Iterator[TipMoved]:
        """Yield the tip of the thread of a request that is held, or whose answer is not complete."""
        try:
            decoded = decode(exchange)
        except Malformed:
            return
        if decoded is not None:
            with_stored = with_server_items(decoded, self._server_items(decoded)[0])
            thread = self._find_thread(with_stored, self._identify_client(decoded, exchange), exchange.sender.session)
            yield TipMoved(self.threads.thread_id(thread), self._tree.extend(ROOT, with_stored.items))

    def hold_warm_up(self, exchange: Exchange, id_: str) -> None:
        """Register a warm-up: a response made without a model, which later requests may continue."""
        try:
            decoded = decode(exchange)
        except Malformed:
            decoded = None
        items = decoded.items if decoded is not None else ()
        self._stored_items[id_] = tuple(item for item in items if item.place.section == "messages")

    def _server_items(self, decoded: Decoded) -> tuple[tuple[Item, ...], str]:
        """Return the server-side items before a request's own, and their id ("": none)."""
        params = decoded.params
        stored = params.get("conversation")
        name = as_str(params.get("previous_response_id")) or as_str(stored) or as_str(as_dict(stored).get("id"))
        name = name or as_str(params.get("cachedContent")) or as_str(params.get("cached_content"))
        if name not in self._heads:
            return self._stored_items.get(name, ()), name
        items = self._tree.items(self._heads[name])
        return tuple(item for item in items if item.place.section == "messages"), name

    def _find_thread(self, decoded: Decoded, client: ClientThread | None, session: str) -> Conversation:
        after = as_str(decoded.params.get("previous_response_id"))
        return self.threads.find(decoded.items, after, client, self._scope_of(session))

    def _scope_of(self, session: str) -> str:
        """Return `MAIN` for the first session and for an unknown one, else the session's id."""
        self._session = self._session or session
        return MAIN if session in ("", self._session) else session

    def _identify_client(self, decoded: Decoded, exchange: Exchange) -> ClientThread | None:
        sender = exchange.sender
        body = parse_body(exchange.request) if sender.has_known_side_calls else None
        return self.identify_thread(decoded, sender, exchange.path, body)

    def identify_thread(self, decoded: Decoded, sender: Sender, path: str, body: Json) -> ClientThread | None:
        """Return the thread of a request with this `body`, sent to `path`.

        It is a side thread (titles, token counts), or the one that the client names. None if it must be found by its
        content.
        """
        scope = self._scope_of(sender.session)
        aside = sender.aside or classify_side_call(path, body if sender.has_known_side_calls else None)
        if decoded.response.stop_reason == COUNTED:
            aside = COUNTS
        if aside in LABELS:
            return ClientThread(_scoped_thread(scope, aside), LABELS[aside], aside=True)
        if sender.thread:
            parent = _scoped_thread(scope, sender.parent) if sender.parent else ""
            return ClientThread(_scoped_thread(scope, sender.thread), sender.label, parent)
        return None

    def _store_server_items(self, exchange: Exchange) -> None:
        body, answer = as_dict(parse_body(exchange.request)), as_dict(parse_body(exchange.response))
        if exchange.path.endswith("/cachedContents") and as_str(answer.get("name")):
            full_body = {"contents": [], **body}
            self._stored_items[as_str(answer["name"])] = DIALECTS[GOOGLE].decode_request(dumps(full_body), None).items
        elif exchange.path.endswith("/conversations") and as_str(answer.get("id")):
            parts = [split_item(item, f"$.items[{n}]") for n, item in enumerate(as_list(body.get("items")))]
            self._stored_items[as_str(answer["id"])] = tuple(part.item for item in parts for part in item)


def _scoped_thread(scope: str, thread: str) -> str:
    if scope == MAIN:
        return thread
    return scope if thread == MAIN else f"{scope} · {thread}"


def with_server_items(decoded: Decoded, before: Sequence[Item]) -> Decoded:
    """Insert the items that the provider holds `before` the request's own messages."""
    sections = [item.place.section for item in decoded.items]
    first = sections.index("messages") if "messages" in sections else len(sections)
    skeleton = decoded.skeleton
    if before and skeleton is not None:
        skeleton = Skeleton(skeleton.dialect, {**skeleton.parts, "carried": [first, len(before)]})
    return decoded._replace(items=tuple(_order_items(decoded.items, before, first)), skeleton=skeleton)


def _order_items(items: Sequence[Item], before: Sequence[Item], first: int) -> list[Item]:
    """Order a request's items with the server's: tools, system, the server's messages, its own."""
    front_items = [item for item in before if item.place.section != "messages"]
    messages = [item for item in before if item.place.section == "messages"]
    heads = [*front_items, *items[:first]]
    tools = [item for item in heads if item.place.section == "tools"]
    return [*tools, *(item for item in heads if item.place.section != "tools"), *messages, *items[first:]]


def _base_call(exchange: Exchange) -> Call:
    call_extra = dict(exchange.extra)
    if exchange.url:
        call_extra["url"] = mask_url(exchange.url).partition("?")[0]
    if exchange.status not in (0, 200):
        call_extra["status"] = exchange.status
    return Call(
        "",
        "",
        provider=exchange.provider,
        started=exchange.started,
        first_byte=exchange.first_byte,
        ended=exchange.ended,
        fidelity=Fidelity.WIRE,
        line=exchange.line,
        extra=call_extra,
    )


def _make_call(base: Call, decoded: Decoded, tail_only: bool) -> Call:
    response = decoded.response
    call_extra: dict[str, Json] = {**response.extra, **base.extra}
    if (compaction := compaction_of(decoded.items)) is not None:
        call_extra[COMPACTS] = compaction.client
    if decoded.params and decoded.dialect not in DIALECTS and decoded.skeleton is None:
        call_extra["params"] = decoded.params
    if tail_only:
        # The context kept by the provider is not recorded.
        call_extra["tail_only"] = True
    return replace(
        base,
        id=response.id or base.id,
        model=response.model or decoded.model,
        fidelity=Fidelity.TRANSCRIPT if tail_only else base.fidelity,
        usage=response.usage,
        stop_reason=response.stop_reason,
        error=response.error or ("" if response.complete else "the answer breaks off"),
        skeleton=decoded.skeleton,
        extra=call_extra,
    )
