"""Edits applied to a context: the overlay over a path, which itself never changes (design §6 law 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ctxtui.core.block import Block, Item
from ctxtui.core.edit import DROP, PIN, REPLACE, Edit, Target, in_force
from ctxtui.core.tree import Tree

USER: Final = "user"
"""The author whose edits no pin stops."""


class AppliedItem(NamedTuple):
    """A block of the sent context: the raw `node` it stands for, the `edit` that changed it (None: as it was), and
    whether it is pinned."""

    item: Item
    node: int
    edit: Edit | None = None
    pinned: bool = False


class Applied(NamedTuple):
    """What edits make of a context.

    `items` are what is left, in order. `dropped` are the raw nodes taken out, each with its edit. `asleep` are edits
    whose target is not in this context (or whose replacement is not known): they wake when it comes back. `held` are
    edits that a pin stops.
    """

    items: tuple[AppliedItem, ...]
    dropped: tuple[tuple[int, Edit], ...] = ()
    asleep: tuple[Edit, ...] = ()
    held: tuple[Edit, ...] = ()

    @property
    def sent(self) -> tuple[Item, ...]:
        """The blocks that leave, at their places."""
        return tuple(one.item for one in self.items)


def apply(tree: Tree, raw_head: int, edits: Iterable[Edit], new: Mapping[str, Block] | None = None) -> Applied:
    """The context `raw_head` under the append-only log `edits`; makes no nodes and changes nothing.

    `new` holds replacement blocks by digest that are not in the tree yet. Of several edits of one block the last one
    counts; a pinned block is changed by no other author than the user.
    """
    standing = in_force(edits)
    path = tree.path(raw_head)
    if not standing:
        return Applied(tuple(AppliedItem(_item(tree, node), node) for node in path))
    places = _targets(tree, path, {edit.target.digest for edit in standing})
    pinned = {places[edit.target] for edit in standing if edit.kind == PIN and edit.target in places}
    chosen: dict[int, Edit] = {}
    asleep: list[Edit] = []
    held: list[Edit] = []
    for edit in standing:
        node = places.get(edit.target)
        if node is None or (edit.kind == REPLACE and _replacement(tree, edit, new) is None):
            asleep.append(edit)
        elif edit.kind in (DROP, REPLACE) and node in pinned and edit.author != USER:
            held.append(edit)
        elif edit.kind in (DROP, REPLACE):
            chosen[node] = edit
    items = [_applied(tree, node, chosen.get(node), node in pinned, new) for node in path]
    dropped = [(node, chosen[node]) for node in path if node in chosen and chosen[node].kind == DROP]
    return Applied(tuple(one for one in items if one is not None), tuple(dropped), tuple(asleep), tuple(held))


def _applied(
    tree: Tree, node: int, by: Edit | None, pinned: bool, new: Mapping[str, Block] | None
) -> AppliedItem | None:
    """What becomes of one block; None where it is dropped."""
    item = _item(tree, node)
    if by is None:
        return AppliedItem(item, node, None, pinned)
    block = _replacement(tree, by, new)
    return None if block is None else AppliedItem(Item(block, item.place), node, by, pinned)


def _item(tree: Tree, node: int) -> Item:
    here = tree[node]
    return Item(here.block, here.place)


def _targets(tree: Tree, path: Iterable[int], digests: set[str]) -> dict[Target, int]:
    """The node of every target on the path that has one of `digests`."""
    counts: dict[str, int] = {}
    found: dict[Target, int] = {}
    for node in path:
        digest = tree[node].block.digest
        if digest in digests:
            number = counts.get(digest, 0)
            found[Target(digest, number)] = node
            counts[digest] = number + 1
    return found


def _replacement(tree: Tree, edit: Edit, new: Mapping[str, Block] | None) -> Block | None:
    if edit.kind != REPLACE:
        return None
    return (new or {}).get(edit.replacement) or tree.blocks.get(edit.replacement)


def target_of(tree: Tree, raw_head: int, node: int) -> Target:
    """What an edit of `node` on the path to `raw_head` is about. Raises `ValueError` where it is not on the path."""
    digest = tree[node].block.digest
    alike = [n for n in tree.path(raw_head) if tree[n].block.digest == digest]
    return Target(digest, alike.index(node))
