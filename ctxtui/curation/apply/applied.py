"""What edits make of a context: sparse, so that staging costs what was changed and not what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.edit import REPAIR, Edit
from ctxtui.curation.context import Context

Edge = tuple[int, int]
"""A raw position, and which block there: the index among those that edits put in before it, or `RAW`."""
RAW: Final = 1 << 30
"""The raw block of a position, not one that is put in before it."""


class BlockChange(NamedTuple):
    """What becomes of the block at `position` (node `node` of the tree): `after` is what stands there, None where it
    is out. `why` is "" or the rule by which it had to go with another edit; then `edit` is that of the repair."""

    position: int
    node: int
    before: Block
    after: Block | None
    edit: Edit
    why: str = ""

    @property
    def repaired(self) -> bool:
        """Whether nobody asked for it: it goes so that the provider takes the rest."""
        return self.edit.author == REPAIR


class Insert(NamedTuple):
    """New items in front of the raw `position` (which may be the context's length)."""

    position: int
    items: tuple[Item, ...]
    edit: Edit


class Insertion(NamedTuple):
    """Something new: `text`, or a `block` that is moved, to stand in front of the raw position `at` (or at `FRONT`,
    `SYSTEM`). `inside` are the positions that it stands for: where they lie in one message of which something is left,
    it goes into that message."""

    at: int
    edit: Edit
    text: str = ""
    mark: str = ""
    inside: tuple[int, int] | None = None
    block: Block | None = None


class HeldEdit(NamedTuple):
    """An edit, or its part about `position` (-1: all of it), that is not done, and why."""

    edit: Edit
    position: int
    why: str


class Asleep(NamedTuple):
    """An edit whose target is not in this context; it wakes when that returns."""

    edit: Edit
    missing: int


class AppliedItem(NamedTuple):
    """A block of the sent context: the raw `node` it stands for (-1: none, it is new), the `edit` that changed it
    (None: as it was), whether it is pinned, and the raw `position` at which it stands (of a new one: before which)."""

    item: Item
    node: int
    edit: Edit | None = None
    pinned: bool = False
    position: int = -1


@dataclass(frozen=True)
class Applied:
    """A context under its edits.

    `changes` are by position, `inserts` in prompt order. `marks` gives the breakpoint edit of a position, the last one.
    `withheld` is thinking that leaves and that the provider is told to drop. `refused` says why the staged edits cannot
    be applied at all ("" where they can). `length` is that of the context then, which may have grown since.
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
    def touched(self) -> bool:
        """Whether anything leaves otherwise than it came, markers apart."""
        return bool(self.changes or self.inserts)

    @property
    def taken_along(self) -> int:
        """Blocks that go with those that edits are about, so that the provider takes the rest."""
        return sum(change.repaired and change.before.kind != HEADER for change in self.changes.values())

    @property
    def breaks_at(self) -> int | None:
        """The first position from which the sent prefix differs from the raw one; None where nothing does."""
        found = [min(self.changes)] if self.changes else []
        found += [self.inserts[0].position] if self.inserts else []
        return min(found) if found else None

    @property
    def dropped(self) -> tuple[tuple[int, Edit], ...]:
        """The raw nodes that are out, each with its edit, in prompt order."""
        return tuple((c.node, c.edit) for _, c in sorted(self.changes.items()) if c.after is None)

    @cached_property
    def without(self) -> Applied:
        """The same context without any edit."""
        return Applied(self.context, length=self.length)

    @property
    def unmarked(self) -> Applied:
        """The same without breakpoint edits."""
        return replace(self, marks={})

    @cached_property
    def items(self) -> tuple[AppliedItem, ...]:
        """What is left, in order, with what happened to each."""
        return tuple(self._items())

    @cached_property
    def edges(self) -> list[Edge]:
        """Where each of the items that leave stands."""
        found: list[Edge] = []
        here, order = -1, 0
        for one in self.items:
            order = order + 1 if one.position == here else 0
            here = one.position
            found.append((here, RAW if one.node >= 0 else order))
        return found

    @cached_property
    def sent(self) -> tuple[Item, ...]:
        """The blocks that leave, at their places."""
        return tuple(one.item for one in self.items)

    def _items(self) -> Iterator[AppliedItem]:
        items, nodes, pinned, here = self.context.items, self.context.nodes, self.pinned, 0
        new: dict[int, list[Insert]] = {}
        for one in self.inserts:
            new.setdefault(one.position, []).append(one)
        for position in sorted({*self.changes, *new, len(items) if self.length < 0 else self.length}):
            same = range(here, position)
            is_pinned = map(pinned.__contains__, same)
            yield from map(AppliedItem, items[here:position], nodes[here:position], repeat(None), is_pinned, same)
            for one in new.get(position, ()):
                yield from (AppliedItem(item, -1, one.edit, position=position) for item in one.items)
            change = self.changes.get(position)
            if change is not None and change.after is not None:
                changed = Item(change.after, items[position].place)
                yield AppliedItem(changed, change.node, change.edit, position in pinned, position)
            here = position + (change is not None)


def leaving(applied: Applied) -> list[Item]:
    """The items that leave under `applied`, as a reader of the request has them: what only a transcript says of a place
    does not hold for a block that an edit put there."""
    return [
        one.item if one.node >= 0 else Item(one.item.block, one.item.place._replace(mark="")) for one in applied.items
    ]
