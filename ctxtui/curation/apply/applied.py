"""Values that describe a context after its edits are applied (`apply.apply` makes them).

They list only changed blocks, so that staging an edit costs time in proportion to the changes, not to the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.edit import REPAIR, Edit
from ctxtui.curation.context import Context

Position = tuple[int, int]
"""A raw position, and a block there: an index among the blocks inserted before it, or `RAW`."""
RAW: Final = 1 << 30
"""The raw block of a position, as opposed to one inserted before it."""


class BlockChange(NamedTuple):
    """Change of one existing block by an edit or a repair.

    - `position`, `node`: the raw position and the node of the tree.
    - `before`, `after`: the block as recorded and as sent; `after` is None if the block is removed.
    - `edit`: the edit, or repair, that makes the change.
    - `why`: the rule that a repair follows; "" for a requested change.
    """

    position: int
    node: int
    before: Block
    after: Block | None
    edit: Edit
    why: str = ""

    @property
    def is_repair(self) -> bool:
        """Whether the change was not requested, but needed for the provider to accept the request."""
        return self.edit.author == REPAIR


class Insert(NamedTuple):
    """New items before the raw `position` (which may be the context's length)."""

    position: int
    items: tuple[Item, ...]
    edit: Edit


class Insertion(NamedTuple):
    """A requested insertion: `text`, a moved `block`, or the `items` of whole messages.

    - `at`: the raw position that it should precede, or `insertion.FRONT` or `insertion.SYSTEM`.
    - `mark`: the mark of its blocks (see `Place`).
    - `inside`: the first and the last position of what it replaces; None: it replaces nothing.
    - `origin`: the position of a moved block.
    """

    at: int
    edit: Edit
    text: str = ""
    mark: str = ""
    inside: tuple[int, int] | None = None
    block: Block | None = None
    items: tuple[Item, ...] = ()
    origin: int | None = None


class RejectedEdit(NamedTuple):
    """An edit that cannot be done, with the reason `why`.

    `position` is the raw position for which it cannot be done; -1: none of the edit is done.
    """

    edit: Edit
    position: int
    why: str


class EditWithoutTarget(NamedTuple):
    """An edit without effect, because `missing` of its targets are not in this context."""

    edit: Edit
    missing: int


class AppliedItem(NamedTuple):
    """A block of the sent context.

    - `node`: its raw node; -1 for a new block.
    - `edit`: the edit that changed it; None if unchanged.
    - `position`: its raw position; for a new block, the position that it precedes.
    """

    item: Item
    node: int
    edit: Edit | None = None
    pinned: bool = False
    position: int = -1


@dataclass(frozen=True)
class Applied:
    """A context with its edits applied.

    - `changes`: changed blocks by raw position.
    - `inserts`: new blocks, in prompt order.
    - `marks`: the last breakpoint edit of each position.
    - `repairs`: edits made so that the provider accepts the request.
    - `refused`: why the edits cannot be applied at all; "" if they can.
    - `withheld`: positions of thinking that an earlier change made invalid; it is sent, and the provider drops it.
    - `length`: the length of the context when the edits were applied; it may have grown since. -1: all of it.
    """

    context: Context
    _: KW_ONLY
    changes: Mapping[int, BlockChange] = field(default_factory=dict)
    inserts: tuple[Insert, ...] = ()
    marks: Mapping[int, Edit] = field(default_factory=dict)
    pinned: frozenset[int] = frozenset()
    without_target: tuple[EditWithoutTarget, ...] = ()
    rejected: tuple[RejectedEdit, ...] = ()
    repairs: tuple[Edit, ...] = ()
    refused: str = ""
    withheld: tuple[int, ...] = ()
    length: int = -1

    @property
    def is_changed(self) -> bool:
        """Whether any block of the request differs, breakpoints aside."""
        return bool(self.changes or self.inserts)

    @property
    def repair_count(self) -> int:
        """Number of blocks that repairs remove or change; headers do not count."""
        return sum(change.is_repair and change.before.kind != HEADER for change in self.changes.values())

    @property
    def breaks_at(self) -> int | None:
        """The first position at which the sent prefix differs from the raw one; None if it does not."""
        positions = [min(self.changes)] if self.changes else []
        positions += [self.inserts[0].position] if self.inserts else []
        return min(positions) if positions else None

    def is_removed(self, position: int) -> bool:
        change = self.changes.get(position)
        return change is not None and change.after is None

    @property
    def dropped(self) -> tuple[tuple[int, Edit], ...]:
        return tuple((c.node, c.edit) for _, c in sorted(self.changes.items()) if c.after is None)

    @cached_property
    def without_edits(self) -> Applied:
        return Applied(self.context, length=self.length)

    @property
    def without_breakpoints(self) -> Applied:
        return replace(self, marks={})

    @cached_property
    def items(self) -> tuple[AppliedItem, ...]:
        return tuple(self._iter_items())

    @cached_property
    def positions(self) -> list[Position]:
        """The position of each sent item."""
        positions: list[Position] = []
        current, order = -1, 0
        for item in self.items:
            order = order + 1 if item.position == current else 0
            current = item.position
            positions.append((current, RAW if item.node >= 0 else order))
        return positions

    @cached_property
    def sent(self) -> tuple[Item, ...]:
        return tuple(item.item for item in self.items)

    def _iter_items(self) -> Iterator[AppliedItem]:
        items, nodes, pinned, next_position = self.context.items, self.context.nodes, self.pinned, 0
        new: dict[int, list[Insert]] = {}
        for insert in self.inserts:
            new.setdefault(insert.position, []).append(insert)
        for position in sorted({*self.changes, *new, len(items) if self.length < 0 else self.length}):
            same = range(next_position, position)
            is_pinned = map(pinned.__contains__, same)
            yield from map(
                AppliedItem, items[next_position:position], nodes[next_position:position], repeat(None), is_pinned, same
            )
            for insert in new.get(position, ()):
                yield from (AppliedItem(item, -1, insert.edit, position=position) for item in insert.items)
            change = self.changes.get(position)
            if change is not None and change.after is not None:
                changed = Item(change.after, items[position].place)
                yield AppliedItem(changed, change.node, change.edit, position in pinned, position)
            next_position = position + (change is not None)


def sent_items(applied: Applied) -> list[Item]:
    """The items to be sent under `applied`; those that edits insert are without their marks.

    Marks come from a transcript: a reader of the sent request would not find them.
    """
    return [
        item.item if item.node >= 0 else Item(item.item.block, item.item.place._replace(mark=""))
        for item in applied.items
    ]
