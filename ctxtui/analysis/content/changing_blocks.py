"""Blocks that change during a thread: later versions in the same place among other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from ctxtui.analysis.content.diff import match_versions, matching_ranges
from ctxtui.core.block import HEADER
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree


class ChangingBlock(Struct, frozen=True):
    """A block whose content changed.

    - `nodes`: its versions, in order; one that comes back is listed again.
    - `calls`: the number (from 1) of the call with which each begins.
    """

    nodes: tuple[int, ...]
    calls: tuple[int, ...]

    @property
    def changes(self) -> int:
        return len(self.nodes) - 1


def find_changing_blocks(session: Session, thread: str) -> list[ChangingBlock]:
    """Blocks of a thread's contexts that changed in place, those with the most changes first.

    A context that begins an epoch (compaction, another model) is new: nothing in it counts as changed.
    """
    tree, calls = session.tree, session.thread_calls(thread)
    # By the node of a block's latest version: its versions and their calls.
    chains: dict[int, tuple[list[int], list[int]]] = {}
    changed: list[tuple[list[int], list[int]]] = []
    for number, (before, call) in enumerate(pairwise(calls), 2):
        if before.epoch.number != call.epoch.number:
            chains.clear()
            continue
        shared = tree.common(before.sent_head, call.sent_head)
        if shared == before.sent_head:
            continue
        continued: dict[int, tuple[list[int], list[int]]] = {}
        for old, new, same in _pair_blocks(
            tree, _content_nodes(tree, before.sent_head, shared), _content_nodes(tree, call.sent_head, shared)
        ):
            chain = chains.pop(old, None)
            if not same:
                if chain is None:
                    began = next(n for n, earlier in enumerate(calls, 1) if tree.holds(earlier.sent_head, old))
                    chain = ([old], [began])
                    changed.append(chain)
                chain[0].append(new)
                chain[1].append(number)
            if chain is not None:
                continued[new] = chain
        chains.update(continued)
    blocks = [ChangingBlock(tuple(nodes), tuple(numbers)) for nodes, numbers in changed]
    return sorted(blocks, key=lambda block: -block.changes)


def _content_nodes(tree: Tree, head: int, parent: int) -> list[int]:
    return [node for node in tree.path(head, parent) if tree[node].block.kind != HEADER]


def _pair_blocks(tree: Tree, olds: Sequence[int], news: Sequence[int]) -> list[tuple[int, int, bool]]:
    """Pair equal blocks, and versions of a block: (old node, new node, whether equal).

    Equal blocks may differ in their spelling.
    """
    node_pairs = []
    for (start, end), (first, last), equal in matching_ranges(tree, tree, olds, news):
        if equal:
            node_pairs += [(a, b, True) for a, b in zip(olds[start:end], news[first:last], strict=True)]
        else:
            pairs = match_versions(tree, tree, olds[start:end], news[first:last])
            node_pairs += [(olds[start + i], news[first + j], False) for i, j in pairs]
    return node_pairs
