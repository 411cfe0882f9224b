"""A cache strategy as breakpoint edits of a context, to be staged, priced and applied.

A strategy decides which positions of a request get a cache breakpoint.
"""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.lab.placed_markers import LIFETIMES, find_strategy
from ctxtui.cache.marker_placement import PlacementRequest
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import BREAKPOINT
from ctxtui.curation.context import Context
from ctxtui.services.counting.books import cache_rules_by_call

TAIL: Final = "moving-tail"
"""The strategy that is closest to the clients' own breakpoints."""


def strategy_breakpoints(context: Context, call: Call, book: Book, cache: str) -> tuple[Edit, ...]:
    """The breakpoint edits of `cache` for `context`, which continues from `call`.

    `cache` is a strategy, or a lifetime (``5m``, ``1h``) placed like ``moving-tail``. Empty if it is unknown, or if the
    provider has no breakpoints or not this lifetime.
    """
    rules = cache_rules_by_call(book)(call)
    strategy = find_strategy(cache) or (find_strategy(TAIL) if cache in LIFETIMES else None)
    if strategy is None or not rules.mechanism.writes_at_markers or (cache in LIFETIMES and cache not in rules.lives):
        return ()
    names = {seconds: name for name, seconds in rules.lives.items()}
    breakpoints = strategy.place(PlacementRequest(context.tree, context.head, rules))
    if cache in LIFETIMES:
        breakpoints = [(node, rules.lives[cache]) for node, _ in breakpoints]
    edits = []
    for node, life in breakpoints:
        ttl = names.get(life, "")
        payload = {"ttl": ttl} if ttl and ttl != rules.life else {}
        edits.append(make(BREAKPOINT, [context.target(context.position(node))], payload))
    return tuple(edits)
