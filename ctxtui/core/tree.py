"""The tree of contexts: a context is a path in it, a node identifies a whole prefix."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, overload

from msgspec import Struct

from ctxtui.core.block import ASSISTANT, HEADER, Block, Item, Place
from ctxtui.core.category import INDEX, category_of

ROOT: Final = 0
"""The empty context."""


class Node(Struct, frozen=True, gc=False):
    """One more block after the context `parent`.

    - `id`: its index in the tree (a parent's is always smaller).
    - `place`: the block's section and role in the request.
    - `category`: an index into `category.CATEGORIES`.
    - `depth`: number of blocks up to and including it.
    - `message`: number of messages so far; `turn`: number of user turns so far (0 before the first).
    - `turn_start`: the node whose block opened the current turn (`ROOT` before the first).
    - `turn_state`: bits: the assistant has not answered the turn yet (`_OPEN`), the message has a tool result
      (`_RESULTS`).
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
        return self.block.kind

    @property
    def opens_turn(self) -> bool:
        return self.turn_start == self.id


_EMPTY: Final = Node(ROOT, -1, Block("", "root", b"null"), Place(""), 0, 0, 0, 0, ROOT, 0)
_OPEN, _RESULTS = 1, 2
_ASKING: Final = frozenset({"user", "image", "document"})
"""Categories of blocks with which a user opens a turn."""
_MIN_BISECT_NODES: Final = 64
"""Minimum number of nodes for which a binary search is cheaper than walking them."""
_HOLDS_CACHE_SIZE: Final = 64
_EFFECT_CACHE_SIZE: Final = 1024
_NOTHING, _ANSWERS, _RESULT, _ASKS, _HEADER, _ANSWER_HEADER = range(6)
"""Effects of a block on the turn."""
_EFFECTS: Final[dict[tuple[str, Place], tuple[int, int]]] = {}


def _effect_on_turn(block: Block, place: Place) -> tuple[int, int]:
    """The category index of a block and its effect on the turn, by kind and place alone."""
    category, turn_effect = category_of(block, place), _NOTHING
    if block.kind == HEADER:
        turn_effect = _ANSWER_HEADER if place.role in ASSISTANT else _HEADER
    elif place.section == "messages":
        if category == "tool_result":
            turn_effect = _RESULT
        elif place.role in ASSISTANT or category == "tool_call":
            turn_effect = _ANSWERS
        elif category in _ASKING and place.mark != "meta":
            turn_effect = _ASKS
    if len(_EFFECTS) >= _EFFECT_CACHE_SIZE:
        _EFFECTS.clear()
    effect = _EFFECTS[block.kind, place] = (INDEX[category], turn_effect)
    return effect


class Tree:
    """An append-only tree of content-addressed blocks. A context is named by its last node, an integer.

    `guard` is held while a node is made: a lock if several threads make nodes.
    """

    guard: AbstractContextManager[object] | None = None

    def __init__(self) -> None:
        self._nodes: list[Node] = [_EMPTY]
        # Most nodes have a single child: only further children need a lookup by key.
        self._first: list[int] = [ROOT]
        """The first child of each node, `ROOT` for none."""
        self._others: dict[tuple[int, str, Place], int] = {}
        self._blocks: dict[str, Block] = {}
        self._held: dict[int, int] = {}
        """For some queried nodes, a context that holds each."""

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, node: int) -> Node:
        return self._nodes[node]

    def digest(self, node: int) -> str:
        return self._nodes[node].block.digest

    def kind_and_category(self, node: int) -> tuple[str, int]:
        # One lookup, for loops over very many nodes.
        here = self._nodes[node]
        return here.kind, here.category

    @property
    def blocks(self) -> Mapping[str, Block]:
        """The blocks of the tree by digest, in order of first appearance."""
        return self._blocks

    def child(self, parent: int, block: Block, place: Place) -> int:
        """The node for `block` at `place` after the context `parent`, created if new."""
        if self._first[parent]:
            node = self._find_child(parent, block.digest, place)
            if node:
                return node
        guard = self.guard
        if guard is None:
            return self._make_node(parent, block, place)
        with guard:
            return self._find_child(parent, block.digest, place) or self._make_node(parent, block, place)

    def _find_child(self, parent: int, digest: str, place: Place) -> int:
        """The child of `parent` with this block at this place; `ROOT` if it has none."""
        child = self._first[parent]
        if not child:
            return ROOT
        first = self._nodes[child]
        if first.block.digest == digest and first.place == place:
            return child
        return self._others.get((parent, digest, place), ROOT)

    def find(self, head: int, items: Iterable[Item]) -> int:
        """The node that `items` lead to from context `head`; `ROOT` if there is none."""
        for block, place in items:
            head = self._find_child(head, block.digest, place)
            if head == ROOT:
                break
        return head

    def extend(self, head: int, items: Iterable[Item]) -> int:
        """Append `items` to the context `head`; returns the new one."""
        for block, place in items:
            head = self.child(head, block, place)
        return head

    def _make_node(self, parent: int, block: Block, place: Place) -> int:
        parent_node, new = self._nodes[parent], len(self._nodes)
        block = self._blocks.setdefault(block.digest, block)
        category, turn_effect = _EFFECTS.get((block.kind, place)) or _effect_on_turn(block, place)
        message, turn, start, state = (
            parent_node.message,
            parent_node.turn,
            parent_node.turn_start,
            parent_node.turn_state,
        )
        if turn_effect == _ANSWERS:
            state &= _RESULTS
        elif turn_effect == _RESULT:
            state |= _RESULTS
        elif turn_effect >= _HEADER:
            message += 1
            state = state & _OPEN if turn_effect == _HEADER else 0
        elif turn_effect == _ASKS and not state:
            turn, start, state = turn + 1, new, _OPEN
        # In a tree without branches a node's depth equals its number: sharing one integer saves memory.
        depth = new if parent_node.depth + 1 == new else parent_node.depth + 1
        node = Node(new, parent_node.id, block, place, category, depth, message, turn, start, state)
        self._nodes.append(node)
        self._first.append(ROOT)
        # Last, so that a concurrent reader finds a child only after the node exists.
        if self._first[parent]:
            self._others[parent, block.digest, place] = new
        else:
            self._first[parent] = new
        return new

    def path(self, head: int, after: int = ROOT) -> list[int]:
        """The nodes after `after` (which must be on the path) down to `head`, in prompt order."""
        nodes: list[int] = []
        while head != after and head != ROOT:
            nodes.append(head)
            head = self._nodes[head].parent
        nodes.reverse()
        return nodes

    def missing_nodes(self, head: int, held_nodes: Container[int]) -> Sequence[Node]:
        """The nodes on the path to `head` that `held_nodes` lacks, in prompt order.

        `held_nodes` must hold the root, and with a node all its ancestors.
        """
        nodes = self._nodes
        if nodes[head].depth == head > _MIN_BISECT_NODES and head - _MIN_BISECT_NODES not in held_nodes:
            # Without branches all nodes up to here are on the path: a slice finds them at once.
            first = bisect_left(range(head - _MIN_BISECT_NODES), True, key=lambda node: node not in held_nodes)
            return nodes[first : head + 1]
        missing: list[Node] = []
        while head not in held_nodes:
            here = nodes[head]
            missing.append(here)
            head = here.parent
        missing.reverse()
        return missing

    def items(self, head: int, after: int = ROOT) -> list[Item]:
        return [Item(self._nodes[n].block, self._nodes[n].place) for n in self.path(head, after)]

    def common(self, a: int, b: int) -> int:
        """The longest common prefix of the contexts `a` and `b`."""
        nodes = self._nodes
        while a != b:
            # A parent is always smaller, so the larger of the two is never an ancestor of the other.
            if a > b:
                a = nodes[a].parent
            else:
                b = nodes[b].parent
        return a

    def holds(self, head: int, node: int) -> bool:
        """Whether `node` is on the path to `head`."""
        # For a growing context the same node is queried again and again: walk only from the last result on.
        nodes, reached, position = self._nodes, self._held.get(node, node), head
        while position != reached and position > node:
            position = nodes[position].parent
        holds = position in (node, reached)
        if holds and head != node:
            if len(self._held) >= _HOLDS_CACHE_SIZE:
                self._held.clear()
            self._held[node] = head
        return holds

    def running(self) -> RunningPath:
        """A `RunningPath` over this tree, for one thread."""
        return RunningPath(self)

    def nodes(self, start: int = 0, end: int | None = None) -> Sequence[Node]:
        """Nodes in order of creation, from index `start` (the root is index 0) up to before `end`."""
        return self._nodes[start:end]


class RunningPath:
    """The path to one context after another, in time proportional to their difference."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._path: list[int] = []

    def to(self, head: int) -> list[int]:
        """The nodes of the path to `head`, in prompt order.

        Valid until the next call; do not modify.
        """
        tree, path = self._tree, self._path
        shared = tree.common(path[-1], head) if path else ROOT
        del path[tree[shared].depth :]
        path.extend(tree.path(head, shared))
        return path


class PathItems(Sequence[Item]):
    """The items of the context with the nodes `path`, each made on access."""

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
