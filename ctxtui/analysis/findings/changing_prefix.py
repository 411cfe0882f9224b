"""Parts at the front of the context that change from call to call, so that all behind them is written again."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.cache.misses import CONTENT, SYSTEM, TOOLS, Missed
from ctxtui.analysis.findings.finding import Finding, FindingInputs

KIND = "changing prefix"
_FRONT = frozenset({"system", "tools", "memory"})
TWICE = 2
"""Changes of one part from which on it is said to keep changing."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """System prompts, tools and memory whose change made the cache miss more than once: a date, a list, a status."""
    groups: dict[tuple[str, str], list[Missed]] = {}
    for one in given.missed:
        if one.thread == given.costs.thread and one.number <= len(given.calls):
            part = _part(one)
            if part is not None:
                groups.setdefault(part, []).append(one)
    for (category, label), found in groups.items():
        if len(found) < TWICE:
            continue
        known = [one.usd for one in found if one.usd is not None]
        usd = sum(known) if known and given.priced else None
        yield Finding(
            kind=KIND,
            says=f"{category} {{names}} changed {len(found):,} times in {{calls}}: {{tokens}} written again{{usd}}",
            cure="put what changes behind the part that stays",
            tokens=sum(one.tokens for one in found),
            so_far=usd,
            calls=len(given.calls),
            count=len(found),
            names=(label,) if label else (),
            ahead=usd / len(given.calls) if usd is not None else None,
            setting="send dates, lists and status as the last message, not in the system prompt",
        )


def _part(one: Missed) -> tuple[str, str] | None:
    """The part of the front that changed, by category and label; None where something else was the cause."""
    if one.cause not in (SYSTEM, TOOLS, CONTENT) or one.old is None or one.old.category not in _FRONT:
        return None
    return one.old.category, one.old.label
