"""A tree in columns, as another process has made it: what stands at a node is made where it is asked for.

An object for each node and block of a long session takes ten times as much memory as its columns do, and seconds to
make. Bodies are packed some at a time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast, overload

from ctxtui.core.block import Block, Place
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Node, PackedBlocks, PackedNodes, Tree
from ctxtui.dataclasses import dataclass

Packer = Callable[[bytes], bytes]
"""Packs bytes, or gives back those that were packed."""

_PIECE: Final = 1 << 14
"""Bytes of bodies that are packed together, and unpacked for one of them."""
_UNPACKED: Final = 16
"""Pieces that are kept unpacked: blocks are mostly asked for one behind the other."""
_MADE: Final = 2048
"""Blocks that are kept as they were made: those on a screen are asked for again and again."""
_DIGEST: Final = 16
"""Bytes of a block's digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockColumns:
    """Blocks in order of first appearance: `digests` one behind the other, `kinds` as indexes into `names`, where each
    body `starts` among all (and, last, where they end), bodies in `pieces` that begin at the numbers of blocks in
    `firsts`; `order` are the numbers of blocks by digest."""

    digests: bytes
    kinds: array[int]
    names: Sequence[str]
    starts: array[int]
    pieces: Sequence[bytes]
    firsts: Sequence[int]
    order: array[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTree:
    """A tree: a column for each member of its nodes (`states` are those of turns), its blocks by number, and how the
    tree goes on from each node."""

    parents: array[int]
    blocks: array[int]
    places: array[int]
    place_names: Sequence[Place]
    categories: array[int]
    depths: array[int]
    messages: array[int]
    turns: array[int]
    turn_starts: array[int]
    states: array[int]
    firsts: array[int]
    others: Mapping[tuple[int, str, Place], int]
    made: BlockColumns


def pack(tree: Tree, packer: Packer) -> PackedTree | None:
    """The columns of a tree, with bodies packed by `packer`; None where a digest is none of ours, or a number is too
    large for its column."""
    nodes = tree.nodes()
    numbers = {digest: number for number, digest in enumerate(tree.blocks)}
    places: dict[Place, int] = {}
    numbers.setdefault(nodes[0].block.digest, 0)
    try:
        made = _blocks(tree, packer)
        firsts, others = tree.ways()
        return PackedTree(
            parents=array("i", [node.parent for node in nodes]),
            blocks=array("i", [numbers[node.block.digest] for node in nodes]),
            places=array("H", [places.setdefault(node.place, len(places)) for node in nodes]),
            place_names=tuple(places),
            categories=array("B", [node.category for node in nodes]),
            depths=array("i", [node.depth for node in nodes]),
            messages=array("i", [node.message for node in nodes]),
            turns=array("i", [node.turn for node in nodes]),
            turn_starts=array("i", [node.turn_start for node in nodes]),
            states=array("B", [node.turn_state for node in nodes]),
            firsts=array("i", firsts),
            others=others,
            made=made,
        )
    except (ValueError, OverflowError):
        return None


def _blocks(tree: Tree, packer: Packer) -> BlockColumns:
    """Raises `ValueError` where a digest is not what `canonical.digest` gives."""
    digests, kinds, starts, names = bytearray(), array("H"), array("Q", [0]), dict[str, int]()
    pieces, firsts, piece, whole = list[bytes](), list[int](), list[bytes](), 0
    held = 0
    for number, block in enumerate(tree.blocks.values()):
        raw = bytes.fromhex(block.digest)
        if len(raw) != _DIGEST or raw.hex() != block.digest:
            raise ValueError(f"a digest of another kind: {block.digest}")
        digests += raw
        kinds.append(names.setdefault(block.kind, len(names)))
        if not piece:
            firsts.append(number)
        piece.append(block.body)
        held += len(block.body)
        whole += len(block.body)
        starts.append(whole)
        if held >= _PIECE:
            pieces.append(packer(b"".join(piece)))
            piece, held = [], 0
    if piece:
        pieces.append(packer(b"".join(piece)))
    found = bytes(digests)
    order = sorted(range(len(kinds)), key=lambda number: found[_DIGEST * number : _DIGEST * number + _DIGEST])
    return BlockColumns(
        digests=found,
        kinds=kinds,
        names=tuple(names),
        starts=starts,
        pieces=tuple(pieces),
        firsts=tuple(firsts),
        order=array("I", order),
    )


def unpack_into(tree: Tree, packed: PackedTree, unpacker: Packer) -> None:
    """Let `tree`, in which nothing stands yet, be the packed one; it grows as any other. Raises `ValueError` where
    something does stand in it."""
    blocks = BlocksByDigest(packed.made, unpacker)
    nodes = NodeColumns(packed, blocks, tree[ROOT])
    tree.adopt(nodes, array("i", packed.firsts), dict(packed.others), blocks)


class BlocksByDigest(PackedBlocks):
    """Every block of a tree by digest, in order of first appearance: the packed ones, then those that came since."""

    def __init__(self, packed: BlockColumns, unpacker: Packer) -> None:
        self._packed = packed
        self._unpacker = unpacker
        self._since: dict[str, Block] = {}
        self._pieces: dict[int, bytes] = {}
        self._made: dict[int, Block] = {}

    def __len__(self) -> int:
        return len(self._packed.kinds) + len(self._since)

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._packed.kinds)):
            yield self.digest(number)
        yield from self._since

    def __getitem__(self, digest: str) -> Block:
        number = self._number(digest)
        return self._since[digest] if number < 0 else self.block(number)

    def __contains__(self, digest: object) -> bool:
        return digest in self._since or (isinstance(digest, str) and self._number(digest) >= 0)

    def setdefault(self, digest: str, block: Block) -> Block:
        """The block of this digest, `block` where there is none yet."""
        number = self._number(digest)
        return self._since.setdefault(digest, block) if number < 0 else self.block(number)

    def digest(self, number: int) -> str:
        """The digest of a packed block."""
        return self._packed.digests[_DIGEST * number : _DIGEST * number + _DIGEST].hex()

    def kind(self, number: int) -> str:
        """The kind of a packed block."""
        return self._packed.names[self._packed.kinds[number]]

    def block(self, number: int) -> Block:
        """A packed block."""
        found = self._made.get(number)
        if found is None:
            # Two threads may both make one, and both forget: nothing is wrong then.
            if len(self._made) >= _MADE:
                self._made = {}
            found = self._made[number] = Block(self.digest(number), self.kind(number), self.body(number))
        return found

    def packed_block(self, number: int) -> Block:
        """A packed block of which nothing is made before it is asked for: for who holds many of them."""
        return _block(self, number)

    def body(self, number: int) -> bytes:
        """The body of a packed block."""
        packed = self._packed
        piece = bisect_right(packed.firsts, number) - 1
        bodies = self._pieces.get(piece)
        if bodies is None:
            kept = list(self._pieces.items())[1 - _UNPACKED :]
            bodies = self._unpacker(packed.pieces[piece])
            self._pieces = {**dict(kept), piece: bodies}
        before = packed.starts[packed.firsts[piece]]
        return bodies[packed.starts[number] - before : packed.starts[number + 1] - before]

    def _number(self, digest: str) -> int:
        """The number of a packed block; -1 where there is none of this digest."""
        try:
            wanted = bytes.fromhex(digest)
        except ValueError:
            return -1
        digests, order = self._packed.digests, self._packed.order
        at = bisect_left(order, wanted, key=lambda number: digests[_DIGEST * number : _DIGEST * number + _DIGEST])
        # A digest in other letters is another one.
        return order[at] if at < len(order) and self.digest(order[at]) == digest else -1


class NodeColumns(PackedNodes):
    """The nodes of a tree: the packed ones, each made where it is asked for, then those that came since."""

    def __init__(self, packed: PackedTree, blocks: BlocksByDigest, root: Node) -> None:
        self.packed = packed
        self.by_digest = blocks
        self.root = root
        self._many = len(packed.parents)
        self._since: list[Node] = []

    def __len__(self) -> int:
        return self._many + len(self._since)

    @overload
    def __getitem__(self, at: int) -> Node: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Node]: ...

    def __getitem__(self, at: int | slice) -> Node | Sequence[Node]:
        if isinstance(at, slice):
            return _Stretch(self, range(len(self))[at])
        if at < 0:
            at += len(self)
        if at >= self._many:
            return self._since[at - self._many]
        if at <= 0:
            if at < 0:
                raise IndexError("no such node")
            return self.root
        return _node(self, at)

    def append(self, node: Node) -> None:
        """One more."""
        self._since.append(node)

    def digest(self, node: int) -> str:
        """The digest of a node's block."""
        here = ROOT < node < self._many
        return self.by_digest.digest(self.packed.blocks[node]) if here else self[node].block.digest

    def looks(self, node: int) -> tuple[str, int]:
        """The kind of a node's block and its category."""
        packed, made = self.packed, self.packed.made
        if not ROOT < node < self._many:
            return self[node].kind, self[node].category
        return made.names[made.kinds[packed.blocks[node]]], packed.categories[node]

    def climb(self, head: int, after: int) -> list[int]:
        """The nodes from `head` up to the one below `after` (or the root)."""
        found: list[int] = []
        many, parents = self._many, self.packed.parents
        while head != after and head != ROOT:
            found.append(head)
            head = parents[head] if head < many else self._since[head - many].parent
        return found


class _Stretch(Sequence[Node]):
    """Some of the nodes, one behind the other."""

    def __init__(self, nodes: NodeColumns, which: range) -> None:
        self._nodes = nodes
        self._which = which

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, at: int) -> Node: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Node]: ...

    def __getitem__(self, at: int | slice) -> Node | Sequence[Node]:
        return _Stretch(self._nodes, self._which[at]) if isinstance(at, slice) else self._nodes[self._which[at]]

    def __iter__(self) -> Iterator[Node]:
        return map(self._nodes.__getitem__, self._which)


class PackedNode:
    """One node of the columns: the members of `Node`."""

    __slots__ = ("_of", "id")

    def __init__(self, of: NodeColumns, id_: int) -> None:
        self._of = of
        self.id = id_

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedNode) and other.id == self.id and other._of is self._of

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"PackedNode(id={self.id}, parent={self.parent}, block={self.block!r}, place={self.place!r})"

    @property
    def parent(self) -> int:
        """As `Node.parent`; all others alike."""
        return self._of.packed.parents[self.id]

    @property
    def kind(self) -> str:
        return self._of.by_digest.kind(self._of.packed.blocks[self.id])

    @property
    def block(self) -> Block:
        return self._of.by_digest.block(self._of.packed.blocks[self.id])

    @property
    def place(self) -> Place:
        return self._of.packed.place_names[self._of.packed.places[self.id]]

    @property
    def category(self) -> int:
        return self._of.packed.categories[self.id]

    @property
    def depth(self) -> int:
        return self._of.packed.depths[self.id]

    @property
    def message(self) -> int:
        return self._of.packed.messages[self.id]

    @property
    def turn(self) -> int:
        return self._of.packed.turns[self.id]

    @property
    def turn_start(self) -> int:
        return self._of.packed.turn_starts[self.id]

    @property
    def turn_state(self) -> int:
        return self._of.packed.states[self.id]

    @property
    def opens_turn(self) -> bool:
        return self.turn_start == self.id


class PackedBlock:
    """One block of the columns: the members of `Block`."""

    __slots__ = ("_number", "_of")

    def __init__(self, of: BlocksByDigest, number: int) -> None:
        self._of = of
        self._number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block | PackedBlock) and other.digest == self.digest and other.kind == self.kind

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[type[Block], tuple[str, str, bytes]]:
        return Block, (self.digest, self.kind, self.body)

    @property
    def digest(self) -> str:
        return self._of.digest(self._number)

    @property
    def kind(self) -> str:
        return self._of.kind(self._number)

    @property
    def body(self) -> bytes:
        return self._of.body(self._number)

    def value(self) -> Json:
        return self._of.block(self._number).value()

    def member(self, key: str) -> Json:
        return self._of.block(self._number).member(key)


_block: Final = cast("Callable[[BlocksByDigest, int], Block]", PackedBlock)
"""It has every member of a block."""
_node: Final = cast("Callable[[NodeColumns, int], Node]", PackedNode)
"""It has every member of a node."""
