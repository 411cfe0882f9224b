"""Sorts the calls of a recording into threads, by which request continues which.

Thread ids that the client recorded decide first, then the messages that a request shares with earlier ones.
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
from ctxtui.core.call import COMPACTS, Call, Epoch, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.fields import complete_epoch, one_line
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, to_part

CLIENT_TEXT: Final = re.compile(
    r"\s*(?:<(?:system-reminder|session_context|environment_context|user_instructions|permissions)|# AGENTS\.md)",
    re.IGNORECASE,
)
_LABEL_CHARS: Final = 60
_SYSTEM: Final = frozenset({"system", "developer"})
_MIN_PROVIDER_ID_CHARS: Final = 12
"""Minimum characters of a tool call's id to be a provider's: those are unique."""
_MIN_QUOTE_CHARS: Final = 40
"""Minimum characters for a text within another to count as quoted."""
_NOTHING: Final = ("", "", "")


class ClientThread(Struct, frozen=True):
    """The thread of a request as named by its recording.

    `aside`: its requests do not continue each other. `may_lead`: it may become the main thread if it has no `parent`.
    """

    name: str
    label: str = ""
    parent: str = ""
    aside: bool = False
    may_lead: bool = False


class Conversation(Struct, kw_only=True, eq=False):
    """One thread: its calls in order, and the event that announced it.

    `number` counts the conversations of a `scope` (see `Conversations`) from 1. `front` and `messages` are digests of
    its last request, as `_digest_request` returns them.
    """

    scope: str
    number: int
    client: ClientThread | None
    title: str = ""
    front: tuple[str, ...] = ()
    messages: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    tip: int = ROOT
    restart: tuple[EpochStart, str] | None = None
    """Reason and detail if its next call begins a new epoch."""
    announced: ThreadSeen | None = None

    @property
    def may_lead(self) -> bool:
        """Whether it may be the main thread."""
        client = self.client
        return client is None or client.name == self.scope or (client.may_lead and not client.parent)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Precedence as the main thread: named so by the client, then most calls, then oldest."""
        return self.client is not None and self.client.name == self.scope, len(self.calls), -self.number


class Conversations:
    """The threads of one recording.

    A `scope` is the name of the main thread of requests that are sorted separately (a sample, another session). Its
    main thread is the first conversation that may lead; at `settle` it becomes the one that the client named so, else
    the one with most calls. `calls` are all calls by id.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.calls: dict[str, Call] = {}
        self._all: list[Conversation] = []
        self._scopes: dict[str, list[Conversation]] = {}
        self._leads: dict[str, Conversation] = {}
        """The present main thread, by scope."""
        self._best: dict[str, Conversation] = {}
        """The main thread from the next `settle` on, by scope."""
        self._named: dict[str, Conversation] = {}
        """Conversations that the client names, by that name."""
        self._settled = 0
        self._by_first: dict[tuple[str, str], list[Conversation]] = {}
        """Conversations that the client does not name, by scope and digest of a first message."""
        self._homes: dict[str, Conversation] = {}
        """Call id -> its conversation."""
        self.last: tuple[Conversation, Call] | None = None
        """The latest call and its conversation."""

    @property
    def title(self) -> str:
        """The first user text, preferably of the main thread; "" if there is none.

        A text that the client inserted counts only if a thread has no other.
        """
        lead = self._leads.get(MAIN)
        return next(
            (conversation.title for conversation in [*([lead] if lead else []), *self._all] if conversation.title), ""
        )

    def thread_id(self, conversation: Conversation) -> str:
        scope, client = conversation.scope, conversation.client
        if conversation is self._leads.get(scope):
            return scope
        if client is not None:
            return client.name
        return f"thread-{conversation.number}" if scope == MAIN else f"{scope} · {conversation.number}"

    def add_request(
        self, items: Sequence[Item], answer: Sequence[Item], base: Call, conversation: Conversation
    ) -> list[Event]:
        head = self._tree.extend(ROOT, items)
        sent_head, head_after = base.sent_head or head, self._tree.extend(head, answer)
        return self.add_call(conversation, replace(base, raw_head=head, sent_head=sent_head, response_head=head_after))

    def find(
        self, items: Sequence[Item], after: str = "", client: ClientThread | None = None, scope: str = MAIN
    ) -> Conversation:
        """Find the conversation that a request with `items` continues, or start a new one.

        `after` is the id of the call that the request says it follows ("": none), `client` the thread that the
        recording names (None: it names none). Without both, the content decides.
        """
        front, messages = _digest_request(items)
        conversation = self._homes.get(after)
        if conversation is None and client is not None:
            conversation = self._named.get(client.name)
            if conversation is None:
                conversation = self._named[client.name] = self._begin_conversation(items, scope, client)
            elif not client.aside and (
                messages[:1] != conversation.messages[:1] or self._was_compacted(conversation, messages)
            ):
                # A summary replaced its history.
                conversation.restart = conversation.restart or (EpochStart.COMPACTION, "")
        elif conversation is None:
            alike = self._by_first.setdefault((scope, messages[0] if messages else ""), [])
            conversation = self._find_longest_match(alike, items, front, messages)
            if conversation is None:
                conversation = (
                    self._find_by_tool_call(items, scope)
                    or self._find_compacted(items, front, scope)
                    or self._begin_conversation(items, scope, None)
                )
                alike.append(conversation)
        conversation.front, conversation.messages = front, messages
        return conversation

    def _was_compacted(self, conversation: Conversation, messages: Sequence[str]) -> bool:
        last = self.calls[conversation.calls[-1]] if conversation.calls else None
        if last is None or COMPACTS not in last.extra:
            return False
        history = list(conversation.messages[:-1])
        return messages[: len(history)] != history

    def _begin_conversation(self, items: Sequence[Item], scope: str, client: ClientThread | None) -> Conversation:
        scope_conversations = self._scopes.setdefault(scope, [])
        conversation = Conversation(
            scope=scope, number=len(scope_conversations) + 1, client=client, title=_find_title(items)
        )
        scope_conversations.append(conversation)
        self._all.append(conversation)
        if conversation.may_lead:
            self._leads.setdefault(scope, conversation)
            self._update_leader(conversation)
        return conversation

    def _update_leader(self, conversation: Conversation) -> None:
        if conversation.may_lead and conversation.rank >= self._best.setdefault(conversation.scope, conversation).rank:
            self._best[conversation.scope] = conversation

    def _find_longest_match(
        self, alike: Sequence[Conversation], items: Sequence[Item], front: tuple[str, ...], messages: Sequence[str]
    ) -> Conversation | None:
        """Find the conversation of `alike` that shares most messages with a request. None if none fits.

        A conversation fits if the request has the same tools and system texts, or repeats half of the blocks of its
        last request (at least two), or repeats all of them, followed by a block of its last answer.
        """
        best, most = None, (-1, False)
        for candidate in alike:
            shared = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(candidate.messages, messages, strict=False))
            )
            rank = shared, candidate.front == front
            continues = candidate.front == front or shared >= max(2, len(candidate.messages) // 2)
            if rank > most and (continues or self._includes_answer(candidate, items, messages, shared)):
                best, most = candidate, rank
        return best

    def _last_answer(self, conversation: Conversation) -> list[Block]:
        if not conversation.calls:
            return []
        last, tree = self.calls[conversation.calls[-1]], self._tree
        if not tree.holds(last.response_head, last.raw_head):
            return []
        nodes = tree.path(last.response_head, last.raw_head)
        return [tree[node].block for node in nodes if tree[node].block.kind != HEADER]

    def _includes_answer(
        self, conversation: Conversation, items: Sequence[Item], messages: Sequence[str], shared: int
    ) -> bool:
        if shared < len(conversation.messages) or len(messages) == shared:
            return False
        next_ = next(item.block for item in items if item.block.digest == messages[shared])
        return _neutral_content(next_) in {_neutral_content(block) for block in self._last_answer(conversation)} - {
            _NOTHING
        }

    def _find_by_tool_call(self, items: Sequence[Item], scope: str) -> Conversation | None:
        """Find the latest unnamed conversation whose last answer has a tool call of this request."""
        # The request's first message may have changed since (its images were removed).
        ids = {id_ for item in items if (id_ := _tool_call_id(item.block))}
        for candidate in reversed(self._scopes.get(scope, ())) if ids else ():
            if candidate.client is None and not ids.isdisjoint(map(_tool_call_id, self._last_answer(candidate))):
                return candidate
        return None

    def _find_compacted(self, items: Sequence[Item], front: tuple[str, ...], scope: str) -> Conversation | None:
        # Agents force a tool to get a summary, and quote its arguments in the first user text of the next request.
        prompt = next((i.block for i in items if i.place.role == "user" and i.block.kind != HEADER), None)
        if self.last is None or prompt is None or not front or not set(front) <= set(self.last[0].front):
            return None
        conversation, call = self.last
        words = read(prompt).text if _is_tool_forced(call) and conversation.scope == scope else ""
        if not any(text in words for block in self._last_answer(conversation) for text in _argument_texts(block)):
            return None
        conversation.restart = EpochStart.COMPACTION, ""
        return conversation

    def add_call(self, conversation: Conversation, call: Call) -> list[Event]:
        """Add a call to `conversation`; returns nothing if it repeats one."""
        call = self._with_id(conversation, call)
        if call.id in self.calls:
            return []
        news: list[Event] = []
        before = self.calls[conversation.calls[-1]] if conversation.calls else None
        if before is None:
            news += self._announce(conversation)
        else:
            news += self._relink_resent_answer(before, call)
        call = replace(call, thread=self.thread_id(conversation), epoch=_make_epoch(before, call, conversation.restart))
        conversation.restart = None
        self.calls[call.id] = call
        self._homes[call.id] = conversation
        conversation.calls.append(call.id)
        self._update_leader(conversation)
        conversation.tip = call.response_head
        self.last = conversation, call
        return [*news, CallSeen(call), TipMoved(call.thread, conversation.tip)]

    def _with_id(self, conversation: Conversation, call: Call) -> Call:
        """Give `call` a unique id, unless it repeats the call that has its id."""
        # Mock providers answer every request with one id.
        base_id = call.id or self._derive_id(call)
        id_, number = base_id, 1
        while (other_call := self.calls.get(id_)) is not None:
            lacking = ROOT in (self._messages_head(other_call), self._messages_head(call))
            same = self._homes[id_].scope == conversation.scope and (lacking or other_call.raw_head == call.raw_head)
            if call.id and same:
                break
            number += 1
            id_ = f"{base_id}~{number}"
        return replace(call, id=id_)

    def _messages_head(self, call: Call) -> int:
        """Node at which the messages of the request end; `ROOT` if they are not recorded."""
        return call.raw_head if self._tree[call.raw_head].place.section == "messages" else ROOT

    def _derive_id(self, call: Call) -> str:
        used = call.usage
        figures: list[Json] = [used.fresh, used.cache_read, used.cache_write, used.output] if used else []
        blocks: list[Json] = [i.block.digest for i in self._tree.items(call.response_head) if i.block.kind != HEADER]
        evidence = [call.started or call.ended, call.model, call.error, *figures, *blocks]
        return "call-" + canonical.digest(canonical.dumps(evidence))[:16]

    def update(self, conversation: Conversation, call: Call) -> list[Event]:
        call = replace(call, thread=self.thread_id(conversation), epoch=self.calls[call.id].epoch)
        if self.calls[call.id] == call:
            return []
        self.calls[call.id] = call
        conversation.tip = call.response_head
        return [CallSeen(call), TipMoved(call.thread, conversation.tip)]

    def settle(self) -> list[Event]:
        """Make the best conversations the main threads; return the events of all changes."""
        if self._leads == self._best and self._settled == len(self._named):
            return []
        self._leads, self._settled = dict(self._best), len(self._named)
        return [
            event
            for conversation in self._all
            if conversation.announced is not None
            for event in self._announce(conversation)
        ]

    def events(self) -> Iterator[Event]:
        self.settle()
        yield from (conversation.announced for conversation in self._all if conversation.announced is not None)
        yield from map(CallSeen, self.calls.values())
        yield from self.tips()

    def tips(self) -> Iterator[TipMoved]:
        return (
            TipMoved(self.thread_id(conversation), conversation.tip) for conversation in self._all if conversation.calls
        )

    def _announce(self, conversation: Conversation) -> list[Event]:
        """Emit changes of a conversation's thread; after a rename, its calls are emitted again."""
        name, client = self.thread_id(conversation), conversation.client or ClientThread("")
        label = client.label or ("" if name == conversation.scope else conversation.title[:_LABEL_CHARS])
        outer = self._named.get(client.parent)
        parent = client.parent if outer is None else self.thread_id(outer)
        announced, before = ThreadSeen(name, label, "" if parent == name else parent), conversation.announced
        if announced == before:
            return []
        conversation.announced = announced
        if before is None or before.id == name:
            return [announced]
        for id_ in conversation.calls:
            self.calls[id_] = replace(self.calls[id_], thread=name)
        return [announced, *(CallSeen(self.calls[id_]) for id_ in conversation.calls), TipMoved(name, conversation.tip)]

    def _relink_resent_answer(self, before: Call, call: Call) -> list[Event]:
        """Move the previous call's answer to the nodes at which the client sent it back."""
        tree = self._tree
        if tree.holds(call.raw_head, before.response_head) or not tree.holds(call.raw_head, before.raw_head):
            return []
        answer = [n for n in tree.path(before.response_head, before.raw_head) if tree[n].block.kind != HEADER]
        resent_nodes = [n for n in tree.path(call.raw_head, before.raw_head) if tree[n].block.kind != HEADER]
        if not answer or list(map(tree.digest, answer)) != list(map(tree.digest, resent_nodes[: len(answer)])):
            return []
        self.calls[before.id] = replace(before, response_head=resent_nodes[len(answer) - 1])
        return [CallSeen(self.calls[before.id])]


def _digest_request(items: Sequence[Item]) -> tuple[tuple[str, ...], list[str]]:
    """Digests of a request's tools and system texts, and of the blocks of its messages.

    Blocks that the client inserted at the start of the messages are left out, and all headers: clients spell the same
    message now as string, now as list (facts §12).
    """
    front = [item.block.digest for item in items if item.place.section != "messages"]
    messages = [item for item in items if item.place.section == "messages" and item.block.kind != HEADER]
    system = list(takewhile(lambda item: item.place.role in _SYSTEM, messages))
    turns = list(dropwhile(_is_client_text, messages[len(system) :])) or messages[len(system) :]
    return (*front, *(item.block.digest for item in system)), [item.block.digest for item in turns]


def _is_client_text(item: Item) -> bool:
    return item.place.role == "user" and CLIENT_TEXT.match(read(item.block).text) is not None


def _find_title(items: Sequence[Item]) -> str:
    """First line of user text that the client did not insert, else of the first one. "" if there is none."""
    inputs = [i for i in items if i.place.section == "messages" and i.place.role == "user" and i.block.kind != HEADER]
    prompts = [item for item in inputs if not read(item.block).call_id]
    texts = (one_line(read(item.block).text) for item in [*dropwhile(_is_client_text, prompts), *prompts[:1]])
    return next(filter(None, texts), "")


def _tool_call_id(block: Block) -> str:
    """The provider's id if the block is a tool call, else ""."""
    if block.kind == HEADER or (part := to_part(block)).category != CALL:
        return ""
    return part.id if len(part.id) >= _MIN_PROVIDER_ID_CHARS else ""


def _is_tool_forced(call: Call) -> bool:
    choice = Request((), call.skeleton).params.get("tool_choice") if call.skeleton is not None else None
    return isinstance(choice, dict) and choice.get("type") in ("tool", "function")


def _argument_texts(block: Block) -> Iterator[str]:
    if to_part(block).category != CALL:
        return
    waiting: list[Json] = [arguments_value(read(block))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and len(value) >= _MIN_QUOTE_CHARS:
            yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _neutral_content(block: Block) -> tuple[str, str, str]:
    content = read(block)
    return content.text, content.name, content.arguments


def _make_epoch(before: Call | None, call: Call, restart: tuple[EpochStart, str] | None) -> Epoch:
    if before is None:
        return Epoch()
    if restart is None and before.model and call.model and before.model != call.model:
        restart = EpochStart.MODEL, f"{before.model} → {call.model}"
    if restart is None:
        return before.epoch
    epoch = Epoch(before.epoch.number + 1, *restart)
    return complete_epoch(epoch, call.usage.input if call.usage is not None else 0)
