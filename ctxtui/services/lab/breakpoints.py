"""A cache strategy as breakpoint edits of one context: what is found is staged, priced and applied like every edit."""

from __future__ import annotations

from ctxtui.analysis.book import Book
from ctxtui.analysis.lab.placed_marks import strategy_of
from ctxtui.cache.marker_placement import PlacementRequest
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import BREAKPOINT
from ctxtui.curation.context import Context
from ctxtui.services.counting.books import cached_by


def placed_breakpoints(context: Context, call: Call, book: Book, cache: str) -> tuple[Edit, ...]:
    """The breakpoints that the strategy called `cache` sets on `context`, which goes on from `call`; none where the
    provider takes none."""
    strategy, rules = strategy_of(cache), cached_by(book)(call)
    if strategy is None or not rules.mechanism.writes_at_markers:
        return ()
    names = {seconds: name for name, seconds in rules.lives.items()}
    marks = strategy.place(PlacementRequest(context.tree, context.head, rules))
    found = []
    for node, life in marks:
        ttl = names.get(life, "")
        given = {"ttl": ttl} if ttl and ttl != rules.life else {}
        found.append(make(BREAKPOINT, [context.target(context.position(node))], given))
    return tuple(found)
