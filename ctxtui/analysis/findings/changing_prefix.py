"""Finding: early parts of the context that change from call to call, so that everything after them is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.analysis.cache.miss import CONTENT, SYSTEM, TOOLS, CacheMiss
from ctxtui.analysis.findings.finding import Finding, FindingInputs

KIND: Final = "changing prefix"
_FRONT: Final = {"system": "the system prompt", "tools": "a tool's definition", "memory": "memory"}
_CAUSES: Final = frozenset({SYSTEM, TOOLS, CONTENT})
TWICE: Final = 2
"""Minimum number of changes of one part."""
_SHOWN: Final = 30
"""Maximum characters of the changed text in a sentence."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report system prompts, tools and memory that caused more than one miss: a date, a list, a status."""
    groups: dict[tuple[str, int], list[CacheMiss]] = {}
    for one in given.missed:
        if one.thread == given.costs.thread and one.number <= len(given.calls) and _at_front(one):
            assert one.old is not None
            groups.setdefault((one.old.category, one.block), []).append(one)
    for (category, _), found in groups.items():
        if len(found) < TWICE:
            continue
        known = [one.usd for one in found if one.usd is not None]
        usd = sum(known) if known and given.priced else None
        changed = _changed(max(found, key=lambda one: one.number))
        yield Finding(
            kind=KIND,
            says=f"{_FRONT[category]} changed {{count}} times in {{calls}}{' {names}' * bool(changed)}: "
            "{tokens} written again{so_far}",
            cure=f"move what changes in {_FRONT[category]} into the last message",
            tokens=sum(one.tokens for one in found),
            so_far=usd,
            calls=len(given.calls),
            count=len(found),
            names=(changed,) if changed else (),
            ahead=usd / len(given.calls) if usd is not None else None,
            setting="dates, lists and status belong into the last message, not in front of all others",
            by_hand="the client writes its front anew for each call: where the text stands is set in the program",
        )


def _at_front(one: CacheMiss) -> bool:
    return one.cause in _CAUSES and one.old is not None and one.new is not None and one.old.category in _FRONT


def _changed(one: CacheMiss) -> str:
    """Describe the last change word by word: ``(“16:00” became “17:00”)``; "" if that is long."""
    old, new = (side.words.split() if side is not None else [] for side in (one.old, one.new))
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    back = zip(old[start:][::-1], new[start:][::-1], strict=False)
    same = next((n for n, (a, b) in enumerate(back) if a != b), min(len(old), len(new)) - start)
    was, now = (" ".join(words[start : len(words) - same]) for words in (old, new))
    return f"(“{was}” became “{now}”)" if 0 < len(was) <= _SHOWN and 0 < len(now) <= _SHOWN else ""
