"""A hosted agent's context: a path in the session's tree, and its encoding as a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.agent.memory_place import MemoryPlace, breakpoint_positions, with_memory
from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import FUNCTION_CALL, arguments_value, read
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
    """A tool call in an answer.

    `input` is decoded ({} without arguments), or the text if it is no JSON.
    """

    id: str
    name: str
    input: Json


class SettledAnswer(NamedTuple):
    """The part of an answer that can be sent back, and its tool calls."""

    items: tuple[Item, ...]
    calls: tuple[AnswerCall, ...]


def settle(items: Sequence[Item], used: set[str], *, cut: bool, names: bool = True) -> SettledAnswer:
    """Make an answer fit to be sent back (facts §1, §4).

    - `used`: ids of earlier calls, to which those of the answer are added. A call without an id, or with a used one,
      gets a new id.
    - `cut`: the answer broke off, so its last part may be incomplete.
    - `names`: the dialect's calls have ids; if not (Ollama), ids are returned but not written into the items.
    """
    sendable: list[tuple[Item, TurnPart | None]] = []
    for item in items:
        part = None if item.block.kind == HEADER else to_part(item.block)
        if part is None or _is_sendable(part, cut):
            sendable.append((item, part))
    _drop_trailing(sendable)
    calls: list[AnswerCall] = []
    new_items: list[Item] = []
    for item, part in sendable:
        if part is not None and part.category == CALL:
            own_id = read(item.block).call_id
            id_ = _unused_id(own_id, used)
            if id_ != own_id and names:
                item = _with_id(item, id_)
            calls.append(
                AnswerCall(id_, part.reading.name, arguments_value(part.reading) if part.reading.arguments else {})
            )
        new_items.append(_mark_incomplete(item) if cut and part is None else item)
    return SettledAnswer(tuple(new_items), tuple(calls))


def _is_sendable(part: TurnPart, cut: bool) -> bool:
    if part.category == TEXT:
        return bool(part.reading.text.strip())
    if part.category == THINKING:
        # Anthropic seals thinking with a signature at the end; visible reasoning of other servers has none.
        value = part.value if isinstance(part.value, dict) else {}
        return bool(value.get("signature") or value.get("data")) or "signature" not in value
    if part.category == CALL:
        is_whole = isinstance(arguments_value(part.reading), dict) if part.reading.arguments else not cut
        # Only Anthropic refuses a call whose input is no object; elsewhere the tool reports the fault to the model.
        return bool(part.reading.name) and (is_whole or (not cut and part.kind != "tool_use"))
    return True


def _drop_trailing(items: list[tuple[Item, TurnPart | None]]) -> None:
    while items and ((part := items[-1][1]) is None or part.category == THINKING):
        items.pop()
    for at in range(len(items) - 2, -1, -1):
        if items[at][1] is None and items[at + 1][1] is None:
            del items[at]


def _unused_id(id_: str, used: set[str]) -> str:
    number = len(used)
    while not id_ or id_ in used:
        number += 1
        id_ = f"call_{number}"
    used.add(id_)
    return id_


def _with_id(item: Item, id_: str) -> Item:
    value = item.block.value()
    if member := next((key for key in FUNCTION_CALL if isinstance(value.get(key), dict)), ""):
        return Item(blocks.make(item.block.kind, {**value, member: {**value[member], "id": id_}}), item.place)
    key = (
        "call_id"
        if "call_id" in value or (item.block.kind.endswith("_call") and item.block.kind != "tool_call")
        else "id"
    )
    return Item(blocks.make(item.block.kind, {**value, key: id_}), item.place)


def _mark_incomplete(header: Item) -> Item:
    value = header.block.value()
    if not isinstance(value, dict) or value.get("status") != "in_progress":
        return header
    return Item(blocks.make(HEADER, {**value, "status": "incomplete"}), header.place)


Editor = Callable[[int, Skeleton], bytes | None]
"""Makes the body of the request under edits from the head and skeleton of the raw context; None: no change."""


class Draft(Struct, frozen=True):
    """A request ready to send; `raw_head` ends the agent's context, `sent_head` the edited one."""

    body: bytes
    raw_head: int
    sent_head: int
    skeleton: Skeleton


class ConversationStart(NamedTuple):
    """The start of a conversation.

    - `params`: members of the request, with ``model``.
    - `tools`: definitions in Anthropic's form.
    - `system`: the system text, or its parts, which are joined unless the dialect is Anthropic's.
    - `before`: earlier messages, in any dialect.
    """

    dialect: str
    params: Mapping[str, Json]
    tools: Sequence[Json] = ()
    system: str | Sequence[str] = ""
    before: Sequence[Item] = ()


CACHED: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
"""The member of a block that makes it a cache breakpoint."""
_PROBE: Final = "\N{BULLET}"
"""Text of a user message that is added to build a skeleton, and removed again."""


class Conversation:
    """The context of a hosted agent (or sub-agent): the path to `head` in `tree`.

    Its requests have the parameters and the form of `skeleton`.
    """

    def __init__(self, tree: Tree, dialect: str, model: str, skeleton: Skeleton, head: int) -> None:
        self.tree = tree
        self.dialect = dialect
        self.model = model
        self.skeleton = skeleton
        self.head = head
        self.editor: Editor | None = None
        """Applies edits to the requests; None: the context is sent as it is."""
        self.memory: MemoryPlace | None = None
        """Memory to update when the user sends a message; None: no update."""
        self.static: Mapping[str, Json] | None = None
        """Cache breakpoint for the system text (of several parts: the last but one, as the last one changes); not used
        while `memory` has breakpoints."""
        self._speller = Speller(skeleton)
        self.lost: list[str] = []
        """Parts of an earlier context that this dialect cannot express."""
        self._used: set[str] = set()
        self._names: dict[str, str] = {}
        for item in tree.items(head):
            self._note_call_id(item)

    def _note_call_id(self, item: Item) -> None:
        part = to_part(item.block) if _is_message_part(item) else None
        if part is not None and part.category in (CALL, RESULT):
            id_ = read(item.block).call_id
            self._used.add(id_)
            self._names.setdefault(id_, part.reading.name)

    def add_user_message(self, text: str, attached: Sequence[Attachment] = ()) -> int:
        """Append the user's `text`, after its attachments; returns the new head."""
        message_items = user_message(self.dialect, text, attached)
        last = self.tree.path(self.head)[-1:]
        if self.memory is None or (last and self.tree[last[0]].category == INDEX["tool_result"]):
            # Memory is not updated in the middle of a turn: the latest thinking must not change.
            self.head = self.tree.extend(self.head, message_items)
        else:
            self.head = with_memory(self.tree, self.head, self.dialect, message_items, self.memory)
        return self.head

    def add_answer(self, response: Response, *, cut: bool = False) -> SettledAnswer:
        """Append the part of an answer that can be sent back; returns that part. `cut`: it broke off."""
        settled = settle(response.items, self._used, cut=cut, names=self.dialect != OLLAMA)
        self.head = self.tree.extend(self.head, settled.items)
        self._names |= {call.id: call.name for call in settled.calls}
        return settled

    def add_results(self, results: Sequence[Result]) -> int:
        named = [result._replace(name=result.name or self._names.get(result.id, "")) for result in results]
        self.head = self.tree.extend(self.head, tool_results(self.dialect, named))
        return self.head

    def rewind_to(self, head: int) -> None:
        self.head = head

    def open_calls(self) -> list[AnswerCall]:
        """The calls without result, in order; their `input` is None."""
        items = self.tree.items(self.head)
        ids_and_parts = [(read(i.block).call_id, to_part(i.block)) for i in items if _is_message_part(i)]
        calls = [AnswerCall(id_, part.reading.name, None) for id_, part in ids_and_parts if part.category == CALL]
        heads = [item.block.value() for item in items if item.block.kind == HEADER and item.place.role == "tool"]
        if self.dialect == OLLAMA:
            # Calls without ids are answered in order.
            return [call._replace(id=f"call_{n}") for n, call in enumerate(calls[len(heads) :])]
        answered = {id_ for id_, part in ids_and_parts if part.category == RESULT} | {
            str(h.get("tool_call_id")) for h in heads
        }
        return [call for call in calls if call.id not in answered]

    def _breakpoints(self, items: Sequence[Item]) -> tuple[Sequence[int], Mapping[str, Json] | None]:
        marked = breakpoint_positions(items, self.memory) if self.memory is not None else []
        if marked and self.memory is not None:
            return marked, self.memory.marker
        system = [n for n, item in enumerate(items) if item.place.section == "system"] if self.static else []
        return system[-2:][:1], self.static

    def draft(self) -> Draft:
        """Encode the request of the current context, with edits applied. Raises what `editor` raises."""
        items, skeleton = self.tree.items(self.head), self.skeleton
        plain = None
        marked, marker = self._breakpoints(items)
        if marked:
            plain = self._speller.body(items, marked, marker)
            skeleton = registry.DIALECTS[self.dialect].decode_request(plain, None).skeleton
        body = self.editor(self.head, skeleton) if self.editor is not None else None
        if body is None:
            return Draft(plain or self._speller.body(items), self.head, self.head, skeleton)
        sent = registry.DIALECTS[self.dialect].decode_request(body, None)
        left = _with_marks(sent.items, items)
        return Draft(body, self.head, self.tree.extend(ROOT, left), sent.skeleton)


def _with_marks(sent: Sequence[Item], agent_items: Sequence[Item]) -> list[Item]:
    # A header gets the mark of the block after it: headers of one role are equal.
    marks = {
        item.block.digest: item.place.mark for item in agent_items if item.place.mark and item.block.kind != HEADER
    }
    marked_items: list[Item] = []
    following_mark = ""
    for item in reversed(sent):
        mark = following_mark if item.block.kind == HEADER else marks.get(item.block.digest, "")
        following_mark = "" if item.block.kind == HEADER else mark
        marked_items.append(item._replace(place=item.place._replace(mark=mark or item.place.mark)))
    return marked_items[::-1]


def _model_name(params: Mapping[str, Json]) -> str:
    # Google's parameters name a resource.
    return str(params.get("model", "")).removeprefix("models/")


def begin(tree: Tree, opening: ConversationStart) -> Conversation:
    """Start a conversation with `opening`; earlier messages are translated to the dialect."""
    model = _model_name(opening.params)
    # A body needs a message: the probe is removed again, so that the context ends with the earlier messages.
    items_with_probe = [*_opening_items(opening), *opening.before, *user_message(opening.dialect, _PROBE)]
    body, lost = encode.build_body(opening.dialect, items_with_probe, model=model, params=opening.params)
    items = _without_probe(registry.DIALECTS[opening.dialect].decode_request(body, None).items)
    skeleton = skeleton_for(opening.dialect, opening.params, items)
    conversation = Conversation(tree, opening.dialect, model, skeleton, tree.extend(ROOT, items))
    conversation.lost = lost
    if opening.dialect == ANTHROPIC and not isinstance(opening.system, str) and len(opening.system) > 1:
        # The last part of the system text may change.
        conversation.static = CACHED
    return conversation


def resume(tree: Tree, head: int, dialect: str, params: Mapping[str, Json]) -> Conversation:
    """Continue from the context `head`, which must be in `dialect`: it is not translated."""
    return Conversation(tree, dialect, _model_name(params), skeleton_for(dialect, params, tree.items(head)), head)


def with_tools(conversation: Conversation, tools: Sequence[Json]) -> Conversation:
    """A copy of `conversation` with other tool definitions (in Anthropic's form).

    Anthropic binds thinking to the tools, so all thinking is left out there (facts §1).
    """
    params = Request((), conversation.skeleton).params
    opening = begin(Tree(), ConversationStart(conversation.dialect, params, tools))
    new = [item for item in opening.tree.items(opening.head) if item.place.section == "tools"]
    rest = [item for item in conversation.tree.items(conversation.head) if item.place.section != "tools"]
    return _rebuild(conversation, new, rest)


def with_system(conversation: Conversation, parts: Sequence[str]) -> Conversation:
    """A copy of `conversation` with another system text, in `parts`.

    Thinking is left out as in `with_tools`.
    """
    params = Request((), conversation.skeleton).params
    opening = begin(Tree(), ConversationStart(conversation.dialect, params, (), parts))
    items = conversation.tree.items(conversation.head)
    tools = [item for item in items if item.place.section == "tools"]
    rest = [item for item in items if item.place.section == "messages" and item.place.role != "system"]
    rebuilt = _rebuild(conversation, [*tools, *opening.tree.items(opening.head)], rest)
    rebuilt.static = opening.static
    return rebuilt


def _rebuild(conversation: Conversation, new: Sequence[Item], rest: Sequence[Item]) -> Conversation:
    items = [*new, *(_without_thinking(rest) if conversation.dialect == ANTHROPIC else rest)]
    skeleton = skeleton_for(conversation.dialect, Request((), conversation.skeleton).params, items)
    rebuilt = Conversation(
        conversation.tree, conversation.dialect, conversation.model, skeleton, conversation.tree.extend(ROOT, items)
    )
    rebuilt.editor, rebuilt.memory, rebuilt.static = conversation.editor, conversation.memory, conversation.static
    return rebuilt


def _without_thinking(items: Sequence[Item]) -> list[Item]:
    left = [item for item in items if not _is_message_part(item) or to_part(item.block).category != THINKING]
    are_parts = [_is_message_part(item) for item in left] + [False]
    header = [item.block.kind == HEADER and item.place.section == "messages" for item in left]
    return [item for n, item in enumerate(left) if not header[n] or are_parts[n + 1]]


def skeleton_for(dialect: str, params: Mapping[str, Json], items: Sequence[Item]) -> Skeleton:
    tools = [item.block.value() for item in items if item.place.section == "tools"]
    system = next((item.block.member("text") or "" for item in items if item.place.section == "system"), "")
    return build_template(dialect, dict(params), tools, system)


def _is_message_part(item: Item) -> bool:
    return item.place.section == "messages" and item.block.kind != HEADER


def _opening_items(opening: ConversationStart) -> list[Item]:
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
    # The probe's header is removed, too, if no other block belongs to it.
    rest = list(items[:-1])
    if rest and rest[-1].block.kind == HEADER:
        rest.pop()
    return tuple(rest)
