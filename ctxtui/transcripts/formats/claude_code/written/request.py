"""Reads a request that Claude Code wrote to a file, and its `Ending` (facts §13.1).

The file has the body as sent, with the header's betas added and thinking redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct, field

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.attachments import text_mark
from ctxtui.transcripts.formats.claude_code.message import SUMMARY
from ctxtui.transcripts.kit.http_exchange.pair import parse_body
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, GRAMMARS

REDACTED: Final = "<REDACTED>"
"""Text that the client writes in place of thinking."""
BETAS: Final = "betas"
_NOT_RECORDED: Final = "not_recorded"
"""Only member of a withheld body; its value is the reason."""

_SEALED: Final = "redacted_thinking"
_MARK: Final = b'"' + REDACTED.encode() + b'"'
_SUMMARY: Final = "This session is being continued from a previous conversation"
_COMPACTION: Final = re.compile(
    r"Respond with TEXT ONLY.*<summary>|task is to create a detailed summary of (?:the|this) conversation", re.DOTALL
)
_REMINDER: Final = "<system-reminder>"


class Ending(Struct, frozen=True):
    """The end of a context, by which a request is matched with a call.

    `answer` names its last answer ("" if there is none). Since that answer: `results` are the ids of answered calls,
    `texts` the texts, `parts` the number of blocks.
    """

    answer: str = ""
    results: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    parts: int = 0


def answer_name(items: Iterable[Item]) -> str:
    """Name an answer by its tool calls, else by its text; "" for neither."""
    calls, texts = [], []
    for item in items:
        if item.block.kind == "tool_use":
            calls.append(as_str(item.block.member("id")))
        elif item.block.kind == "text":
            texts.append(block_content.read(item.block).text.strip())
    return "\n".join(sorted(calls)) or "\n".join(filter(None, texts))


def answer_parts(answer: Mapping[str, Json]) -> list[Item]:
    content = answer.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return [Item(block.from_part(part), Place("messages", "assistant")) for part in parts]


def compute_ending(backwards: Iterable[Item], own: bool = False) -> Ending:
    """Compute the ending of a context from its items, last first.

    `own` leaves out texts that the client wrote, except summaries.
    """
    results, texts, parts = set(), [], 0
    answer_items: list[Item] = []
    for item in backwards:
        if item.place.section != "messages":
            break
        if item.block.kind == HEADER:
            continue
        if item.place.role == "assistant":
            answer_items.append(item)
        elif answer_items:
            break
        else:
            parts += 1
            if item.block.kind == "tool_result":
                results.add(as_str(item.block.member("tool_use_id")))
            elif item.block.kind == "text" and not (own and item.place.mark not in ("", SUMMARY)):
                texts.append(block_content.read(item.block).text.strip())
    return Ending(answer_name(reversed(answer_items)), frozenset(results), tuple(filter(None, texts)), parts)


def items_upwards(tree: Tree, head: int) -> Iterator[Item]:
    while head != ROOT:
        node = tree[head]
        yield Item(node.block, node.place)
        head = node.parent


class WrittenRequest(Struct, frozen=True):
    """One request, with what identifies its call.

    - `betas`: those of the header.
    - `session`: the session in its metadata.
    - `tools`: whether it offers tools.
    - `ending`: the end of its context; `before`: the name of the second to last answer in it.
    - `withheld`: the client's reason for not writing the body; "" if it did.
    """

    name: str
    items: tuple[Item, ...] = ()
    skeleton: Skeleton | None = None
    model: str = ""
    betas: Json = None
    session: str = ""
    tools: bool = False
    ending: Ending = field(default_factory=Ending)
    before: str = ""
    withheld: str = ""

    @property
    def compacts(self) -> bool:
        return bool(self.ending.texts) and _COMPACTION.search(self.ending.texts[0]) is not None

    @property
    def system(self) -> str:
        """The digest of the last text of its system prompt."""
        return next((i.block.digest for i in reversed(self.items) if i.place.section == "system"), "")

    @property
    def prompt(self) -> str:
        """The first user text that is not a reminder of the client's; "" if there is none."""
        for item in self.items:
            if item.place.section == "messages" and item.place.role == "user" and item.block.kind == "text":
                text = block_content.read(item.block).text
                if text.strip() and not text.lstrip().startswith(_REMINDER):
                    return text
        return ""


def restore_thinking(items: Sequence[Item], thoughts: Mapping[str, str]) -> tuple[Sequence[Item], int]:
    """Restore thinking from `thoughts`; also returns the number of blocks still redacted."""
    restored, redacted_count = list(items), 0
    for n, name in _find_redacted(items):
        text = thoughts.get(name)
        redacted_count += text is None
        if text is not None:
            restored[n] = Item(_fill_thinking(restored[n].block, text), restored[n].place)
    return restored, redacted_count


def collect_thinking(items: Sequence[Item]) -> dict[str, str]:
    """Map the thinking of one answer by key: its signature, or the answer's name and its number."""
    thoughts = {}
    for name, thinking in _named_thinking(items):
        value = as_dict(thinking.block.value())
        thoughts[name] = as_str(value.get("data" if thinking.block.kind == _SEALED else "thinking"))
    return {name: text for name, text in thoughts.items() if text != REDACTED}


def _find_redacted(items: Sequence[Item]) -> Iterator[tuple[int, str]]:
    """Yield the indexes of redacted thinking in `items`, with its keys in `collect_thinking`."""
    begin = 0
    for n, item in enumerate([*items, None]):
        if item is not None and item.place.role == "assistant" and item.block.kind != HEADER:
            continue
        answer_items = items[begin:n]
        if any(_is_hidden(item) for item in answer_items):
            names = {id(item): name for name, item in _named_thinking(answer_items)}
            yield from ((begin + k, names[id(item)]) for k, item in enumerate(answer_items) if _is_hidden(item))
        begin = n + 1


def _named_thinking(answer_items: Sequence[Item]) -> Iterator[tuple[str, Item]]:
    number = 0
    for item in answer_items:
        if item.block.kind == "thinking":
            yield _signature_of(item.block), item
        elif item.block.kind == _SEALED:
            number += 1
            yield f"{answer_name(answer_items)}\0{number}", item


# The same thinking is in every later request.
@lru_cache(maxsize=4096)
def _signature_of(thinking: Block) -> str:
    return as_str(as_dict(thinking.value()).get("signature"))


@lru_cache(maxsize=4096)
def _fill_thinking(thinking: Block, text: str) -> Block:
    value = thinking.value()
    return block.make(thinking.kind, {**value, "data" if "data" in value else "thinking": text})


def _is_hidden(item: Item) -> bool:
    return item.block.kind in ("thinking", _SEALED) and _MARK in item.block.body


def read_request(name: str, data: bytes, memo: Memo) -> WrittenRequest:
    """Parse the file `name`; raises `Malformed` if it holds no request."""
    why = _withheld_reason(data)
    if why:
        return WrittenRequest(name, withheld=why)
    request = codec.decode(data, GRAMMARS[ANTHROPIC], memo)
    params = request.params
    skeleton = request.skeleton
    betas = params.get(BETAS)
    if isinstance(betas, list):
        frame = Frame.from_json(skeleton.parts["frame"]).without(BETAS)
        skeleton = Skeleton(skeleton.dialect, {**skeleton.parts, "frame": frame.to_json()})
    items = tuple(map(_mark_summary, request.items))
    return WrittenRequest(
        name,
        items,
        skeleton,
        model=as_str(params.get("model")),
        betas=betas,
        session=_session_id(params.get("metadata")),
        tools=any(item.place.section == "tools" for item in items),
        ending=compute_ending(reversed(items)),
        before=_second_last_answer(items),
    )


def _second_last_answer(items: Sequence[Item]) -> str:
    roles = [item.place.role == "assistant" for item in items]
    if True not in roles:
        return ""
    end = len(roles) - 1 - roles[::-1].index(True)
    while end >= 0 and roles[end]:
        end -= 1
    return compute_ending(reversed(items[: end + 1])).answer


def _withheld_reason(data: bytes) -> str:
    if len(data) > 4096 or _NOT_RECORDED.encode() not in data:
        return ""
    value = as_dict(parse_body(data))
    return as_str(value.get(_NOT_RECORDED)) or "no reason given" if value.keys() == {_NOT_RECORDED} else ""


def _mark_summary(item: Item) -> Item:
    if item.place.section != "messages" or item.place.role != "user" or item.block.kind != "text":
        return item
    text = block_content.read(item.block).text
    mark = SUMMARY if text.lstrip().startswith(_SUMMARY) else text_mark(text)
    return Item(item.block, item.place._replace(mark=mark)) if mark else item


def _session_id(metadata: Json) -> str:
    user = as_str(as_dict(metadata).get("user_id"))
    named = as_str(as_dict(parse_body(user)).get("session_id"))
    return named or (user.rpartition("_session_")[2] if "_session_" in user else "")
