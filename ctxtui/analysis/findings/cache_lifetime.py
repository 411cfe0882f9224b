"""Finding: cache entries that live too short for pauses, or too long for their price."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_markers
from ctxtui.analysis.money.savings import five_minute_entries, hour_entries

KIND = "cache lifetime"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report that entries of the other lifetime (an hour, five minutes) would have cost less."""
    for saving, cache, problem, setting in (
        (
            hour_entries(inputs.costs, inputs.missed, inputs.rates),
            "1h",
            "{count:pause} of 5 minutes to an hour emptied the cache: {tokens} written again; entries of 1 hour would "
            "have cost {usd} less",
            'ask for cache entries of 1 hour ("ttl": "1h")',
        ),
        (
            five_minute_entries(inputs.costs, inputs.rates),
            "5m",
            "entries of 1 hour were rarely needed: {tokens} written into them; entries of 5 minutes would have cost "
            "{usd} less",
            "ask for cache entries of 5 minutes",
        ),
    ):
        if saving is not None and saving.saves > 0:
            more = {
                "problem": problem,
                "fix": setting,
                "setting": setting,
                "tokens": saving.tokens,
                "count": saving.count,
            }
            yield from finding_from_markers(inputs, cache, kind=KIND, **more)
