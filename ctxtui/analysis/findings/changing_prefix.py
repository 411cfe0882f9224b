"""Finding: early parts of the context that change often, so that what follows is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.analysis.cache.miss import CONTENT, SYSTEM, TOOLS, CacheMiss
from ctxtui.analysis.findings.finding import Finding, FindingInputs

KIND: Final = "changing prefix"
_FRONT: Final = {"system": "the system prompt", "tools": "a tool's definition", "memory": "memory"}
_CAUSES: Final = frozenset({SYSTEM, TOOLS, CONTENT})
MIN_CHANGES: Final = 2
_MAX_CHARACTERS: Final = 30
"""Characters of changed text that are shown in the sentence."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report parts of system prompt, tools and memory that caused at least `MIN_CHANGES` misses."""
    groups: dict[tuple[str, int], list[CacheMiss]] = {}
    for miss in inputs.missed:
        if miss.thread == inputs.costs.thread and miss.number <= len(inputs.calls) and _is_at_front(miss):
            assert miss.old is not None
            groups.setdefault((miss.old.category, miss.block), []).append(miss)
    for (category, _), misses in groups.items():
        if len(misses) < MIN_CHANGES:
            continue
        amounts = [miss.usd for miss in misses if miss.usd is not None]
        usd = sum(amounts) if amounts and inputs.priced else None
        changed = _describe_change(max(misses, key=lambda miss: miss.number))
        yield Finding(
            kind=KIND,
            problem=f"{_FRONT[category]} changed {{count:time}} in {{calls}}{' {names}' * bool(changed)}: "
            "{tokens} written again{so_far}",
            fix=f"move what changes in {_FRONT[category]} into the last message",
            tokens=sum(miss.tokens for miss in misses),
            so_far=usd,
            calls=len(inputs.calls),
            count=len(misses),
            names=(changed,) if changed else (),
            usd_per_call=usd / len(inputs.calls) if usd is not None else None,
            setting="put dates, lists and status into the last message, not before the others",
            by_hand="the client rebuilds this text for each call: move it in the client's code",
        )


def _is_at_front(miss: CacheMiss) -> bool:
    return miss.cause in _CAUSES and miss.old is not None and miss.new is not None and miss.old.category in _FRONT


def _describe_change(miss: CacheMiss) -> str:
    """Describe the last change word by word: ``(“16:00” became “17:00”)``; "" if that is long."""
    old, new = (side.words.split() if side is not None else [] for side in (miss.old, miss.new))
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    backwards = zip(old[start:][::-1], new[start:][::-1], strict=False)
    same = next((n for n, (a, b) in enumerate(backwards) if a != b), min(len(old), len(new)) - start)
    was, now = (" ".join(words[start : len(words) - same]) for words in (old, new))
    return f"(“{was}” became “{now}”)" if 0 < len(was) <= _MAX_CHARACTERS and 0 < len(now) <= _MAX_CHARACTERS else ""
