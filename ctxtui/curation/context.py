"""A context indexed for curation: positions, messages, and calls with their answers.

A *position* is the 0-based index of a block on the raw path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, TOOL, Block, Item
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.call import Call, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit, Target
from ctxtui.core.json_values import as_dict
from ctxtui.core.tree import Tree
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GRAMMARS, MESSAGE_PARTS, RESPONSES
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import detect_dialect

THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
IMAGES: Final = frozenset({"image", "image_url", "input_image"})
OPAQUE: Final = frozenset({*THINKING, "compaction", "compaction_summary"})
"""Kinds that their provider signs or encrypts: they may be left out, never changed."""

CALL: Final = "call"
"""Prefix of the keys by which calls are found by id."""
ANSWER: Final = "answer"

_CALLS: Final = ("_use", "_call")
_RESULTS: Final = ("_result", "_output")
_ODD_CALLS: Final = frozenset({"function_call", "tool_call", "program", "mcp_approval_request"})
"""Kinds of calls without such an ending, or with the ending of another kind."""
_ODD_RESULTS: Final = frozenset({"program_output", "mcp_approval_response", "function_response"})
_ALONE: Final = frozenset(
    {"mcp_call", "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call"}
)
"""Calls that hold their own answer."""


class Message(NamedTuple):
    """Positions of one message, `start` to `stop` (exclusive), or of one item of Responses."""

    start: int
    stop: int
    role: str

    @property
    def has_header(self) -> bool:
        """Whether its first position is a header followed by parts."""
        return self.stop - self.start > 1


def _dialect(items: Sequence[Item]) -> str:
    first = next((item.place.role for item in items if item.place.section == "messages"), "")
    return detect_dialect(items) or (CHAT if first in ("system", "developer") else ANTHROPIC)


def marker_lifetimes(request: Request) -> dict[int, str]:
    """Lifetimes of a request's cache breakpoints by position ("": none is named)."""
    # Breakpoints are counted over the items in the body itself.
    first, count = request.skeleton.parts.get("carried", (0, 0))
    named = ((marker.item + (count if marker.item >= first else 0), marker.value) for marker in request.markers)
    return {item: str(value.get("ttl") or "") if isinstance(value, dict) else "" for item, value in named}


def skeleton_of(tree: Tree, call: Call, head: int) -> Skeleton | None:
    """The skeleton for the context `head`, which belongs to `call` or continues it.

    None without a recorded request. If edits changed that request, blocks in both contexts keep their spelling and
    breakpoints. Raises `Malformed` if the skeleton does not fit the recorded blocks.
    """
    if call.skeleton is None or call.skeleton.dialect not in GRAMMARS or tree.holds(head, call.sent_head):
        return call.skeleton
    if not call.is_edited:
        return call.skeleton
    return Request(tuple(tree.items(call.sent_head)), call.skeleton).with_items(tree.items(head)).skeleton


@lru_cache(maxsize=256)
def is_call(kind: str) -> bool:
    """Whether a block of `kind` is answered by another block."""
    return (kind.endswith(_CALLS) or kind in _ODD_CALLS) and kind not in _ALONE


@lru_cache(maxsize=256)
def is_result(kind: str) -> bool:
    """Whether a block of `kind` answers a call."""
    return kind.endswith(_RESULTS) or kind in _ODD_RESULTS


def is_user_content(item: Item) -> bool:
    """Whether `item` is a part of a user message other than a tool result."""
    return item.place.role == "user" and item.block.kind != HEADER and not is_result(item.block.kind)


class CallFacts(NamedTuple):
    """The effects of a call, read from its input.

    - `key`: the files that it reads or changes, else its tool and the first two words of its command.
    - `changed`, `read`: paths of files; `commits`: commit messages.
    - `todos`: the to-do list as (id, text, is open); None if the call has none.
    """

    key: tuple[str, ...]
    label: str
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    todos: tuple[tuple[str, str, bool], ...] | None = None


class DerivedValues:
    """Cache of values derived from a context's blocks, most by digest.

    It stays while the context grows. `texts` counts each text in the first `counted` blocks.
    """

    def __init__(self) -> None:
        self.readings: dict[str, BlockContent] = {}
        self.calls: dict[str, CallFacts] = {}
        self.outcomes: dict[str, tuple[list[str], list[str]]] = {}
        self.runs: dict[str, tuple[int, int, tuple[str, ...]] | None] = {}
        self.signed: dict[str, bool] = {}
        self.unsigned: tuple[int, list[int]] = 0, []
        """A count of thinking blocks checked, and the positions of those without a signature."""
        self.summaries: dict[tuple[object, ...], str] = {}
        self.texts = Counter[str]()
        self.counted = 0
        self.edits: dict[tuple[object, ...], Edit] = {}
        """Edits proposed by policies, by author, kind, positions and payload."""
        self.outlines: dict[str, tuple[int, object]] = {}
        """Derived turns, rounds ..., each with the context's length at that time."""


class Context:
    """The context that ends at the node `head` of `tree`.

    - `dialect`: of its blocks; "": guess it.
    - `params`: the other members of its request.
    - `markers`: the lifetimes of its cache breakpoints by position.
    """

    def __init__(
        self,
        tree: Tree,
        head: int,
        dialect: str = "",
        params: Mapping[str, Json] | None = None,
        markers: Mapping[int, str] | None = None,
    ) -> None:
        self.tree = tree
        self.head = head
        self.params = dict(params or {})
        self.markers = dict(markers or {})
        self.nodes: list[int] = []
        self.items: list[Item] = []
        self.messages: list[Message] = []
        self.message_of: list[int] = []
        """The index into `messages` of each position; -1 outside messages."""
        self.partners: dict[int, tuple[int, ...]] = {}
        """Positions of a call's result, or of a result's call, by position."""
        self.successor: dict[int, int] = {}
        """For OpenAI's reasoning items the position of the item that must follow them; -1: none is there yet."""
        # Positions of blocks of each kind; `images` includes results with an image.
        self.thinking: list[int] = []
        self.tools: list[int] = []
        self.images: list[int] = []
        self.user_texts: list[int] = []
        self.systems: list[int] = []
        """Indexes of messages whose role is system."""
        self.open_before: list[int] = [0]
        """For each message, the number of earlier calls that are answered in it or later; the last entry: the end."""
        self.repairs: dict[tuple[object, ...], Edit] = {}
        """Cache of repairs."""
        self._places: dict[str, list[int]] = {}
        self._occurrence: list[int] = []
        self._targets: dict[int, Target] = {}
        self._ids: dict[str, list[int]] = {}
        self._open: dict[str, list[int]] = {}
        """Calls without an answer, by id. Google's may have none: calls of one name in a message share an entry."""
        self.derived = DerivedValues()
        path = tree.path(head)
        self.dialect = dialect or _dialect([Item(tree[n].block, tree[n].place) for n in path])
        self._extend(path)

    def grow_to(self, head: int) -> Context:
        """This context extended in place if `head` continues it, else a new one without breakpoints."""
        if head == self.head:
            return self
        if self.nodes and self.tree.holds(head, self.head):
            self._extend(self.tree.path(head, self.head))
            self.head = head
            return self
        return Context(self.tree, head, self.dialect, self.params)

    @classmethod
    def of_call(cls, tree: Tree, call: Call, head: int | None = None) -> Context:
        """The context before edits at `call`, or the one that continues it up to `head`."""
        end = call.raw_head if head is None else head
        spelled = skeleton_of(tree, call, end)
        if spelled is None or spelled.dialect not in GRAMMARS:
            return cls(tree, end)
        request = Request((), spelled)
        markers = marker_lifetimes(request) if call.is_edited or tree.holds(end, call.sent_head) else {}
        return cls(tree, end, spelled.dialect, request.params, markers)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def unanswered(self) -> list[int]:
        return sorted(position for positions in self._open.values() for position in positions)

    def find(self, target: Target) -> int | None:
        """The position of `target`; None if it is not here. A changed call or result is found by its unique id."""
        alike = self._places.get(target.digest, ())
        if target.occurrence < len(alike):
            return alike[target.occurrence]
        by_id = self._ids.get(target.id, ()) if target.id else ()
        return by_id[0] if len(by_id) == 1 else None

    def has_call(self, id_: str) -> bool:
        return f"{CALL} {id_}" in self._ids

    def find_exact(self, target: Target) -> tuple[int | None, bool]:
        """Find the position of the target, and whether its block is unchanged.

        If it is, longer contexts have it there too.
        """
        alike = self._places.get(target.digest, ())
        if target.occurrence < len(alike):
            return alike[target.occurrence], True
        return self.find(target), False

    def target(self, position: int) -> Target:
        """The address of the block at `position` by which an edit finds it in any context."""
        target = self._targets.get(position)
        if target is None:
            block = self.items[position].block
            name = f"{CALL} {self._pair_id(block)}" if is_call(block.kind) else self._answer_name(position)
            target = self._targets[position] = Target(block.digest, self._occurrence[position], name)
        return target

    def is_duplicate(self, position: int) -> bool:
        """Whether another block has the same text as the one at `position`."""
        for later in range(self.derived.counted, len(self.nodes)):
            self.derived.texts[self.reading(later).text] += 1
        self.derived.counted = len(self.nodes)
        return self.derived.texts[self.reading(position).text] > 1

    def targets(self, positions: Iterable[int]) -> list[Target]:
        return [self.target(position) for position in positions]

    def position(self, node: int) -> int:
        """The position of a node of the tree. Raises `ValueError` if it is not on the path."""
        at = self.tree[node].depth - 1
        if not 0 <= at < len(self.nodes) or self.nodes[at] != node:
            raise ValueError(f"node {node} is not on the path")
        return at

    def reading(self, position: int) -> BlockContent:
        block = self.items[position].block
        content = self.derived.readings.get(block.digest)
        if content is None:
            content = self.derived.readings[block.digest] = read(block)
        return content

    def message_at(self, position: int) -> Message | None:
        index = self.message_of[position]
        return self.messages[index] if index >= 0 else None

    def answered_call(self, position: int) -> int | None:
        """The position of the call that the result at `position` answers.

        None for other blocks, or if the call is not here. In Chat every block of the result's message has it.
        """
        message = self.message_at(position)
        if not is_result(self.items[position].block.kind):
            if message is None or message.role not in ("tool", "function"):
                return None
            position = message.start
        return next(iter(self.partners.get(position, ())), None)

    def is_alike(self, position: int, other: Item) -> bool:
        """Whether `other` has the kind, role and id of the block at `position`; its text may differ."""
        item_here = self.items[position]
        same = item_here.block.kind == other.block.kind and item_here.place.role == other.place.role
        return same and self._pair_id(item_here.block) == self._pair_id(other.block)

    def _pair_id(self, block: Block) -> str:
        # Not cached: the content of most blocks is never needed.
        content = self.derived.readings.get(block.digest) or read(block)
        return content.call_id or (content.name if block.kind == "function_call" else "")

    def _answer_name(self, position: int) -> str:
        """The `Target.id` of a result, in Chat of each block of its message; "" for other blocks."""
        block, message = self.items[position].block, self.message_at(position)
        if is_result(block.kind):
            return f"{ANSWER} {self._pair_id(block)}"
        if block.kind == HEADER or message is None or message.role != "tool":
            return ""
        id_ = as_dict(self.items[message.start].block.value()).get("tool_call_id")
        return f"{ANSWER} {id_}" if id_ else ""

    def _extend(self, path: Iterable[int]) -> None:
        for node in path:
            node_here = self.tree[node]
            self._add(node, Item(node_here.block, node_here.place))

    def _add(self, node: int, item: Item) -> None:
        position, kind = len(self.nodes), item.block.kind
        self.nodes.append(node)
        self.items.append(item)
        alike = self._places.setdefault(item.block.digest, [])
        self._occurrence.append(len(alike))
        alike.append(position)
        self.message_of.append(-1)
        if kind == TOOL:
            self.tools.append(position)
        if kind in IMAGES or (is_result(kind) and b'"type":"image"' in item.block.body):
            self.images.append(position)
        if item.place.section != "messages":
            return
        self._add_to_message(position, kind, item)
        if is_user_content(item) and not item.place.mark:
            self.user_texts.append(position)
        if position - 1 in self.successor and self.successor[position - 1] < 0:
            self.successor[position - 1] = position if kind not in THINKING else -1
        if kind in THINKING:
            self.thinking.append(position)
            if kind == "reasoning" and self.dialect == RESPONSES:
                self.successor[position] = -1
        if is_call(kind):
            self._add_call(position, self._pair_id(item.block))
        elif is_result(kind):
            id_ = self._pair_id(item.block)
            self._add_answer(position, id_, by_name=kind == "function_response")
            self._ids.setdefault(f"{ANSWER} {id_}", []).append(position)
        elif kind == HEADER and item.place.role in ("tool", "function"):
            head = item.block.value()
            self._add_answer(position, str(head.get("tool_call_id") or head.get("name") or ""))
        elif item.place.role == "tool" and (name := self._answer_name(position)):
            self._ids.setdefault(name, []).append(position)

    def _add_to_message(self, position: int, kind: str, item: Item) -> None:
        starts_message = kind == HEADER or (self.dialect == RESPONSES and kind not in MESSAGE_PARTS)
        if starts_message or not self.messages:
            self.open_before.append(0)
            if item.place.role == "system":
                self.systems.append(len(self.messages))
            self.messages.append(Message(position, position + 1, item.place.role))
        else:
            last = self.messages[-1]
            self.messages[-1] = Message(last.start, position + 1, last.role)
        self.message_of[position] = len(self.messages) - 1

    def _add_call(self, position: int, id_: str) -> None:
        open_calls = self._open.get(id_, [])
        self._open[id_] = [*(p for p in open_calls if self.message_of[p] == self.message_of[position]), position]
        self._ids.setdefault(f"{CALL} {id_}", []).append(position)

    def _add_answer(self, at: int, id_: str, *, by_name: bool = False) -> None:
        if by_name and id_ not in self._open:
            calls = (position for positions in self._open.values() for position in positions)
            call = next((p for p in calls if self.reading(p).name == id_), None)
            id_ = id_ if call is None else self._pair_id(self.items[call].block)
        open_calls = self._open.pop(id_, [])
        if not open_calls:
            return
        call, *other_calls = open_calls
        if other_calls:
            self._open[id_] = other_calls
        self.partners[call] = (at,)
        self.partners[at] = (call,)
        for index in range(self.message_of[call] + 1, self.message_of[at] + 1):
            self.open_before[index] += 1
