"""Finding: cache breakpoints that are missing or badly placed."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by_markers
from ctxtui.analysis.lab.placed_marks import spelled
from ctxtui.analysis.money.savings import cached
from ctxtui.cache.marker_placement import STRATEGIES

KIND = "cache markers"
UNASKED = "moving-tail"
"""The strategy for a client that sets no markers."""
WORTH = 0.02
"""The share of the input's cost that other markers must save to be named."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report missing caching, and the breakpoint strategy that would have cost least."""
    none = cached(given.costs, given.rates, given.minimum)
    if none is not None and none.saves > 0:
        yield from cured_by_markers(
            given,
            UNASKED,
            kind=KIND,
            says="no call asked for caching: {count} calls could have read what the one before sent, {usd} less",
            cure="set a cache marker on the last message of each call",
            count=none.count,
            setting="ctxtui cache --markers shows where; b sets one",
        )
        return
    known = [(saved, one) for one in STRATEGIES if (saved := given.saved_by_markers(spelled(one.name))) is not None]
    saved, best = max(known, key=lambda one: one[0], default=(0.0, STRATEGIES[0]))
    if saved > WORTH * sum(map(given.input_usd, given.calls)):
        yield from cured_by_markers(
            given,
            spelled(best.name),
            kind=KIND,
            says="cache markers placed as {names} would have saved {usd} of input over {calls}",
            cure=f"place cache markers: {best.description}",
            names=(best.name,),
            setting="ctxtui cache --markers shows what each strategy costs",
        )
