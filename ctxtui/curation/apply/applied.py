"""The result of applying edits to a context; sparse, so that staging costs in proportion to the changes."""

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
    """Change of the block at `position` (node `node` of the tree): `after` is the new block, None if removed.

    `why` is "" or the rule that removes it along with another edit; then `edit` is the repair.
    """

    position: int
    node: int
    before: Block
    after: Block | None
    edit: Edit
    why: str = ""

    @property
    def is_repair(self) -> bool:
        """Whether it is a repair: not requested, but needed so that the provider accepts the rest."""
        return self.edit.author == REPAIR


class Insert(NamedTuple):
    """New items before the raw `position` (which may be the context's length)."""

    position: int
    items: tuple[Item, ...]
    edit: Edit


class Insertion(NamedTuple):
    """A requested insertion: `text`, a moved `block`, or the `items` of whole messages, before the raw position `at`
    (`insertion.FRONT` and `insertion.SYSTEM` too).

    `inside` is the range of positions that it replaces: if they are in one message that is not removed entirely, it
    goes into that message.
    """

    at: int
    edit: Edit
    text: str = ""
    mark: str = ""
    inside: tuple[int, int] | None = None
    block: Block | None = None
    items: tuple[Item, ...] = ()


class HeldEdit(NamedTuple):
    """An edit, or its part about `position` (-1: all of it), that cannot be done, and why."""

    edit: Edit
    position: int
    why: str


class Asleep(NamedTuple):
    """An edit whose target is not in this context; it takes effect again if the target returns."""

    edit: Edit
    missing: int


class AppliedItem(NamedTuple):
    """A block of the sent context.

    `node` is its raw node (-1: a new block), `edit` the edit that changed it (None: unchanged), `pinned` whether it is
    pinned, `position` its raw position (of a new block: the one it is inserted before).
    """

    item: Item
    node: int
    edit: Edit | None = None
    pinned: bool = False
    position: int = -1


@dataclass(frozen=True)
class Applied:
    """A context under its edits.

    `changes` are by position, `inserts` in prompt order. `marks` is the last breakpoint edit of each position.
    `withheld` is thinking that is sent although the provider is told to drop it. `refused` says why the staged edits
    cannot be applied at all ("": they can). `length` is the context's length at that time; it may have grown since.
    """

    context: Context
    _: KW_ONLY
    changes: Mapping[int, BlockChange] = field(default_factory=dict)
    inserts: tuple[Insert, ...] = ()
    marks: Mapping[int, Edit] = field(default_factory=dict)
    pinned: frozenset[int] = frozenset()
    asleep: tuple[Asleep, ...] = ()
    held: tuple[HeldEdit, ...] = ()
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
        """Number of blocks removed by repairs, so that the provider accepts the rest."""
        return sum(change.is_repair and change.before.kind != HEADER for change in self.changes.values())

    @property
    def breaks_at(self) -> int | None:
        """The first position at which the sent prefix differs from the raw one; None if it does not."""
        positions = [min(self.changes)] if self.changes else []
        positions += [self.inserts[0].position] if self.inserts else []
        return min(positions) if positions else None

    @property
    def dropped(self) -> tuple[tuple[int, Edit], ...]:
        """The removed raw nodes, each with its edit, in prompt order."""
        return tuple((c.node, c.edit) for _, c in sorted(self.changes.items()) if c.after is None)

    @cached_property
    def without_edits(self) -> Applied:
        """The same context without any edit."""
        return Applied(self.context, length=self.length)

    @property
    def without_breakpoints(self) -> Applied:
        """The same without breakpoint edits."""
        return replace(self, marks={})

    @cached_property
    def items(self) -> tuple[AppliedItem, ...]:
        """The items to be sent, in order, each with the edit that changed it."""
        return tuple(self._items())

    @cached_property
    def positions(self) -> list[Position]:
        """The position of each sent item."""
        found: list[Position] = []
        here, order = -1, 0
        for one in self.items:
            order = order + 1 if one.position == here else 0
            here = one.position
            found.append((here, RAW if one.node >= 0 else order))
        return found

    @cached_property
    def sent(self) -> tuple[Item, ...]:
        """The blocks to be sent, with their places."""
        return tuple(one.item for one in self.items)

    def _items(self) -> Iterator[AppliedItem]:
        items, nodes, pinned, here = self.context.items, self.context.nodes, self.pinned, 0
        new: dict[int, list[Insert]] = {}
        for insert in self.inserts:
            new.setdefault(insert.position, []).append(insert)
        for position in sorted({*self.changes, *new, len(items) if self.length < 0 else self.length}):
            same = range(here, position)
            is_pinned = map(pinned.__contains__, same)
            yield from map(AppliedItem, items[here:position], nodes[here:position], repeat(None), is_pinned, same)
            for insert in new.get(position, ()):
                yield from (AppliedItem(item, -1, insert.edit, position=position) for item in insert.items)
            change = self.changes.get(position)
            if change is not None and change.after is not None:
                changed = Item(change.after, items[position].place)
                yield AppliedItem(changed, change.node, change.edit, position in pinned, position)
            here = position + (change is not None)


def sent_items(applied: Applied) -> list[Item]:
    """The items to be sent under `applied`, as a reader of the request sees them.

    A transcript's marks do not hold for blocks inserted by edits.
    """
    return [
        item.item if item.node >= 0 else Item(item.item.block, item.item.place._replace(mark=""))
        for item in applied.items
    ]
