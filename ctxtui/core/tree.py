"""The tree: a context is a path in it, a node names a whole prefix (design §2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, overload

from msgspec import Struct

from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.category import INDEX, category_of

ROOT: Final = 0
"""The empty context."""


class Node(Struct, frozen=True, gc=False):
    """One more block after the context `parent`.

    `id` is its index in the tree (a parent's is always smaller), `depth` the number of blocks up to and including it,
    `message` the number of messages so far, `turn` the number of user turns so far (0 before the first),
    `turn_start` the node whose block opened the current turn (`ROOT` before the first), `category` an index into
    `CATEGORIES`. `turn_state` says whether a user turn has begun and the assistant has not spoken yet (`_OPEN`), and
    whether the current message holds a tool result (`_RESULTS`): one member, as there is a node for each block.
    """

    id: int
    parent: int
    block: Block
    place: Place
    category: int
    depth: int
    message: int
    turn: int
    turn_start: int
    turn_state: int

    @property
    def kind(self) -> str:
        """The kind of this node's block."""
        return self.block.kind

    @property
    def opens_turn(self) -> bool:
        """Whether this node's block is the first of a user turn."""
        return self.turn_start == self.id


_EMPTY: Final = Node(ROOT, -1, Block("", "root", b"null"), Place(""), 0, 0, 0, 0, ROOT, 0)
_OPEN, _RESULTS = 1, 2
_ASSISTANT: Final = frozenset({"assistant", "model"})
_ASKING: Final = frozenset({"user", "image", "document"})
_FAR: Final = 64
"""From how many nodes on looking for the first of them costs less than going through them."""
_HELD: Final = 64
"""Answers of `Tree.holds` that are remembered."""
_FEW: Final = 1024
"""Kinds at places of which it is remembered what they do: a session has a dozen."""
_NOTHING, _ANSWERS, _RESULT, _ASKS, _HEADER, _ANSWER_HEADER = range(6)
"""What a block does to the turn: the assistant speaks, a call has its result, a person asks, a message begins."""
_EFFECTS: Final[dict[tuple[str, Place], tuple[int, int]]] = {}


def _effect(block: Block, place: Place) -> tuple[int, int]:
    """The category of a block, as an index, and what it does to the turn: both depend on its kind and place alone."""
    category, does = category_of(block, place), _NOTHING
    if block.kind == HEADER:
        does = _ANSWER_HEADER if place.role in _ASSISTANT else _HEADER
    elif place.section == "messages":
        if category == "tool_result":
            does = _RESULT
        elif place.role in _ASSISTANT or category == "tool_call":
            does = _ANSWERS
        elif category in _ASKING and place.mark != "meta":
            does = _ASKS
    if len(_EFFECTS) >= _FEW:
        _EFFECTS.clear()
    found = _EFFECTS[block.kind, place] = (INDEX[category], does)
    return found


class Tree:
    """An append-only tree of content-addressed blocks. Nodes are small integers; adding the same block twice to the
    same parent gives the same node. `guard` is held while a node is made: a lock where several threads make some."""

    guard: AbstractContextManager[object] | None = None

    def __init__(self) -> None:
        self._nodes: list[Node] = [_EMPTY]
        # Most contexts go on in one way only: what is to be looked up by key are the other ways.
        self._first: list[int] = [ROOT]
        """The first child of each node, `ROOT` for none."""
        self._others: dict[tuple[int, str, Place], int] = {}
        self._blocks: dict[str, Block] = {}
        self._held: dict[int, int] = {}
        """Of some nodes that were asked for, a context that holds each."""

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, node: int) -> Node:
        return self._nodes[node]

    def digest(self, node: int) -> str:
        """The digest of a node's block."""
        return self._nodes[node].block.digest

    def looks(self, node: int) -> tuple[str, int]:
        """The kind of a node's block and its category: for who goes through very many of them."""
        here = self._nodes[node]
        return here.kind, here.category

    @property
    def blocks(self) -> Mapping[str, Block]:
        """Every block in the tree, by digest, in order of first appearance."""
        return self._blocks

    def child(self, parent: int, block: Block, place: Place) -> int:
        """The node for `block` at `place` after the context `parent`, made if it is new."""
        if self._first[parent]:
            found = self._known(parent, block.digest, place)
            if found:
                return found
        guard = self.guard
        if guard is None:
            return self._make(parent, block, place)
        with guard:
            return self._known(parent, block.digest, place) or self._make(parent, block, place)

    def _known(self, parent: int, digest: str, place: Place) -> int:
        """The child of `parent` with this block at this place; `ROOT` where it has none."""
        found = self._first[parent]
        if not found:
            return ROOT
        first = self._nodes[found]
        if first.block.digest == digest and first.place == place:
            return found
        return self._others.get((parent, digest, place), ROOT)

    def find(self, head: int, items: Iterable[Item]) -> int:
        """The node of the context that `items` make of the context `head`; `ROOT` where no such node was made."""
        for block, place in items:
            head = self._known(head, block.digest, place)
            if head == ROOT:
                break
        return head

    def extend(self, head: int, items: Iterable[Item]) -> int:
        """The head of the context `head` followed by `items`."""
        for block, place in items:
            head = self.child(head, block, place)
        return head

    def _make(self, parent: int, block: Block, place: Place) -> int:
        up, new = self._nodes[parent], len(self._nodes)
        block = self._blocks.setdefault(block.digest, block)
        category, does = _EFFECTS.get((block.kind, place)) or _effect(block, place)
        message, turn, start, state = up.message, up.turn, up.turn_start, up.turn_state
        if does == _ANSWERS:
            state &= _RESULTS
        elif does == _RESULT:
            state |= _RESULTS
        elif does >= _HEADER:
            message += 1
            state = state & _OPEN if does == _HEADER else 0
        elif does == _ASKS and not state:
            turn, start, state = turn + 1, new, _OPEN
        # Where contexts go on in one way a node's depth is its number: one integer in memory, not two.
        depth = new if up.depth + 1 == new else up.depth + 1
        made = Node(new, up.id, block, place, category, depth, message, turn, start, state)
        self._nodes.append(made)
        self._first.append(ROOT)
        # Last of all: whoever reads meanwhile finds a child only when it is there.
        if self._first[parent]:
            self._others[parent, block.digest, place] = new
        else:
            self._first[parent] = new
        return new

    def path(self, head: int, after: int = ROOT) -> list[int]:
        """The nodes from just below `after` (which must be on the path) down to `head`, in prompt order."""
        found: list[int] = []
        while head != after and head != ROOT:
            found.append(head)
            head = self._nodes[head].parent
        found.reverse()
        return found

    def unknown(self, head: int, known: Container[int]) -> Sequence[Node]:
        """The nodes on the path to `head` that `known` lacks, in prompt order. It holds the root, and with a node all
        before it."""
        nodes = self._nodes
        if nodes[head].depth == head > _FAR and head - _FAR not in known:
            # Where contexts went on in one way all nodes up to here are on the path: many are found as one piece.
            first = bisect_left(range(head - _FAR), True, key=lambda node: node not in known)
            return nodes[first : head + 1]
        found: list[Node] = []
        while head not in known:
            here = nodes[head]
            found.append(here)
            head = here.parent
        found.reverse()
        return found

    def items(self, head: int, after: int = ROOT) -> list[Item]:
        """The blocks at their places on the path to `head`, in prompt order."""
        return [Item(self._nodes[n].block, self._nodes[n].place) for n in self.path(head, after)]

    def common(self, a: int, b: int) -> int:
        """The longest context that both `a` and `b` begin with."""
        nodes = self._nodes
        while a != b:
            # A parent is always smaller: the larger of the two is never above the other.
            if a > b:
                a = nodes[a].parent
            else:
                b = nodes[b].parent
        return a

    def holds(self, head: int, node: int) -> bool:
        """Whether `node` is on the path to `head`."""
        # A context that grows is asked again and again what it goes on from: what was found is gone through once.
        nodes, reached, at = self._nodes, self._held.get(node, node), head
        while at != reached and at > node:
            at = nodes[at].parent
        holds = at in (node, reached)
        if holds and head != node:
            if len(self._held) >= _HELD:
                self._held.clear()
            self._held[node] = head
        return holds

    def running(self) -> RunningPath:
        """Paths to one context after another; for one thread that only reads."""
        return RunningPath(self)

    def nodes(self, start: int = 0, end: int | None = None) -> Sequence[Node]:
        """Nodes in order of creation, from index `start` on (the root is index 0) up to the one before `end`."""
        return self._nodes[start:end]


class RunningPath:
    """The path to one context after another, found in the time that what differs between the two takes."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._path: list[int] = []

    def to(self, head: int) -> list[int]:
        """The nodes of the path to `head`, in prompt order: good until the next one is asked for, and not to be
        changed."""
        tree, path = self._tree, self._path
        shared = tree.common(path[-1], head) if path else ROOT
        del path[tree[shared].depth :]
        path.extend(tree.path(head, shared))
        return path


class PathItems(Sequence[Item]):
    """The items of the context whose nodes are `path`, each made where it is asked for."""

    def __init__(self, tree: Tree, path: Sequence[int]) -> None:
        self._tree = tree
        self._path = path

    def __len__(self) -> int:
        return len(self._path)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> list[Item]: ...

    def __getitem__(self, at: int | slice) -> Item | list[Item]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        node = self._tree[self._path[at]]
        return Item(node.block, node.place)
