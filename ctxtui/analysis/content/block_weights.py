"""What each block of a context weighs: its tokens, and what it has carried since it entered (tokens x calls)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.core.block import HEADER
from ctxtui.core.tree import Tree
from ctxtui.core.turns import is_read


class Weight(Struct, frozen=True, kw_only=True):
    """One block: its `tokens`, in how many `calls` of the thread it stood up to the one shown, the number (from 1) of
    the first of them (0: none yet). `stability` is how far a cache can keep it (`Stays.stability`): `held` of `further`
    calls found it with everything before it unchanged."""

    node: int
    tokens: int
    calls: int
    since: int
    stability: str
    held: int
    further: int

    @property
    def carry(self) -> int:
        """Tokens times calls: what the provider has read of it so far, in all."""
        return self.tokens * self.calls


def weights(
    tree: Tree, head: int, own: Callable[[int], int], stays: Stays, number: int, *, strips_thinking: bool
) -> Iterator[Weight]:
    """Every block that the provider reads of the context `head`, which is that of the thread's call `number` (from 1).

    `own` gives the tokens of a node's block; `stays` must know the thread's calls up to that one.
    """
    for node in tree.path(head):
        if tree[node].block.kind != HEADER and is_read(tree, head, node, strips_thinking=strips_thinking):
            yield weight(node, own(node), stays, number)


def weight(node: int, tokens: int, stays: Stays, number: int) -> Weight:
    """The weight of one block with its `tokens`, up to the thread's call `number`."""
    first = stays.first(node)
    since = 0 if first is None else first + 1
    stability, held, further = stays.stability(node)
    return Weight(
        node=node,
        tokens=tokens,
        calls=stays.count(node, number),
        since=since,
        stability=stability,
        held=held,
        further=further,
    )
