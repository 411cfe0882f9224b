"""Finding: cache breakpoints that are missing or badly placed."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_markers
from ctxtui.analysis.lab.placed_markers import spell_name
from ctxtui.analysis.money.savings import enable_caching
from ctxtui.cache.marker_placement import STRATEGIES

KIND = "cache markers"
DEFAULT_STRATEGY = "moving-tail"
"""Strategy for a client that sets no markers."""
MIN_SAVING_SHARE = 0.02
"""Share of the input's cost that other markers must save."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report missing caching, else the breakpoint strategy that would have cost least."""
    caching = enable_caching(inputs.costs, inputs.rates, inputs.minimum)
    if caching is not None and caching.saves > 0:
        yield from finding_from_markers(
            inputs,
            DEFAULT_STRATEGY,
            kind=KIND,
            problem="no call requested caching: {count:call} could have read a prefix from the cache, {usd} less",
            fix="set a cache marker on the last message of each call",
            count=caching.count,
            setting="ctxtui cache --markers shows where; b sets one",
        )
        return
    savings = [
        (saved, strategy)
        for strategy in STRATEGIES
        if (saved := inputs.saved_by_markers(spell_name(strategy.name))) is not None
    ]
    saved, best = max(savings, key=lambda saving: saving[0], default=(0.0, STRATEGIES[0]))
    if saved > MIN_SAVING_SHARE * sum(map(inputs.input_usd, inputs.calls)):
        yield from finding_from_markers(
            inputs,
            spell_name(best.name),
            kind=KIND,
            problem="cache markers placed as {names} would have saved {usd} of input over {calls}",
            fix=f"place cache markers: {best.description}",
            names=(best.name,),
            setting="ctxtui cache --markers shows what each strategy costs",
        )
