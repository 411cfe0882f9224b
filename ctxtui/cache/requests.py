"""Request bodies as prompts, for a simulated provider that receives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.cache.markers import MarkerRefusal, markers
from ctxtui.cache.prefix_key import Prefixes
from ctxtui.cache.prefix_seed import seed
from ctxtui.cache.prompt import CachedPrompt, Tokens, prompt
from ctxtui.cache.rules import CacheRules
from ctxtui.core.block import Block
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.request import Request


class Summed:
    """Tokens of contexts as the sum of their blocks, each block counted once. A `Tokens` function."""

    def __init__(self, tree: Tree, count: Callable[[Block], int]) -> None:
        self._tree = tree
        self._count = count
        self._sums: dict[int, int] = {ROOT: 0}

    def __call__(self, node: int) -> int:
        """Tokens of the context `node`."""
        missing: list[int] = []
        while node not in self._sums:
            missing.append(node)
            node = self._tree[node].parent
        total = self._sums[node]
        for one in reversed(missing):
            total = self._sums[one] = total + self._count(self._tree[one].block)
        return total


def prompt_of(
    prefixes: Prefixes,
    request: Request,
    rules: CacheRules,
    tokens: Tokens,
    *,
    provider: str = "",
    scope: str = "",
    betas: Sequence[str] = (),
    total: int | None = None,
) -> tuple[CachedPrompt, tuple[MarkerRefusal, ...]]:
    """Convert `request` to a prompt, adding its blocks to the tree of `prefixes`; also returns the refusals.

    `tokens` counts contexts of that tree, `betas` are the active beta set (a header), `total` is the whole input
    in tokens if it is more than that of the blocks. A refused request must not be passed to a simulator.
    """
    tree = prefixes.tree
    path = [ROOT]
    for block, place in request.items:
        path.append(tree.child(path[-1], block, place))
    params = {**request.params, "betas": list(betas)}
    base = seed(rules, request.skeleton.dialect, provider=provider, scope=scope, model=request.model, params=params)
    found = markers(request, rules)
    marks = [(path[mark.item + 1], mark.life, mark.ends) for mark in found.marks]
    made = prompt(prefixes, rules, base, path[-1], tokens, marks, total=total, explicit=found.explicit)
    return made, found.refusals
