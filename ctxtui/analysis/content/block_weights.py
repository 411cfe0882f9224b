"""Weight of each block of a context: its tokens, and its carry so far (tokens x calls)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import HEADER
from ctxtui.core.tree import Tree
from ctxtui.core.turns import is_read


class BlockWeight(Struct, frozen=True, kw_only=True):
    """A block of a context, and how long it has been carried.

    - `calls`: number of calls, up to the weighed one, whose context contains it.
    - `first_call`: number (from 1) of the first of them; 0: none yet.
    - `stability`, `stable_calls`, `later_calls`: its cache stability (`BlockLifetimes.stability`).
    """

    node: int
    tokens: int
    calls: int
    first_call: int
    stability: str
    stable_calls: int
    later_calls: int

    @property
    def carry(self) -> int:
        return self.tokens * self.calls


def block_weights(
    tree: Tree,
    head: int,
    tokens_of: Callable[[int], int],
    lifetimes: BlockLifetimes,
    number: int,
    *,
    strips_thinking: bool,
) -> Iterator[BlockWeight]:
    """Yield the weight of every block of the context `head` that the provider reads.

    `lifetimes` must include the thread's calls up to call `number` (from 1), which has that context.
    """
    for node in tree.path(head):
        if tree[node].block.kind != HEADER and is_read(tree, head, node, strips_thinking=strips_thinking):
            yield block_weight(node, tokens_of(node), lifetimes, number)


def block_weight(node: int, tokens: int, lifetimes: BlockLifetimes, number: int) -> BlockWeight:
    """Weigh one block with its `tokens`, up to the thread's call `number` (from 1)."""
    first_index = lifetimes.first_call(node)
    first_call = 0 if first_index is None else first_index + 1
    stability, stable_calls, later_calls = lifetimes.stability(node)
    return BlockWeight(
        node=node,
        tokens=tokens,
        calls=lifetimes.count_calls(node, number),
        first_call=first_call,
        stability=stability,
        stable_calls=stable_calls,
        later_calls=later_calls,
    )
