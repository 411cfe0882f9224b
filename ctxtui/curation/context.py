"""A context read once for curation: what stands where, in which message, and what belongs together.

Everything here is by *position*, the 0-based index of a block on the raw path. It is made once per context (a few
milliseconds per thousand blocks) and grows with it; edits are then arithmetic on a few positions.
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
from ctxtui.core.tree import Tree
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GRAMMARS, MESSAGE_PARTS, RESPONSES
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import detect_dialect

ASSISTANT: Final = frozenset({"assistant", "model"})
THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
IMAGES: Final = frozenset({"image", "image_url", "input_image"})
OPAQUE: Final = frozenset({*THINKING, "compaction", "compaction_summary"})
"""Kinds that their provider signs or encrypts: they may be left out, never changed."""

CALL: Final = "call"
ANSWER: Final = "answer"

_CALLS: Final = ("_use", "_call")
_RESULTS: Final = ("_result", "_output")
_ODD_CALLS: Final = frozenset({"function_call", "tool_call", "program", "mcp_approval_request"})
_ODD_RESULTS: Final = frozenset({"program_output", "mcp_approval_response"})
_ALONE: Final = frozenset({"mcp_call", "web_search_call", "file_search_call", "image_generation_call"})
"""Calls that hold their own answer."""


class Message(NamedTuple):
    """Positions `start` to `stop` (exclusive) that make one message, or one item of its own; `role` is its side."""

    start: int
    stop: int
    role: str

    @property
    def headed(self) -> bool:
        """Whether its first position is a header with parts behind it."""
        return self.stop - self.start > 1


def _dialect(items: Sequence[Item]) -> str:
    """The dialect of items that no request is known of; where only words tell, a system message says Chat."""
    first = next((item.place.role for item in items if item.place.section == "messages"), "")
    return detect_dialect(items) or (CHAT if first in ("system", "developer") else ANTHROPIC)


def lifetimes(request: Request) -> dict[int, str]:
    """The lifetimes of a request's cache markers by position ("" where none is named)."""
    # Markers are counted over what the body itself holds.
    first, count = request.skeleton.parts.get("carried", (0, 0))
    named = ((one.item + (count if one.item >= first else 0), one.value) for one in request.markers)
    return {item: str(value.get("ttl") or "") if isinstance(value, dict) else "" for item, value in named}


def skeleton_of(tree: Tree, call: Call, head: int) -> Skeleton | None:
    """The skeleton that spells the context `head`, from which that of `call` was made or which goes on from it; None
    where the request is not on record. That of a call is of what left: under edits that is another context, and what
    stands in both has its spelling and its markers. Raises `Malformed` where it is not of the recorded blocks."""
    if call.skeleton is None or call.skeleton.dialect not in GRAMMARS or tree.holds(head, call.sent_head):
        return call.skeleton
    if not call.is_edited:
        return call.skeleton
    return Request(tuple(tree.items(call.sent_head)), call.skeleton).with_items(tree.items(head)).skeleton


@lru_cache(maxsize=256)
def is_call(kind: str) -> bool:
    """Whether a block of `kind` asks for something that another block answers."""
    return (kind.endswith(_CALLS) or kind in _ODD_CALLS) and kind not in _ALONE


@lru_cache(maxsize=256)
def is_result(kind: str) -> bool:
    """Whether a block of `kind` answers a call."""
    return kind.endswith(_RESULTS) or kind in _ODD_RESULTS


class CallFacts(NamedTuple):
    """What a call asked for: the `key` that it shares with calls of the same, its `label`, the paths that it
    changed and read, the messages of its commits, and what it lists as to do (None: it lists nothing)."""

    key: tuple[str, ...]
    label: str
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    todos: tuple[tuple[str, str, bool], ...] | None = None


class SaidOnce:
    """What was read out of blocks already, by their digests: their content; what calls asked for; the lines about tests
    and errors in a result; how many tests passed and failed by it, and the names of those that failed; whether thinking
    is signed; and how often each text stands among the first `counted` blocks of the context. `summaries` are those
    of stretches, by what they are called, their length and the positions."""

    def __init__(self) -> None:
        self.readings: dict[str, BlockContent] = {}
        self.calls: dict[str, CallFacts] = {}
        self.outcomes: dict[str, tuple[list[str], list[str]]] = {}
        self.runs: dict[str, tuple[int, int, tuple[str, ...]] | None] = {}
        self.signed: dict[str, bool] = {}
        self.unsigned: tuple[int, list[int]] = 0, []
        """The positions of thinking without a signature, among the first so many that think."""
        self.summaries: dict[tuple[object, ...], str] = {}
        self.texts = Counter[str]()
        self.counted = 0
        self.edits: dict[tuple[object, ...], Edit] = {}
        """What policies asked for, by author, kind, positions and payload."""
        self.outlines: dict[str, tuple[int, object]] = {}
        """Its turns, its rounds ... as they were worked out of it, each with the length that it had then."""


class Context:
    """The context `head` of `tree`. `dialect` is how its blocks are written ("" finds out), `params` the other members
    of its request and `markers` the lifetimes of its cache markers by position, where they are known."""

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
        """Positions of a call's answer, or of an answer's call, by position."""
        self.successor: dict[int, int] = {}
        """For OpenAI's reasoning items the position of the item that must follow them."""
        self.thinking: list[int] = []
        self.tools: list[int] = []
        self.images: list[int] = []
        self.spoken: list[int] = []
        """Positions at which a person speaks."""
        self.systems: list[int] = []
        """The indexes of messages whose role is system."""
        self.open_before: list[int] = [0]
        """How many calls before each message are answered in it or later; the last entry is for the end."""
        self.repairs: dict[tuple[object, ...], Edit] = {}
        """Repairs that were made of it: the same one is asked for again with every further edit."""
        self._places: dict[str, list[int]] = {}
        self._occurrence: list[int] = []
        self._targets: dict[int, Target] = {}
        self._ids: dict[str, list[int]] = {}
        self._open: dict[str, int] = {}
        self.said = SaidOnce()
        path = tree.path(head)
        self.dialect = dialect or _dialect([Item(tree[n].block, tree[n].place) for n in path])
        self._extend(path)

    def grown(self, head: int) -> Context:
        """This context where `head` continues it (it is changed in place); else a new one."""
        if head == self.head:
            return self
        if self.nodes and self.tree.holds(head, self.head):
            self._extend(self.tree.path(head, self.head))
            self.head = head
            return self
        return Context(self.tree, head, self.dialect, self.params)

    @classmethod
    def of_call(cls, tree: Tree, call: Call, head: int | None = None) -> Context:
        """The context that the agent had at `call`, with what its request says beyond; or one that continues it, up to
        `head`."""
        end = call.raw_head if head is None else head
        spelled = skeleton_of(tree, call, end)
        if spelled is None or spelled.dialect not in GRAMMARS:
            return cls(tree, end)
        request = Request((), spelled)
        known = lifetimes(request) if call.is_edited or tree.holds(end, call.sent_head) else {}
        return cls(tree, end, spelled.dialect, request.params, known)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def unanswered(self) -> list[int]:
        """Positions of calls that no block answers."""
        return sorted(self._open.values())

    def find(self, target: Target) -> int | None:
        """The position of `target`; None where it is not in this context."""
        alike = self._places.get(target.digest, ())
        if target.occurrence < len(alike):
            return alike[target.occurrence]
        known = self._ids.get(target.id, ()) if target.id else ()
        return known[0] if len(known) == 1 else None

    def found(self, target: Target) -> tuple[int | None, bool]:
        """What `find` and `has` say, looked up once."""
        alike = self._places.get(target.digest, ())
        if target.occurrence < len(alike):
            return alike[target.occurrence], True
        return self.find(target), False

    def has(self, target: Target) -> bool:
        """Whether the very block of `target` is here: then `find` finds the same however the context grows."""
        return target.occurrence < len(self._places.get(target.digest, ()))

    def target(self, position: int) -> Target:
        """What an edit of the block at `position` is about."""
        found = self._targets.get(position)
        if found is None:
            block = self.items[position].block
            side = CALL if is_call(block.kind) else ANSWER if is_result(block.kind) else ""
            id_ = f"{side} {self._id(block)}" if side else ""
            found = self._targets[position] = Target(block.digest, self._occurrence[position], id_)
        return found

    def stands_twice(self, position: int) -> bool:
        """Whether another block says the same as the one at `position`."""
        for later in range(self.said.counted, len(self.nodes)):
            self.said.texts[self.reading(later).text] += 1
        self.said.counted = len(self.nodes)
        return self.said.texts[self.reading(position).text] > 1

    def targets(self, positions: Iterable[int]) -> list[Target]:
        """As `target`, for many positions."""
        return [self.target(position) for position in positions]

    def position(self, node: int) -> int:
        """The position of a node of the tree. Raises `ValueError` where it is not on the path."""
        at = self.tree[node].depth - 1
        if not 0 <= at < len(self.nodes) or self.nodes[at] != node:
            raise ValueError(f"node {node} is not on the path")
        return at

    def reading(self, position: int) -> BlockContent:
        """What the block at `position` says."""
        block = self.items[position].block
        found = self.said.readings.get(block.digest)
        if found is None:
            found = self.said.readings[block.digest] = read(block)
        return found

    def message_at(self, position: int) -> Message | None:
        """The message that holds `position`."""
        index = self.message_of[position]
        return self.messages[index] if index >= 0 else None

    def is_alike(self, position: int, other: Item) -> bool:
        """Whether `other` may be the block at `position` with another text: it has its kind, role and id."""
        own = self.items[position]
        same = own.block.kind == other.block.kind and own.place.role == other.place.role
        return same and self._id(own.block) == self._id(other.block)

    def _id(self, block: Block) -> str:
        # Not remembered: the words of most blocks are never asked for.
        found = self.said.readings.get(block.digest) or read(block)
        return found.call_id or (found.name if block.kind == "function_call" else "")

    def _extend(self, path: Iterable[int]) -> None:
        for node in path:
            here = self.tree[node]
            self._add(node, Item(here.block, here.place))

    def _add(self, node: int, item: Item) -> None:
        at, kind = len(self.nodes), item.block.kind
        self.nodes.append(node)
        self.items.append(item)
        alike = self._places.setdefault(item.block.digest, [])
        self._occurrence.append(len(alike))
        alike.append(at)
        self.message_of.append(-1)
        if kind == TOOL:
            self.tools.append(at)
        if kind in IMAGES or (is_result(kind) and b'"type":"image"' in item.block.body):
            self.images.append(at)
        if item.place.section != "messages":
            return
        self._enter(at, kind, item)
        if item.place.role == "user" and not item.place.mark and kind != HEADER and not is_result(kind):
            self.spoken.append(at)
        if at - 1 in self.successor and self.successor[at - 1] < 0:
            self.successor[at - 1] = at if kind not in THINKING else -1
        if kind in THINKING:
            self.thinking.append(at)
            if kind == "reasoning" and self.dialect == RESPONSES:
                self.successor[at] = -1
        if is_call(kind):
            self._asks(at, self._id(item.block))
        elif is_result(kind):
            self._answers(at, self._id(item.block))
        elif kind == HEADER and item.place.role in ("tool", "function"):
            head = item.block.value()
            self._answers(at, str(head.get("tool_call_id") or head.get("name") or ""))

    def _enter(self, at: int, kind: str, item: Item) -> None:
        own = kind == HEADER or (self.dialect == RESPONSES and kind not in MESSAGE_PARTS)
        if own or not self.messages:
            self.open_before.append(0)
            if item.place.role == "system":
                self.systems.append(len(self.messages))
            self.messages.append(Message(at, at + 1, item.place.role))
        else:
            last = self.messages[-1]
            self.messages[-1] = Message(last.start, at + 1, last.role)
        self.message_of[at] = len(self.messages) - 1

    def _asks(self, at: int, id_: str) -> None:
        self._open[id_] = at
        self._ids.setdefault(f"{CALL} {id_}", []).append(at)

    def _answers(self, at: int, id_: str) -> None:
        self._ids.setdefault(f"{ANSWER} {id_}", []).append(at)
        call = self._open.pop(id_, None)
        if call is None:
            return
        self.partners[call] = (at,)
        self.partners[at] = (call,)
        for index in range(self.message_of[call] + 1, self.message_of[at] + 1):
            self.open_before[index] += 1
