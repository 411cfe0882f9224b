"""Parts from which requests are rebuilt: shapes, and messages by hash.

A message is a blob, or the content of the file's own records (facts §13.1). Neighbouring records of one side are one
message (the results of parallel calls, for example), and a prefix of them is an earlier state of it. Messages are
hashed only in files that have requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from ctxtui.core import block, block_content, canonical
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.attachments import text_mark
from ctxtui.transcripts.formats.claude_code.message import SUMMARY, ClaudeMessage
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.wire.grammar import PLAIN_SHAPE, split_system, split_system_string, split_tool
from ctxtui.wire.message import STRING, is_plain, split_message

_MARKER: Final = "cache_control"


class _MessageHash:
    """The hash by which requests name a message: SHA-256 of its JSON with sorted members."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._hash = sha256(b'{"content":[')
        self.count = 0

    def add(self, part: Json) -> None:
        self._hash.update((b"," if self.count else b"") + _hashed_text(part))
        self.count += 1

    def digest(self) -> str:
        hash_so_far = self._hash.copy()
        hash_so_far.update(b'],"role":' + _hashed_text(self._role) + b"}")
        return hash_so_far.hexdigest()


def _hashed_text(value: Json) -> bytes:
    return canonical.dump_text(_sort_members(value)).encode("utf-8", "ctxtui-json")


def _sort_members(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sort_members(value[key]) for key in sorted(value, key=_sort_key) if key != _MARKER}
    return [_sort_members(item) for item in value] if isinstance(value, list) else value


def _sort_key(key: str) -> bytes:
    # JavaScript compares code units, Python code points, which differ above U+FFFF.
    return key.encode("utf-16-be", "surrogatepass")


TOOLS, SYSTEM, MESSAGES = "tools", "system", "messages"


class RequestShape(NamedTuple):
    """System prompt and tools of a request.

    The context ends at `head`, after `tools` tools and `system` texts. `string`: the system prompt is one string.
    `sections` names the members that the request has, and whether they are non-empty.
    """

    head: int
    tools: int
    system: int
    sections: dict[str, bool]
    string: bool = False


class _Run(NamedTuple):
    """Consecutive records of one side, as a candidate for a message.

    It has the first `length` of `blocks`; those of the last record begin at `start`. `string`: they are one string.
    `answer` is the id of the answer that they are part of; "" for none.
    """

    role: str
    blocks: list[Item]
    length: int
    string: bool
    start: int = 0
    answer: str = ""


class RequestStore:
    """Shapes and messages by hash; `tree` receives the nodes of shapes."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._shapes: dict[str, RequestShape] = {}
        self._messages: dict[str, tuple[Item, ...]] = {}
        self._runs: dict[str, _Run] = {}
        self._waiting: list[_Run] = []
        """Candidates that are not hashed yet."""
        self._side: tuple[str, str] = ("", "")
        """Role and answer id ("" for none) of the last record."""
        self._blocks: list[Item] = []
        self._hash = _MessageHash("")
        self._hashed: list[Item] | None = None
        """The blocks that `_hash` grows with."""
        self._untried: list[_Run] = []
        """Hashed candidates whose alternatives are not hashed yet."""
        self._answers: dict[str, list[Item]] = {}
        """Blocks of each answer, by its id, wherever its records are."""
        self._summaries: set[str] = set()
        """Digests of the blocks of summaries."""

    @property
    def shape_count(self) -> int:
        return len(self._shapes)

    def shape(self, hash_: str) -> RequestShape | None:
        return self._shapes.get(hash_)

    def put_shape(self, hash_: str, shape: Json) -> None:
        """Add a shape; raises `ValueError` if it is invalid."""
        if not isinstance(shape, dict):
            raise ValueError("a shape without system prompt and tools")
        if hash_ in self._shapes:
            return
        tools, system = shape.get(TOOLS), shape.get(SYSTEM)
        listed = tools if isinstance(tools, list) else []
        texts = system if isinstance(system, list) else []
        parts = [part for n, tool in enumerate(listed) for part in split_tool(tool, f"$.tools[{n}]")]
        system_parts = split_system_string(system) if isinstance(system, str) else []
        system_parts += [part for n, text in enumerate(texts) for part in split_system(text, f"$.system[{n}]")]
        head = self._tree.extend(ROOT, [part.item for part in (*parts, *system_parts)])
        sections = {name: bool(shape[name]) for name in (SYSTEM, TOOLS) if isinstance(shape.get(name), list | str)}
        self._shapes[hash_] = RequestShape(head, len(parts), len(system_parts), sections, isinstance(system, str))

    def put_blob(self, hash_: str, message: Json) -> None:
        """Add a message without a record of its own; raises `ValueError` if it is invalid."""
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError("a message without a role")
        if hash_ not in self._messages:
            self._messages[hash_] = tuple(self._to_items(message))

    def _to_items(self, message: dict[str, Json]) -> list[Item]:
        content = message.get("content")
        if message["role"] == "system" and isinstance(content, list) and len(content) == 1:
            text = content[0] if isinstance(content[0], dict) else {}
            if is_plain(str(text.get("type")), text):
                # A lone text of a system turn is sent as a string, unless it has a cache breakpoint.
                message = {**message, "content": text["text"]}
        items = [part.item for part in split_message(message, "$", PLAIN_SHAPE)]
        first, *other_items = items
        if other_items and first.block.value() == {"role": message["role"], "content": "list"}:
            first = Item(_make_header(message["role"], False), first.place)
        return [first, *(self._with_mark(item) for item in other_items)]

    def _with_mark(self, item: Item) -> Item:
        if item.block.kind != "text" or item.place.role != "user":
            return item
        mark = SUMMARY if item.block.digest in self._summaries else text_mark(block_content.read(item.block).text)
        return Item(item.block, item.place._replace(mark=mark)) if mark else item

    def record(self, record: ClaudeRecord, message: ClaudeMessage, items: Sequence[Item]) -> None:
        """Add a record's blocks as a candidate for a message, alone or with those before it."""
        if record.is_compact_summary:
            self._summaries.update(item.block.digest for item in items)
        side = (message.role, message.id if message.role == "assistant" else "")
        continues = side == self._side and bool(self._blocks) and (message.role == "user" or bool(message.id))
        if not continues:
            self._side, self._blocks = side, []
        self._blocks.extend(items)
        start = len(self._blocks) - len(items)
        self._waiting.append(_Run(message.role, self._blocks, len(self._blocks), message.string, start, self._side[1]))

    def message(self, hash_: str) -> tuple[Item, ...] | None:
        """Return the items of the message with this hash; None if it is not in the file."""
        items = self._messages.get(hash_)
        if items is None:
            self._hash_waiting()
            if hash_ not in self._runs:
                self._hash_alternatives()
            run = self._runs.get(hash_)
            if run is not None:
                header = Item(_make_header(run.role, run.string and run.length == 1), Place(MESSAGES, run.role))
                items = self._messages[hash_] = (header, *run.blocks[: run.length])
        return items

    def _hash_waiting(self) -> None:
        for run in self._waiting:
            if run.blocks is not self._hashed:
                self._hash, self._hashed = _MessageHash(run.role), run.blocks
            if _add_items(self._hash, run.blocks[self._hash.count : run.length]):
                self._runs.setdefault(self._hash.digest(), run)
        self._untried += self._waiting
        self._waiting.clear()

    def _hash_alternatives(self) -> None:
        """Hash each record by itself, and all records of one answer so far, wherever they are."""
        for run in self._untried:
            record_blocks = run.blocks[run.start : run.length]
            if run.start and _add_items(message_hash := _MessageHash(run.role), record_blocks):
                self._runs.setdefault(
                    message_hash.digest(), _Run(run.role, record_blocks, len(record_blocks), run.string)
                )
            if run.answer:
                answer_blocks = self._answers.setdefault(run.answer, [])
                answer_blocks += record_blocks
                if len(answer_blocks) > len(record_blocks) and _add_items(
                    message_hash := _MessageHash(run.role), answer_blocks
                ):
                    self._runs.setdefault(
                        message_hash.digest(), _Run(run.role, list(answer_blocks), len(answer_blocks), False)
                    )
        self._untried.clear()


def _add_items(message_hash: _MessageHash, items: Sequence[Item]) -> bool:
    """Add `items` to a hash; False if one is nested too deeply."""
    try:
        for item in items:
            message_hash.add(item.block.value())
    except RecursionError:
        return False
    return True


def _make_header(role: str, string: bool) -> Block:
    return block.header(role, {"content": STRING} if string else None)
