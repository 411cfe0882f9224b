"""The context that a hosted agent talks in: a path in the session's tree, and the request that says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ctxtui.agent.answer import AnswerCall, Settled, settle
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json, dumps
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire import registry
from ctxtui.wire.codec.speller import Speller
from ctxtui.wire.grammars import OLLAMA
from ctxtui.wire.request import Response
from ctxtui.wire.speech import Result, template, tool_results, user_message
from ctxtui.wire.translate import encode
from ctxtui.wire.translate.turns import CALL, RESULT, part_of

Shape = Callable[[int, Skeleton], bytes | None]
"""Gives the body that leaves for the raw context with this head, spelled by a skeleton: where edits are applied. None
where nothing is to be changed. Raises `CtxtuiError` where the edits leave nothing that can be sent."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A request that can be sent: its exact `body`, the context as the agent has it and as it leaves."""

    body: bytes
    raw_head: int
    sent_head: int
    skeleton: Skeleton


class ConversationStart(NamedTuple):
    """What a conversation begins with: the dialect, top-level parameters (``model`` among them), tool definitions in
    Anthropic's form, the system text, and what was said before (items of any dialect)."""

    dialect: str
    params: Mapping[str, Json]
    tools: Sequence[Json] = ()
    system: str = ""
    before: Sequence[Item] = ()


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
        self._speller = Speller(skeleton)
        self.lost: list[str] = []
        """What of an earlier context this dialect could not say."""
        self._used: set[str] = set()
        self._names: dict[str, str] = {}
        for item in tree.items(head):
            self._learn(item)

    def _learn(self, item: Item) -> None:
        part = part_of(item.block) if _is_talk(item) else None
        if part is not None and part.what in (CALL, RESULT):
            id_ = read(item.block).call_id
            self._used.add(id_)
            self._names.setdefault(id_, part.reading.name)

    def say(self, text: str) -> int:
        """The user says `text`; the new head."""
        self.head = self.tree.extend(self.head, user_message(self.dialect, text))
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
        asked = [(read(i.block).call_id, part_of(i.block)) for i in items if _is_talk(i)]
        calls = [AnswerCall(id_, part.reading.name, None) for id_, part in asked if part.what == CALL]
        heads = [item.block.value() for item in items if item.block.kind == HEADER and item.place.role == "tool"]
        if self.dialect == OLLAMA:
            # Calls without ids are answered in their order.
            return [one._replace(id=f"call_{n}") for n, one in enumerate(calls[len(heads) :])]
        answered = {id_ for id_, part in asked if part.what == RESULT} | {str(h.get("tool_call_id")) for h in heads}
        return [one for one in calls if one.id not in answered]

    def draft(self) -> Draft:
        """The request of the context as it stands, edits applied. Raises what `shape` raises."""
        body = self.shape(self.head, self.skeleton) if self.shape is not None else None
        if body is None:
            return Draft(self._speller.body(self.tree.items(self.head)), self.head, self.head, self.skeleton)
        sent = registry.DIALECTS[self.dialect].decode_request(body, None)
        return Draft(body, self.head, self.tree.extend(ROOT, sent.items), sent.skeleton)


def begin(tree: Tree, opening: ConversationStart, shape: Shape | None = None) -> Conversation:
    """A conversation that begins with `opening`; what was said before is turned into the dialect's own words."""
    model = str(opening.params.get("model", ""))
    # A body needs a message; the probe is taken off again, so that the context ends with what was there.
    said = [*_opening_items(opening), *opening.before, *user_message(opening.dialect, _PROBE)]
    body, lost = encode.build(opening.dialect, said, model=model, params=opening.params)
    items = _without_probe(registry.DIALECTS[opening.dialect].decode_request(body, None).items)
    head = tree.extend(ROOT, items)
    made = Conversation(tree, opening.dialect, model, skeleton_for(opening.dialect, opening.params, items), head, shape)
    made.lost = lost
    return made


def go_on(tree: Tree, head: int, dialect: str, params: Mapping[str, Json], shape: Shape | None = None) -> Conversation:
    """A conversation that goes on from the context `head`, which is in `dialect` already: nothing of it changes."""
    skeleton = skeleton_for(dialect, params, tree.items(head))
    return Conversation(tree, dialect, str(params.get("model", "")), skeleton, head, shape)


def skeleton_for(dialect: str, params: Mapping[str, Json], items: Sequence[Item]) -> Skeleton:
    """The skeleton that spells `items` with these parameters."""
    tools = [item.block.value() for item in items if item.place.section == "tools"]
    system = next((item.block.member("text") or "" for item in items if item.place.section == "system"), "")
    return template(dialect, dict(params), tools, system)


def _is_talk(item: Item) -> bool:
    return item.place.section == "messages" and item.block.kind != HEADER


def _opening_items(opening: ConversationStart) -> list[Item]:
    """Tools and system text as items; `fresh` turns them into the dialect's own."""
    body: dict[str, Json] = {"model": "", "max_tokens": 1, "messages": [{"role": "user", "content": _PROBE}]}
    if opening.tools:
        body["tools"] = list(opening.tools)
    if opening.system:
        body["system"] = [{"type": "text", "text": opening.system}]
    items = registry.DIALECTS["anthropic"].decode_request(dumps(body), None).items
    return [item for item in items if item.place.section != "messages"]


def _without_probe(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items without the last user text, and without its header where that stands alone."""
    rest = list(items[:-1])
    if rest and rest[-1].block.kind == HEADER:
        rest.pop()
    return tuple(rest)
