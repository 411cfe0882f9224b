"""Which blocks that a variant took out are still quoted later: by blocks that came when they were gone already."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.core.block import HEADER
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.price.dependence import Literals, quotes


def later_quotes(known: Literals, applied: Applied, since: Mapping[int, int]) -> int:
    """How many blocks that `applied` changes or takes out are quoted by a block that came after that. `since` is, by
    raw position, how long the context was when it was done; `known` is advanced as far as the context goes."""
    if not applied.changes:
        return 0
    known.advance()
    found = set()
    for quote in quotes(known, applied, most=len(applied.changes) * _EACH):
        if quote.position not in found and any(by >= since.get(quote.position, 0) for by in quote.by):
            found.add(quote.position)
    return sum(applied.changes[position].before.kind != HEADER for position in found)


_EACH = 1_000
"""Literals of one block that are looked at, at most."""
