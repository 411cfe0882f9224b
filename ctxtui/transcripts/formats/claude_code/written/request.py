"""A request as Claude Code wrote it to a file itself (`OTEL_LOG_RAW_API_BODIES`, facts §13.1): the body that was sent,
with the header's betas put in and with thinking taken out. Where it stands in a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct, field

from ctxtui.core import block, block_content, canonical
from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.attachments import mark_of
from ctxtui.transcripts.formats.claude_code.message import SUMMARY
from ctxtui.transcripts.kit.fields import obj, word
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, GRAMMARS

REDACTED: Final = "<REDACTED>"
"""What the client writes in the place of thinking."""
BETAS: Final = "betas"
NOT_RECORDED: Final = "not_recorded"
"""The only member of a body that the client holds back; it says why."""

_SEALED: Final = "redacted_thinking"
_MARK: Final = b'"' + REDACTED.encode() + b'"'
_SUMMARY: Final = "This session is being continued from a previous conversation"
_COMPACTION: Final = re.compile(
    r"Respond with TEXT ONLY.*<summary>|task is to create a detailed summary of (?:the|this) conversation", re.DOTALL
)
_REMINDER: Final = "<system-reminder>"


class Ending(Struct, frozen=True):
    """Where a context stands: `answer` names the last answer in it ("" where there is none), `results` are the ids of
    the calls that were answered since, `texts` what was said since, `parts` how many blocks came since."""

    answer: str = ""
    results: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    parts: int = 0


def answer_name(items: Iterable[Item]) -> str:
    """What an answer is known by wherever it stands: the calls that it makes, else its words; "" for neither."""
    calls, words = [], []
    for item in items:
        if item.block.kind == "tool_use":
            calls.append(word(item.block.member("id")))
        elif item.block.kind == "text":
            words.append(block_content.read(item.block).text.strip())
    return "\n".join(sorted(calls)) or "\n".join(filter(None, words))


def parts_of(answer: Mapping[str, Json]) -> list[Item]:
    """The parts of an answer's body, by themselves."""
    content = answer.get("content")
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return [Item(block.from_part(one), Place("messages", "assistant")) for one in parts]


def ending(backwards: Iterable[Item], own: bool = False) -> Ending:
    """The ending of a context whose items come last first. `own` leaves out texts that the client wrote."""
    results, texts, parts = set(), [], 0
    said: list[Item] = []
    for item in backwards:
        if item.place.section != "messages":
            break
        if item.block.kind == HEADER:
            continue
        if item.place.role == "assistant":
            said.append(item)
        elif said:
            break
        else:
            parts += 1
            if item.block.kind == "tool_result":
                results.add(word(item.block.member("tool_use_id")))
            elif item.block.kind == "text" and not (own and item.place.mark not in ("", SUMMARY)):
                texts.append(block_content.read(item.block).text.strip())
    return Ending(answer_name(reversed(said)), frozenset(results), tuple(filter(None, texts)), parts)


def upwards(tree: Tree, head: int) -> Iterator[Item]:
    """The items of the context `head`, last first."""
    while head != ROOT:
        node = tree[head]
        yield Item(node.block, node.place)
        head = node.parent


class WrittenRequest(Struct, frozen=True):
    """One request. `betas` are those of the header, `session` is what its metadata names, `ending` where it stands and
    `before` the last answer but one in it.

    `withheld` says why the client wrote no body in the file ("" where it did).
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
        """Whether it asks for the summary of a compaction."""
        return bool(self.ending.texts) and _COMPACTION.search(self.ending.texts[0]) is not None

    @property
    def system(self) -> str:
        """What tells one agent's system prompt from another's: the digest of its last text."""
        return next((i.block.digest for i in reversed(self.items) if i.place.section == "system"), "")

    @property
    def prompt(self) -> str:
        """The first words that are no reminder of the client's."""
        for item in self.items:
            if item.place.section == "messages" and item.place.role == "user" and item.block.kind == "text":
                text = block_content.read(item.block).text
                if text.strip() and not text.lstrip().startswith(_REMINDER):
                    return text
        return ""


def filled(items: Sequence[Item], thoughts: Mapping[str, str]) -> tuple[Sequence[Item], int]:
    """The items with thinking put back where `thoughts` has it; and how much stays out."""
    made, out = list(items), 0
    for n, name in hidden(items):
        known = thoughts.get(name)
        out += known is None
        if known is not None:
            made[n] = Item(_filled(made[n].block, known), made[n].place)
    return made, out


def thoughts_in(items: Sequence[Item]) -> dict[str, str]:
    """The thinking of one answer, by what it is known by elsewhere: its signature, or its place in the answer."""
    found = {}
    for name, thinking in _named(items):
        value = obj(thinking.block.value())
        found[name] = word(value.get("data" if thinking.block.kind == _SEALED else "thinking"))
    return {name: words for name, words in found.items() if words != REDACTED}


def hidden(items: Sequence[Item]) -> Iterator[tuple[int, str]]:
    """Where `items` lack their thinking, each with what it is known by."""
    begin = 0
    for n, item in enumerate([*items, None]):
        if item is not None and item.place.role == "assistant" and item.block.kind != HEADER:
            continue
        said = items[begin:n]
        if any(_is_hidden(one) for one in said):
            names = {id(one): name for name, one in _named(said)}
            yield from ((begin + k, names[id(one)]) for k, one in enumerate(said) if _is_hidden(one))
        begin = n + 1


def _named(said: Sequence[Item]) -> Iterator[tuple[str, Item]]:
    number = 0
    for item in said:
        if item.block.kind == "thinking":
            yield _signature(item.block), item
        elif item.block.kind == _SEALED:
            number += 1
            yield f"{answer_name(said)}\0{number}", item


# The same thinking stands in every later request.
@lru_cache(maxsize=4096)
def _signature(thinking: Block) -> str:
    return word(obj(thinking.value()).get("signature"))


@lru_cache(maxsize=4096)
def _filled(thinking: Block, words: str) -> Block:
    value = thinking.value()
    return block.make(thinking.kind, {**value, "data" if "data" in value else "thinking": words})


def _is_hidden(item: Item) -> bool:
    return item.block.kind in ("thinking", _SEALED) and _MARK in item.block.body


def read_request(name: str, data: bytes, memo: Memo) -> WrittenRequest:
    """The request in the bytes of the file `name`. Raises `Malformed` where they are none."""
    why = _withheld(data)
    if why:
        return WrittenRequest(name, withheld=why)
    found = codec.decode(data, GRAMMARS[ANTHROPIC], memo)
    params = found.params
    skeleton = found.skeleton
    betas = params.get(BETAS)
    if isinstance(betas, list):
        frame = Frame.from_json(skeleton.parts["frame"]).without(BETAS)
        skeleton = Skeleton(skeleton.dialect, {**skeleton.parts, "frame": frame.to_json()})
    items = tuple(map(_marked, found.items))
    return WrittenRequest(
        name,
        items,
        skeleton,
        model=word(params.get("model")),
        betas=betas,
        session=_session(params.get("metadata")),
        tools=any(item.place.section == "tools" for item in items),
        ending=ending(reversed(items)),
        before=_answer_before(items),
    )


def _answer_before(items: Sequence[Item]) -> str:
    """The last answer but one in a context; "" where there is none."""
    roles = [item.place.role == "assistant" for item in items]
    if True not in roles:
        return ""
    end = len(roles) - 1 - roles[::-1].index(True)
    while end >= 0 and roles[end]:
        end -= 1
    return ending(reversed(items[: end + 1])).answer


def _withheld(data: bytes) -> str:
    if len(data) > 4096 or NOT_RECORDED.encode() not in data:
        return ""
    value = json_of(data)
    return word(value.get(NOT_RECORDED)) or "no reason given" if value.keys() == {NOT_RECORDED} else ""


def _marked(item: Item) -> Item:
    if item.place.section != "messages" or item.place.role != "user" or item.block.kind != "text":
        return item
    text = block_content.read(item.block).text
    mark = SUMMARY if text.lstrip().startswith(_SUMMARY) else mark_of(text)
    return Item(item.block, item.place._replace(mark=mark)) if mark else item


def _session(metadata: Json) -> str:
    user = word(obj(metadata).get("user_id"))
    named = word(json_of(user.encode("utf-8", "replace")).get("session_id"))
    return named or (user.rpartition("_session_")[2] if "_session_" in user else "")


def json_of(data: bytes) -> dict[str, Json]:
    """The JSON object in `data`; an empty one for anything else."""
    try:
        return obj(canonical.loads(data))
    except (ValueError, RecursionError):
        return {}
