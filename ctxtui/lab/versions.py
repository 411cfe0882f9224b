"""Blocks of two contexts held against each other: which are the same, and which are two versions of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.sequence_diff import Range, aligned
from ctxtui.core.tree import Node, Tree
from ctxtui.lab.neutral import neutral, words_of

_NEAR: Final = 24
"""How many blocks further a block's changed version is looked for."""
_ALIKE: Final = 0.4
"""The share of words that two versions of one block have in common, at least."""
_COMPARED: Final = 50_000
"""Characters of a block that are compared to find its other version."""


def key(node: Node) -> Hashable:
    """What makes a block the same one, letter for letter."""
    return node.block.digest, node.category


def parts(a: Tree, b: Tree, one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[Range, Range, bool]]:
    """Ranges of both that are equal, by digest or at least in what they say, and those that are not."""
    olds, news = [key(a[n]) for n in one], [key(b[n]) for n in other]
    for (start, end), (first, last) in aligned(olds, news):
        if olds[start:end] == news[first:last]:
            yield (start, end), (first, last), True
            continue
        said = [neutral(a[n]) for n in one[start:end]]
        says = [neutral(b[n]) for n in other[first:last]]
        for (low, high), (left, right) in aligned(said, says):
            equal = said[low:high] == says[left:right]
            yield (start + low, start + high), (first + left, first + right), equal


def versions(a: Tree, b: Tree, one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Indices of blocks that are two versions of one: the same kind of thing, alike in words or in place."""
    alone, free = len(one) == len(other) == 1, 0
    for here, old in enumerate(one):
        for there in range(free, min(len(other), free + _NEAR)):
            if _are_versions(a[old], b[other[there]], alone):
                yield here, there
                free = there + 1
                break


def _are_versions(old: Node, new: Node, alone: bool) -> bool:
    if old.category != new.category:
        return False
    if alone and CATEGORIES[old.category] not in ("tool_call", "tool_result"):
        return True
    was, now = read(old.block), read(new.block)
    if (was.call_id and was.call_id == now.call_id) or (CATEGORIES[old.category] == "tools" and was.name == now.name):
        return True
    if was.name != now.name:
        return False
    return alike(words_of(old), words_of(new)) >= _ALIKE


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, of the longer one's: 0 to 1."""
    here, there = Counter(one[:_COMPARED].split()), Counter(other[:_COMPARED].split())
    most = max(here.total(), there.total())
    return (here & there).total() / most if most else 1.0
