"""What staged edits would have saved in the calls that followed: the recorded ones, to the end of the session.

The first of them pays what the price tag says (`ApplyMoment.once`); every later one is charged for what it was reported
to read, write and send, less what it would not have had. In calls that only go on that is the tag's price per call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ctxtui.core.usage import Usage


class FreedBlock(NamedTuple):
    """A block that edits make smaller by `tokens` (negative: larger): it stands at the raw position `at`, behind
    `before` tokens of the context."""

    at: int
    before: int
    tokens: int


class LaterCall(NamedTuple):
    """A recorded call after the one shown: its `usage` (None: not reported), its time, and the blocks that edits change
    as far as they stand in its context."""

    usage: Usage | None
    at: float
    held: tuple[FreedBlock, ...]


@dataclass(frozen=True, slots=True)
class RestOfSession:
    """`saved` are the tokens that each later call would have had less, `usd` what all of them would have cost more
    (negative: less; None: not known). `partial`: of some of them that is not known."""

    saved: tuple[int, ...]
    usd: float | None = None
    partial: bool = False

    @property
    def calls(self) -> int:
        """How many calls followed."""
        return len(self.saved)

    @property
    def holding(self) -> int:
        """In how many of them anything of what the edits change stood."""
        return sum(map(bool, self.saved))


def rest_of_session(
    calls: Sequence[LaterCall],
    once: Callable[[int], float | None],
    charge: Callable[[Usage, float], float | None] | None,
    scale: float = 1.0,
) -> RestOfSession:
    """What the blocks that edits change would have saved in `calls`. `once` is what the first of them pays more, by the
    tokens that it read from the cache; `charge` gives the price of a usage at a time (None: no money is told), and
    `scale` how many tokens are charged for each that is counted."""
    saved = tuple(sum(one.tokens for one in call.held) for call in calls)
    if charge is None:
        return RestOfSession(saved)
    total, partial = 0.0, False
    for number, (call, tokens) in enumerate(zip(calls, saved, strict=True)):
        if not tokens:
            continue
        if call.usage is None:
            partial = True
            continue
        first = once(call.usage.cache_read) if number == 0 else None
        more = first if first is not None else _more(call, scale, charge)
        partial |= more is None
        total += more or 0.0
    return RestOfSession(saved, total, partial)


def _more(call: LaterCall, scale: float, charge: Callable[[Usage, float], float | None]) -> float | None:
    """What the call would have cost more without what it holds of changed blocks (negative: less)."""
    assert call.usage is not None
    freed = [one._replace(tokens=round(one.tokens * scale)) for one in call.held]
    before, after = charge(call.usage, call.at), charge(smaller(call.usage, freed), call.at)
    return None if before is None or after is None else after - before


def smaller(usage: Usage, freed: Sequence[FreedBlock]) -> Usage:
    """`usage` less the tokens of `freed`, each taken from what was read, written or neither where it stands."""
    read, write = usage.cache_read, usage.cache_write
    gone = [0, 0, 0]
    for one in freed:
        gone[0 if one.before < read else 1 if one.before < read + write else 2] += one.tokens
    less_write = min(write, gone[1])
    parts = {}
    for name in ("write_5m", "write_1h", "write_30m", "write_12h"):
        own = getattr(usage, name)
        parts[name] = own - (round(less_write * own / write) if write else 0)
    return replace(usage, cache_read=max(0, read - gone[0]), fresh=max(0, usage.fresh - gone[2]), cost=None, **parts)
