"""Weight of each block of a context: its tokens, and its carry since it was added (tokens x calls)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import HEADER
from ctxtui.core.tree import Tree
from ctxtui.core.turns import is_read


class BlockWeight(Struct, frozen=True, kw_only=True):
    """One block with its `tokens`, and the number of `calls` that held it up to the one shown.

    `since` is the number (from 1) of the first of them (0: none yet). `stability` is its cache stability
    (`BlockLifetimes.stability`): `held` of `further` calls had it with an unchanged prefix.
    """

    node: int
    tokens: int
    calls: int
    since: int
    stability: str
    held: int
    further: int

    @property
    def carry(self) -> int:
        """Tokens times calls: the tokens of it that the provider has read so far."""
        return self.tokens * self.calls


def block_weights(
    tree: Tree, head: int, own: Callable[[int], int], lifetimes: BlockLifetimes, number: int, *, strips_thinking: bool
) -> Iterator[BlockWeight]:
    """Yield the weight of every block that the provider reads of the context `head`.

    It is the context of call `number` (from 1). `own` gives the tokens of a node's block; `lifetimes` must include
    the thread's calls up to that one.
    """
    for node in tree.path(head):
        if tree[node].block.kind != HEADER and is_read(tree, head, node, strips_thinking=strips_thinking):
            yield block_weight(node, own(node), lifetimes, number)


def block_weight(node: int, tokens: int, lifetimes: BlockLifetimes, number: int) -> BlockWeight:
    """Weight of one block with its `tokens`, up to the thread's call `number`."""
    first = lifetimes.first_call(node)
    since = 0 if first is None else first + 1
    stability, held, further = lifetimes.stability(node)
    return BlockWeight(
        node=node,
        tokens=tokens,
        calls=lifetimes.count_calls(node, number),
        since=since,
        stability=stability,
        held=held,
        further=further,
    )
