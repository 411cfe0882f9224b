"""A request as a cache sees it: positions where prefixes end, markers, and token counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ctxtui.cache.prefix_key import PrefixChains, PrefixEnd
from ctxtui.cache.prefix_salt import PrefixSalt
from ctxtui.cache.rules import CacheRules

Tokens = Callable[[int], int]
"""Tokens of the context that ends at a node. They need not rise along a path: some are reported, others counted."""


class CacheMarker(NamedTuple):
    """A cache marker at a position; its entry lives for `life` seconds after each use.

    `ends` tells its place in the client's later requests: 0 at the same block, 1 at the end of the request, 2 at the
    end of the message before the last.
    """

    position: PrefixEnd
    life: float
    ends: int = 0


class CachedPrompt(NamedTuple):
    """One request as the cache simulator takes it.

    - `last`: its last position; `total`: its whole input in tokens.
    - `markers`: in prompt order.
    - `tokens`: counts its prefixes, by the node at which they end.
    - `explicit` (OpenAI): only marked positions are cached.
    - `answer`: the position at the end of the answer, if already known: some engines keep it.
    """

    rules: CacheRules
    last: PrefixEnd
    markers: tuple[CacheMarker, ...]
    tokens: Tokens
    total: int
    explicit: bool = False
    answer: PrefixEnd | None = None


def build_prompt(
    prefixes: PrefixChains,
    rules: CacheRules,
    salt: PrefixSalt,
    head: int,
    tokens: Tokens,
    markers: Iterable[tuple[int, float] | tuple[int, float, int]] = (),
    *,
    total: int | None = None,
    explicit: bool = False,
    answer: int | None = None,
) -> CachedPrompt:
    """Build the request with salt `salt` whose context is `head` in the tree of `prefixes`.

    - `tokens`: counts contexts by node.
    - `markers`: (node, lifetime in seconds, and optionally `CacheMarker.ends`) in prompt order; of several at one
      position the last is used.
    - `total`: the whole input in tokens (None: `tokens(head)`).
    - `explicit`: as in `CachedPrompt`.
    - `answer`: the node at which the answer ends.
    """
    chain = prefixes.chain(salt, head, rules.strips)
    last = chain.position_at(head, head)
    placed: list[CacheMarker] = []
    for marker in markers:
        position = last if marker[0] == head else chain.position_at(marker[0], head)
        if placed and placed[-1].position is position:
            placed.pop()
        if position.before is not None:
            placed.append(CacheMarker(position, marker[1]) if len(marker) == 2 else CacheMarker(position, *marker[1:]))
    end = None if answer is None else chain.position_at(answer, answer)
    whole = tokens(head) if total is None else total
    return CachedPrompt(rules, last, tuple(placed), tokens, whole, explicit, end)
