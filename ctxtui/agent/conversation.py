"""The context that a hosted agent talks in: a path in the session's tree, and the request that says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.agent.memory_place import MemoryPlace, marked_at, with_memory
from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json, dumps
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire import registry
from ctxtui.wire.codec.speller import Speller
from ctxtui.wire.grammar import ANTHROPIC, OLLAMA
from ctxtui.wire.request import Request, Response
from ctxtui.wire.speech import Attachment, Result, build_template, tool_results, user_message
from ctxtui.wire.translate import encode
from ctxtui.wire.translate.turns import CALL, RESULT, TEXT, THINKING, TurnPart, to_part


class AnswerCall(NamedTuple):
    """A call that an answer asks for. `input` is its decoded JSON, or the text where it is no JSON."""

    id: str
    name: str
    input: Json


class Settled(NamedTuple):
    """The part of an answer that goes into the context: its `items` (none where nothing can be kept) and its calls."""

    items: tuple[Item, ...]
    calls: tuple[AnswerCall, ...]


def settle(items: Sequence[Item], used: set[str], *, cut: bool, names: bool = True) -> Settled:
    """Make an answer fit to be sent back (facts §1, §4).

    Left out are empty texts, thinking that the provider has not sealed, thinking with nothing after it, and calls whose
    input is not whole; with `cut` the answer broke off, so its last part may be any of these. A call without id, or
    with one of `used`, gets one of its own; the ids of the answer are added to `used`. Without `names` (Ollama, whose
    calls have none) the ids are told and not written.
    """
    kept: list[tuple[Item, TurnPart | None]] = []
    for item in items:
        part = None if item.block.kind == HEADER else to_part(item.block)
        if part is None or _stands(part, cut):
            kept.append((item, part))
    _trim(kept)
    calls: list[AnswerCall] = []
    made: list[Item] = []
    for item, part in kept:
        if part is not None and part.category == CALL:
            told = read(item.block).call_id
            id_ = _own_id(told, used)
            if id_ != told and names:
                item = _with_id(item, id_)
            calls.append(
                AnswerCall(id_, part.reading.name, arguments_value(part.reading) if part.reading.arguments else {})
            )
        made.append(_ended(item) if cut and part is None else item)
    return Settled(tuple(made), tuple(calls))


def _stands(part: TurnPart, cut: bool) -> bool:
    if part.category == TEXT:
        return bool(part.reading.text.strip())
    if part.category == THINKING:
        # Anthropic seals thinking with a signature, which comes last; visible reasoning of other servers has none.
        value = part.value if isinstance(part.value, dict) else {}
        return bool(value.get("signature") or value.get("data")) or "signature" not in value
    if part.category == CALL:
        whole = isinstance(arguments_value(part.reading), dict) if part.reading.arguments else not cut
        return bool(part.reading.name) and (whole or (not cut and part.kind != "tool_use"))
    return True


def _trim(kept: list[tuple[Item, TurnPart | None]]) -> None:
    """Take off what nothing follows: thinking at the end, headers without content."""
    while kept and ((part := kept[-1][1]) is None or part.category == THINKING):
        kept.pop()
    for at in range(len(kept) - 2, -1, -1):
        if kept[at][1] is None and kept[at + 1][1] is None:
            del kept[at]


def _own_id(id_: str, used: set[str]) -> str:
    number = len(used)
    while not id_ or id_ in used:
        number += 1
        id_ = f"call_{number}"
    used.add(id_)
    return id_


def _with_id(item: Item, id_: str) -> Item:
    value = item.block.value()
    key = (
        "call_id"
        if "call_id" in value or (item.block.kind.endswith("_call") and item.block.kind != "tool_call")
        else "id"
    )
    return Item(blocks.make(item.block.kind, {**value, key: id_}), item.place)


def _ended(header: Item) -> Item:
    """The header of a message that broke off, which must not say that it is still being written."""
    value = header.block.value()
    if not isinstance(value, dict) or value.get("status") != "in_progress":
        return header
    return Item(blocks.make(HEADER, {**value, "status": "incomplete"}), header.place)


Shape = Callable[[int, Skeleton], bytes | None]
"""Gives the body that leaves for the raw context with this head, spelled by a skeleton: where edits are applied. None
where nothing is to be changed. Raises `CtxtuiError` where the edits leave nothing that can be sent."""


class Draft(Struct, frozen=True):
    """A request that can be sent: its exact `body`, the context as the agent has it and as it leaves."""

    body: bytes
    raw_head: int
    sent_head: int
    skeleton: Skeleton


class ConversationStart(NamedTuple):
    """The start of a conversation: the dialect, top-level parameters (``model`` among them), tool definitions in
    Anthropic's form, the system text (or its parts, which are one text where the dialect has no parts), and what was
    said before (items of any dialect)."""

    dialect: str
    params: Mapping[str, Json]
    tools: Sequence[Json] = ()
    system: str | Sequence[str] = ""
    before: Sequence[Item] = ()


CACHED: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
_PROBE: Final = "\N{BULLET}"


class Conversation:
    """One line of context. `tree` is the session's, `head` the context that the agent has now; `skeleton` spells its
    requests. `shape` may give another body for a raw context; by default the context is sent as it is.
    """

    def __init__(
        self,
        tree: Tree,
        dialect: str,
        model: str,
        skeleton: Skeleton,
        head: int = ROOT,
        shape: Shape | None = None,
    ) -> None:
        self.tree = tree
        self.dialect = dialect
        self.model = model
        self.skeleton = skeleton
        self.head = head
        self.shape = shape
        self.memory: MemoryPlace | None = None
        """What is put in place when the user speaks; None: what stands there stays as it is."""
        self.static: Mapping[str, Json] | None = None
        """The member of a block that asks the provider to cache up to the system text, of several parts up to the last
        but one: the last is the one that changes. None: it is not asked."""
        self._speller = Speller(skeleton)
        self.lost: list[str] = []
        """What of an earlier context this dialect could not say."""
        self._used: set[str] = set()
        self._names: dict[str, str] = {}
        for item in tree.items(head):
            self._learn(item)

    def _learn(self, item: Item) -> None:
        part = to_part(item.block) if _is_talk(item) else None
        if part is not None and part.category in (CALL, RESULT):
            id_ = read(item.block).call_id
            self._used.add(id_)
            self._names.setdefault(id_, part.reading.name)

    def say(self, text: str, attached: Sequence[Attachment] = ()) -> int:
        """The user says `text`, with what is `attached` in front of it; the new head."""
        said = user_message(self.dialect, text, attached)
        last = self.tree.path(self.head)[-1:]
        if self.memory is None or (last and self.tree[last[0]].category == INDEX["tool_result"]):
            # In the middle of a turn nothing moves: the latest thinking must stay as it is.
            self.head = self.tree.extend(self.head, said)
        else:
            self.head = with_memory(self.tree, self.head, self.dialect, said, self.memory)
        return self.head

    def answer(self, response: Response, *, cut: bool = False) -> Settled:
        """Take in an answer, or the part of one that was `cut`; what of it went in."""
        settled = settle(response.items, self._used, cut=cut, names=self.dialect != OLLAMA)
        self.head = self.tree.extend(self.head, settled.items)
        self._names |= {call.id: call.name for call in settled.calls}
        return settled

    def results(self, results: Sequence[Result]) -> int:
        """Take in what tools brought; the new head."""
        named = [one._replace(name=one.name or self._names.get(one.id, "")) for one in results]
        self.head = self.tree.extend(self.head, tool_results(self.dialect, named))
        return self.head

    def back_to(self, head: int) -> None:
        """Go on from an earlier context."""
        self.head = head

    def open_calls(self) -> list[AnswerCall]:
        """The calls of the context that have no result, in their order: no provider takes it so."""
        items = self.tree.items(self.head)
        asked = [(read(i.block).call_id, to_part(i.block)) for i in items if _is_talk(i)]
        calls = [AnswerCall(id_, part.reading.name, None) for id_, part in asked if part.category == CALL]
        heads = [item.block.value() for item in items if item.block.kind == HEADER and item.place.role == "tool"]
        if self.dialect == OLLAMA:
            # Calls without ids are answered in their order.
            return [one._replace(id=f"call_{n}") for n, one in enumerate(calls[len(heads) :])]
        answered = {id_ for id_, part in asked if part.category == RESULT} | {str(h.get("tool_call_id")) for h in heads}
        return [one for one in calls if one.id not in answered]

    def _marked(self, items: Sequence[Item]) -> tuple[Sequence[int], Mapping[str, Json] | None]:
        """The places in `items` that bear a marker, and the marker."""
        marked = marked_at(items, self.memory) if self.memory is not None else []
        if marked and self.memory is not None:
            return marked, self.memory.marker
        system = [n for n, item in enumerate(items) if item.place.section == "system"] if self.static else []
        return system[-2:][:1], self.static

    def draft(self) -> Draft:
        """The request of the context as it stands, edits applied. Raises what `shape` raises."""
        items, skeleton = self.tree.items(self.head), self.skeleton
        plain = None
        marked, marker = self._marked(items)
        if marked:
            plain = self._speller.body(items, marked, marker)
            skeleton = registry.DIALECTS[self.dialect].decode_request(plain, None).skeleton
        body = self.shape(self.head, skeleton) if self.shape is not None else None
        if body is None:
            return Draft(plain or self._speller.body(items), self.head, self.head, skeleton)
        sent = registry.DIALECTS[self.dialect].decode_request(body, None)
        left = _with_marks(sent.items, items)
        return Draft(body, self.head, self.tree.extend(ROOT, left), sent.skeleton)


def _with_marks(sent: Sequence[Item], own: Sequence[Item]) -> list[Item]:
    """The items as they are sent, with the marks that they have as the agent's `own`. A header has that of what is
    behind it: all headers of one side are one block."""
    marks = {item.block.digest: item.place.mark for item in own if item.place.mark and item.block.kind != HEADER}
    found: list[Item] = []
    behind = ""
    for item in reversed(sent):
        here = behind if item.block.kind == HEADER else marks.get(item.block.digest, "")
        behind = "" if item.block.kind == HEADER else here
        found.append(item._replace(place=item.place._replace(mark=here or item.place.mark)))
    return found[::-1]


def begin(tree: Tree, opening: ConversationStart, shape: Shape | None = None) -> Conversation:
    """A conversation that begins with `opening`; what was said before is turned into the dialect's own words."""
    model = str(opening.params.get("model", ""))
    # A body needs a message; the probe is taken off again, so that the context ends with what was there.
    said = [*_opening_items(opening), *opening.before, *user_message(opening.dialect, _PROBE)]
    body, lost = encode.build_body(opening.dialect, said, model=model, params=opening.params)
    items = _without_probe(registry.DIALECTS[opening.dialect].decode_request(body, None).items)
    head = tree.extend(ROOT, items)
    made = Conversation(tree, opening.dialect, model, skeleton_for(opening.dialect, opening.params, items), head, shape)
    made.lost = lost
    made.static = _static(opening.dialect, opening.system)
    return made


def go_on(tree: Tree, head: int, dialect: str, params: Mapping[str, Json], shape: Shape | None = None) -> Conversation:
    """A conversation that goes on from the context `head`, which is in `dialect` already: nothing of it changes."""
    skeleton = skeleton_for(dialect, params, tree.items(head))
    return Conversation(tree, dialect, str(params.get("model", "")), skeleton, head, shape)


def with_tools(talk: Conversation, tools: Sequence[Json]) -> Conversation:
    """`talk` with other tool definitions (Anthropic's form) in front. Thinking that its provider has bound to the tools
    is left out (facts §1); nothing else of it changes."""
    params = Request((), talk.skeleton).params
    opening = begin(Tree(), ConversationStart(talk.dialect, params, tools))
    new = [item for item in opening.tree.items(opening.head) if item.place.section == "tools"]
    rest = [item for item in talk.tree.items(talk.head) if item.place.section != "tools"]
    items = [*new, *(_without_thinking(rest) if talk.dialect == ANTHROPIC else rest)]
    skeleton = skeleton_for(talk.dialect, params, items)
    made = Conversation(talk.tree, talk.dialect, talk.model, skeleton, talk.tree.extend(ROOT, items), talk.shape)
    made.memory, made.static = talk.memory, talk.static
    return made


def with_system(talk: Conversation, parts: Sequence[str]) -> Conversation:
    """`talk` with another system text, in `parts`; thinking is left out as in `with_tools`, nothing else changes."""
    params = Request((), talk.skeleton).params
    opening = begin(Tree(), ConversationStart(talk.dialect, params, (), parts))
    items = talk.tree.items(talk.head)
    tools = [item for item in items if item.place.section == "tools"]
    rest = [item for item in items if item.place.section == "messages" and item.place.role != "system"]
    said = _without_thinking(rest) if talk.dialect == ANTHROPIC else rest
    new = [*tools, *opening.tree.items(opening.head), *said]
    skeleton = skeleton_for(talk.dialect, params, new)
    made = Conversation(talk.tree, talk.dialect, talk.model, skeleton, talk.tree.extend(ROOT, new), talk.shape)
    made.memory, made.static = talk.memory, opening.static
    return made


def _static(dialect: str, system: str | Sequence[str]) -> Mapping[str, Json] | None:
    """The cache marker of a system text in several parts. The marker at the end of a request does not help a request
    whose last part differs."""
    return CACHED if dialect == ANTHROPIC and not isinstance(system, str) and len(system) > 1 else None


def _without_thinking(items: Sequence[Item]) -> list[Item]:
    """The items without thinking, and without the header of a message that held nothing else."""
    left = [item for item in items if not _is_talk(item) or to_part(item.block).category != THINKING]
    talks = [_is_talk(item) for item in left] + [False]
    header = [item.block.kind == HEADER and item.place.section == "messages" for item in left]
    return [item for n, item in enumerate(left) if not header[n] or talks[n + 1]]


def skeleton_for(dialect: str, params: Mapping[str, Json], items: Sequence[Item]) -> Skeleton:
    """The skeleton that spells `items` with these parameters."""
    tools = [item.block.value() for item in items if item.place.section == "tools"]
    system = next((item.block.member("text") or "" for item in items if item.place.section == "system"), "")
    return build_template(dialect, dict(params), tools, system)


def _is_talk(item: Item) -> bool:
    return item.place.section == "messages" and item.block.kind != HEADER


def _opening_items(opening: ConversationStart) -> list[Item]:
    """Tools and system text as items; `fresh` turns them into the dialect's own."""
    body: dict[str, Json] = {"model": "", "max_tokens": 1, "messages": [{"role": "user", "content": _PROBE}]}
    if opening.tools:
        body["tools"] = list(opening.tools)
    parts = [opening.system] if isinstance(opening.system, str) else list(opening.system)
    if opening.dialect != ANTHROPIC:
        parts = ["\n\n".join(parts)]
    if any(parts):
        body["system"] = [{"type": "text", "text": part} for part in parts if part]
    items = registry.DIALECTS["anthropic"].decode_request(dumps(body), None).items
    return [item for item in items if item.place.section != "messages"]


def _without_probe(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items without the last user text, and without its header where that stands alone."""
    rest = list(items[:-1])
    if rest and rest[-1].block.kind == HEADER:
        rest.pop()
    return tuple(rest)
