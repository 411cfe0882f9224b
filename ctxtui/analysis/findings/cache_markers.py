"""Cache markers that stand in the wrong places, or are not there at all."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs
from ctxtui.analysis.lab.placed_marks import spelled
from ctxtui.analysis.money.savings import cached

KIND = "cache markers"
UNASKED = "moving-tail"
"""The strategy for a client that sets no markers."""
WORTH = 0.02
"""The share of the input's cost that other markers must save to be named."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Caching that nobody asked for, and the strategy that would have cost least."""
    none = cached(given.costs, given.rates, given.minimum)
    if none is not None and none.saves > 0:
        yield Finding(
            kind=KIND,
            says="no call asked for caching: {count} calls could have read what the one before sent, {usd} less",
            cure="set a cache marker on the last message of each call",
            so_far=none.saves,
            calls=len(given.calls),
            count=none.count,
            ahead=none.saves / len(given.calls),
            setting="ctxtui cache --markers shows where; b sets one",
            cache=UNASKED,
        )
        return
    placing = given.placing
    if placing is None or placing.relative or not placing.tried or not placing.calls:
        return
    best = placing.tried[0]
    saves = placing.own - best.cost
    if saves > WORTH * placing.own:
        yield Finding(
            kind=KIND,
            says="cache markers placed as {names} would have saved {usd} of input over {calls}",
            cure=f"place cache markers: {best.told}",
            so_far=saves,
            calls=len(placing.calls),
            names=(best.name,),
            ahead=saves / len(placing.calls),
            setting="ctxtui cache --markers shows what each strategy costs",
            cache=spelled(best.name),
        )
