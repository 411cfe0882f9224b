"""Sort the calls of a recording into threads by which request continues which, for any recorder.

The client's own data comes first: the thread of a request, the answer that it follows. Without it, a request continues
the conversation with the same tools and system texts that shares the longest prefix of messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.call import Call, Epoch, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.fields import completed, one_line
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, to_part

CLIENT_TEXT: Final = re.compile(
    r"\s*(?:<(?:system-reminder|environment_context|user_instructions|permissions)|# AGENTS\.md)", re.IGNORECASE
)
"""How a text begins that a client writes for itself in a person's place."""
LABEL: Final = 60
"""Characters of a thread's first text that make its label."""
_SYSTEM: Final = frozenset({"system", "developer"})
_PROVIDER_ID: Final = 12
"""Characters from which the id of a tool call is one that a provider made, and no other conversation has."""
_QUOTE: Final = 40
"""Characters from which a text that stands in another one was taken from there."""
_NOTHING: Final = ("", "", "")


class ClientThread(Struct, frozen=True):
    """The thread of a request as named by its recording: its id, label, and the id of the parent thread.

    `aside`: side requests, each of which begins a new context. `may_lead`: may become the main thread if it has
    most calls.
    """

    name: str
    label: str = ""
    parent: str = ""
    aside: bool = False
    may_lead: bool = False


class Conversation(Struct, kw_only=True, eq=False):
    """One thread: the digests of the tools and system texts (`front`) and messages (`said`) of its last request, its
    calls in order, and the event that announced it."""

    scope: str
    number: int
    client: ClientThread | None
    title: str = ""
    front: tuple[str, ...] = ()
    said: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    tip: int = ROOT
    restart: tuple[EpochStart, str] | None = None
    """Why its next call begins a new epoch, and the detail of that."""
    announced: ThreadSeen | None = None

    @property
    def may_lead(self) -> bool:
        """Whether it can be the main thread of its scope."""
        client = self.client
        return client is None or client.name == self.scope or (client.may_lead and not client.parent)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key for the main thread; the greatest leads."""
        return self.client is not None and self.client.name == self.scope, len(self.calls), -self.number


class Conversations:
    """The threads of one recording.

    `scope` names the main thread of requests that are sorted separately (a sample, another session): the
    conversation with most calls leads, the first among equals. `calls` are all calls by id.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.calls: dict[str, Call] = {}
        self._all: list[Conversation] = []
        self._scopes: dict[str, list[Conversation]] = {}
        self._leads: dict[str, Conversation] = {}
        """Those whose threads are told as their scope's main one."""
        self._best: dict[str, Conversation] = {}
        """Those that will be from the next `settle` on."""
        self._named: dict[str, Conversation] = {}
        self._settled = 0
        """How many of them there were then."""
        self._by_first: dict[tuple[str, str], list[Conversation]] = {}
        self._homes: dict[str, Conversation] = {}
        self.last: tuple[Conversation, Call] | None = None
        """The call that was added last, and its conversation."""

    @property
    def title(self) -> str:
        """The first text of a person, preferably in the main thread."""
        lead = self._leads.get(MAIN)
        return next((one.title for one in [*([lead] if lead else []), *self._all] if one.title), "")

    def name(self, conversation: Conversation) -> str:
        """Return the id of a conversation's thread."""
        scope, client = conversation.scope, conversation.client
        if conversation is self._leads.get(scope):
            return scope
        if client is not None:
            return client.name
        return f"thread-{conversation.number}" if scope == MAIN else f"{scope} · {conversation.number}"

    def take(
        self, items: Sequence[Item], answer: Sequence[Item], known: Call, conversation: Conversation
    ) -> list[Event]:
        """Add the call of a request with `items` and its `answer`; `known` holds its other fields."""
        head = self._tree.extend(ROOT, items)
        sent, after = known.sent_head or head, self._tree.extend(head, answer)
        return self.add(conversation, replace(known, raw_head=head, sent_head=sent, response_head=after))

    def find(
        self, items: Sequence[Item], after: str = "", client: ClientThread | None = None, scope: str = MAIN
    ) -> Conversation:
        """Find the conversation that a request with `items` continues, or start a new one.

        `after` is the id of the answer that the request says it follows ("": none).
        """
        front, said = _digests(items)
        found = self._homes.get(after)
        if found is None and client is not None:
            found = self._named.get(client.name)
            if found is None:
                found = self._named[client.name] = self._begin(items, scope, client)
            elif not client.aside and said[:1] != found.said[:1]:
                # The client's own thread begins with other words: it put a summary in its history's place.
                found.restart = found.restart or (EpochStart.COMPACTION, "")
        elif found is None:
            alike = self._by_first.setdefault((scope, said[0] if said else ""), [])
            found = self._sharing(alike, items, front, said)
            if found is None:
                found = self._caller(items, scope) or self._summed_up(items, front) or self._begin(items, scope, None)
                alike.append(found)
        found.front, found.said = front, said
        return found

    def _begin(self, items: Sequence[Item], scope: str, client: ClientThread | None) -> Conversation:
        own = self._scopes.setdefault(scope, [])
        made = Conversation(scope=scope, number=len(own) + 1, client=client, title=_title(items))
        own.append(made)
        self._all.append(made)
        if made.may_lead:
            self._leads.setdefault(scope, made)
            self._rank(made)
        return made

    def _rank(self, one: Conversation) -> None:
        """Make a conversation the leader of its scope if it ranks highest: named so by the client, else most calls."""
        if one.may_lead and one.rank >= self._best.setdefault(one.scope, one).rank:
            self._best[one.scope] = one

    def _sharing(
        self, alike: Sequence[Conversation], items: Sequence[Item], front: tuple[str, ...], said: Sequence[str]
    ) -> Conversation | None:
        """Find the conversation, of those with the same first message, that shares most with a request.

        It must share everything before the messages, else most messages, or all messages and the answer to them.
        """
        best, most = None, (-1, False)
        for one in alike:
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.said, said, strict=False)))
            here = shared, one.front == front
            goes_on = one.front == front or shared >= max(2, len(one.said) // 2)
            if here > most and (goes_on or self._answered(one, items, said, shared)):
                best, most = one, here
        return best

    def _last_answer(self, conversation: Conversation) -> list[Block]:
        """List the blocks of a conversation's last answer."""
        if not conversation.calls:
            return []
        last, tree = self.calls[conversation.calls[-1]], self._tree
        if not tree.holds(last.response_head, last.raw_head):
            return []
        nodes = tree.path(last.response_head, last.raw_head)
        return [tree[node].block for node in nodes if tree[node].block.kind != HEADER]

    def _answered(self, one: Conversation, items: Sequence[Item], said: Sequence[str], shared: int) -> bool:
        """Whether a request contains all messages of the last one and then its answer, in any spelling."""
        if shared < len(one.said) or len(said) == shared:
            return False
        next_ = next(item.block for item in items if item.block.digest == said[shared])
        return _text(next_) in {_text(block) for block in self._last_answer(one)} - {_NOTHING}

    def _caller(self, items: Sequence[Item], scope: str) -> Conversation | None:
        """Find the conversation whose last answer made a tool call in this request, by the provider's id of the call.

        Its first message may have changed since (its images were removed).
        """
        ids = {id_ for item in items if (id_ := _call_id(item.block))}
        for one in reversed(self._scopes.get(scope, ())) if ids else ():
            if one.client is None and not ids.isdisjoint(map(_call_id, self._last_answer(one))):
                return one
        return None

    def _summed_up(self, items: Sequence[Item], front: tuple[str, ...]) -> Conversation | None:
        """Find the conversation that a request continues after a compaction by the client.

        The previous call forced a certain tool, and the request begins with text from that tool's arguments, under
        the same front or without the tools added for it: agents replace their history with a summary in this way.
        """
        asked = next((i.block for i in items if i.place.role == "user" and i.block.kind != HEADER), None)
        if self.last is None or asked is None or not front or not set(front) <= set(self.last[0].front):
            return None
        one, call = self.last
        words = read(asked).text if _forced(call) else ""
        if not any(text in words for block in self._last_answer(one) for text in _arguments(block)):
            return None
        one.restart = EpochStart.COMPACTION, ""
        return one

    def add(self, conversation: Conversation, call: Call) -> list[Event]:
        """Add a call to `conversation`; emitted once, however often it is recorded."""
        call = self._with_id(conversation, call)
        if call.id in self.calls:
            return []
        news: list[Event] = []
        before = self.calls[conversation.calls[-1]] if conversation.calls else None
        if before is None:
            news += self._announce(conversation)
        else:
            news += self._resent(before, call)
        call = replace(call, thread=self.name(conversation), epoch=_epoch(before, call, conversation.restart))
        conversation.restart = None
        self.calls[call.id] = call
        self._homes[call.id] = conversation
        conversation.calls.append(call.id)
        self._rank(conversation)
        conversation.tip = call.response_head
        self.last = conversation, call
        return [*news, CallSeen(call), TipMoved(call.thread, conversation.tip)]

    def _with_id(self, conversation: Conversation, call: Call) -> Call:
        """Give `call` a unique id, unless it repeats the call that has its id.

        Mock providers answer every request with one id.
        """
        wanted = call.id or self._made_id(call)
        id_, number = wanted, 1
        while (known := self.calls.get(id_)) is not None:
            lacking = ROOT in (self._asked(known), self._asked(call))
            same = self._homes[id_].scope == conversation.scope and (lacking or known.raw_head == call.raw_head)
            if call.id and same:
                break
            number += 1
            id_ = f"{wanted}~{number}"
        return replace(call, id=id_)

    def _asked(self, call: Call) -> int:
        """Node at which the messages of the request end; `ROOT` if they are not recorded."""
        return call.raw_head if self._tree[call.raw_head].place.section == "messages" else ROOT

    def _made_id(self, call: Call) -> str:
        """Derive an id from the content of a call that has none, so that it has the same id in two files."""
        used = call.usage
        figures: list[Json] = [used.fresh, used.cache_read, used.cache_write, used.output] if used else []
        blocks: list[Json] = [i.block.digest for i in self._tree.items(call.response_head) if i.block.kind != HEADER]
        evidence = [call.started or call.ended, call.model, call.error, *figures, *blocks]
        return "call-" + canonical.digest(canonical.dumps(evidence))[:16]

    def update(self, conversation: Conversation, call: Call) -> list[Event]:
        """Replace a call with a more complete version."""
        call = replace(call, thread=self.name(conversation), epoch=self.calls[call.id].epoch)
        if self.calls[call.id] == call:
            return []
        self.calls[call.id] = call
        conversation.tip = call.response_head
        return [CallSeen(call), TipMoved(call.thread, conversation.tip)]

    def settle(self) -> list[Event]:
        if self._leads == self._best and self._settled == len(self._named):
            return []
        self._leads, self._settled = dict(self._best), len(self._named)
        return [event for one in self._all if one.announced is not None for event in self._announce(one)]

    def events(self) -> Iterator[Event]:
        """Yield events for the current state of all conversations."""
        self.settle()
        yield from (one.announced for one in self._all if one.announced is not None)
        yield from map(CallSeen, self.calls.values())
        yield from self.tips()

    def tips(self) -> Iterator[TipMoved]:
        """Yield the tip of each thread."""
        return (TipMoved(self.name(one), one.tip) for one in self._all if one.calls)

    def _announce(self, one: Conversation) -> list[Event]:
        """Emit changes of a conversation's thread; after a rename, its calls are emitted again."""
        name, client = self.name(one), one.client or ClientThread("")
        label = client.label or ("" if name == one.scope else one.title[:LABEL])
        outer = self._named.get(client.parent)
        parent = client.parent if outer is None else self.name(outer)
        seen, before = ThreadSeen(name, label, "" if parent == name else parent), one.announced
        if seen == before:
            return []
        one.announced = seen
        if before is None or before.id == name:
            return [seen]
        for id_ in one.calls:
            self.calls[id_] = replace(self.calls[id_], thread=name)
        return [seen, *(CallSeen(self.calls[id_]) for id_ in one.calls), TipMoved(name, one.tip)]

    def _resent(self, before: Call, call: Call) -> list[Event]:
        """Move the previous call's answer to the nodes at which the client sent it back, so that the context includes
        it.
        """
        tree = self._tree
        if tree.holds(call.raw_head, before.response_head) or not tree.holds(call.raw_head, before.raw_head):
            return []
        answer = [n for n in tree.path(before.response_head, before.raw_head) if tree[n].block.kind != HEADER]
        sent = [n for n in tree.path(call.raw_head, before.raw_head) if tree[n].block.kind != HEADER]
        if not answer or list(map(tree.digest, answer)) != list(map(tree.digest, sent[: len(answer)])):
            return []
        self.calls[before.id] = replace(before, response_head=sent[len(answer) - 1])
        return [CallSeen(self.calls[before.id])]


def _digests(items: Sequence[Item]) -> tuple[tuple[str, ...], list[str]]:
    """Digest a request's tools and system texts, and its messages from the first that the client did not insert.

    Headers do not count: clients spell one message now as string, now as list (facts §12).
    """
    front = [item.block.digest for item in items if item.place.section != "messages"]
    talk = [item for item in items if item.place.section == "messages" and item.block.kind != HEADER]
    lead = list(takewhile(lambda item: item.place.role in _SYSTEM, talk))
    said = list(dropwhile(_by_client, talk[len(lead) :])) or talk[len(lead) :]
    return (*front, *(item.block.digest for item in lead)), [item.block.digest for item in said]


def _by_client(item: Item) -> bool:
    """Whether the client inserted this text in a user message."""
    return item.place.role == "user" and CLIENT_TEXT.match(read(item.block).text) is not None


def _title(items: Sequence[Item]) -> str:
    """First text of a person in a request."""
    asked = [i for i in items if i.place.section == "messages" and i.place.role == "user" and i.block.kind != HEADER]
    texts = (one_line(read(item.block).text) for item in [*dropwhile(_by_client, asked), *asked[:1]])
    return next(filter(None, texts), "")


def _call_id(block: Block) -> str:
    """The provider's id if the block is a tool call, else ""."""
    if block.kind == HEADER or (part := to_part(block)).category != CALL:
        return ""
    return part.id if len(part.id) >= _PROVIDER_ID else ""


def _forced(call: Call) -> bool:
    """Whether the client forced the model to use a certain tool."""
    choice = Request((), call.skeleton).params.get("tool_choice") if call.skeleton is not None else None
    return isinstance(choice, dict) and choice.get("type") in ("tool", "function")


def _arguments(block: Block) -> Iterator[str]:
    """Yield the longer texts in the arguments of a tool call."""
    if to_part(block).category != CALL:
        return
    waiting: list[Json] = [arguments_value(read(block))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and len(value) >= _QUOTE:
            yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _text(block: Block) -> tuple[str, str, str]:
    """Content of a block without ids and other dialect-specific members."""
    content = read(block)
    return content.text, content.name, content.arguments


def _epoch(before: Call | None, call: Call, restart: tuple[EpochStart, str] | None) -> Epoch:
    if before is None:
        return Epoch()
    if restart is None and before.model and call.model and before.model != call.model:
        restart = EpochStart.MODEL, f"{before.model} → {call.model}"
    if restart is None:
        return before.epoch
    epoch = Epoch(before.epoch.number + 1, *restart)
    return completed(epoch, call.usage.input if call.usage is not None else 0)
