"""A request as a cache sees it: a line of places where prefixes end, markers among them, and how long each is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ctxtui.cache.prefix_key import PrefixEnd, Prefixes
from ctxtui.cache.prefix_seed import Seed
from ctxtui.cache.rules import CacheRules

Tokens = Callable[[int], int]
"""Gives the tokens of the context that ends at a node, as the provider reads it; never less for a longer context."""


class CacheMark(NamedTuple):
    """A cache marker at a place; its entry lives for `life` seconds after each use. `ends` says where it would stand in
    a request that ends elsewhere: 0 at the same block, 1 at the end, 2 at the end of the message before the last."""

    spot: PrefixEnd
    life: float
    ends: int = 0


class CachedPrompt(NamedTuple):
    """One request. `last` is the place at its end, `marks` are in prompt order, `total` is its whole input in tokens.

    `explicit` (OpenAI): only marked places are cached. `answer` is the place at the end of the answer, where it is
    known already: some engines keep it.
    """

    rules: CacheRules
    last: PrefixEnd
    marks: tuple[CacheMark, ...]
    tokens: Tokens
    total: int
    explicit: bool = False
    answer: PrefixEnd | None = None


def prompt(
    prefixes: Prefixes,
    rules: CacheRules,
    seed: Seed,
    head: int,
    tokens: Tokens,
    marks: Iterable[tuple[int, float] | tuple[int, float, int]] = (),
    *,
    total: int | None = None,
    explicit: bool = False,
    answer: int | None = None,
) -> CachedPrompt:
    """The request with `seed` whose context is `head` in the tree of `prefixes`.

    `tokens` counts contexts by node, `marks` are (node, lifetime in seconds, and perhaps as `CacheMark.ends`) in prompt
    order; several at one place are one, the last of them. `total` is the whole input in tokens where it is more than
    `tokens(head)`, `answer` the node at which the answer ends.
    """
    chain = prefixes.chain(seed, head, rules.strips)
    last = chain.spot(head, head)
    placed: list[CacheMark] = []
    for mark in marks:
        spot = last if mark[0] == head else chain.spot(mark[0], head)
        if placed and placed[-1].spot is spot:
            placed.pop()
        if spot.before is not None:
            placed.append(CacheMark(spot, mark[1]) if len(mark) == 2 else CacheMark(spot, *mark[1:]))
    end = None if answer is None else chain.spot(answer, answer)
    whole = tokens(head) if total is None else total
    return CachedPrompt(rules, last, tuple(placed), tokens, whole, explicit, end)
