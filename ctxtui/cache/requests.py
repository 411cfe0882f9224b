"""Converts request bodies to prompts for the cache simulator (for the offline provider)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.cache.markers import MarkerRefusal, read_markers
from ctxtui.cache.prefix_key import PrefixChains
from ctxtui.cache.prefix_salt import prefix_salt
from ctxtui.cache.prompt import CachedPrompt, Tokens, build_prompt
from ctxtui.cache.rules import CacheRules
from ctxtui.core.block import Block
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.request import Request


class SummedTokens:
    """A `Tokens` function: the sum of the blocks of a context, each block counted once."""

    def __init__(self, tree: Tree, count: Callable[[Block], int]) -> None:
        self._tree = tree
        self._count = count
        self._sums: dict[int, int] = {ROOT: 0}

    def __call__(self, node: int) -> int:
        missing: list[int] = []
        while node not in self._sums:
            missing.append(node)
            node = self._tree[node].parent
        total = self._sums[node]
        for n in reversed(missing):
            total = self._sums[n] = total + self._count(self._tree[n].block)
        return total


def prompt_from_request(
    prefixes: PrefixChains,
    request: Request,
    rules: CacheRules,
    tokens: Tokens,
    *,
    provider: str = "",
    scope: str = "",
    betas: Sequence[str] = (),
    total: int | None = None,
) -> tuple[CachedPrompt, tuple[MarkerRefusal, ...]]:
    """Convert `request` to a prompt and its refusals; adds its blocks to the tree of `prefixes`.

    - `provider`, `scope`: as in `prefix_salt`.
    - `betas`: the active beta set (a header).
    - `total`: the whole input in tokens if it is more than that of the blocks.
    """
    tree = prefixes.tree
    path = [ROOT]
    for block, place in request.items:
        path.append(tree.child(path[-1], block, place))
    params = {**request.params, "betas": list(betas)}
    salt = prefix_salt(
        rules, request.skeleton.dialect, provider=provider, scope=scope, model=request.model, params=params
    )
    checked = read_markers(request, rules)
    markers = [(path[marker.item + 1], marker.life, marker.ends) for marker in checked.valid]
    prompt_ = build_prompt(prefixes, rules, salt, path[-1], tokens, markers, total=total, explicit=checked.explicit)
    return prompt_, checked.refusals
