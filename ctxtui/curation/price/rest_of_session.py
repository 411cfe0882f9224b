"""What staged edits would have saved in the calls that followed: the recorded ones, to the end of the session.

Every one is charged by its own model's rates for what it was reported to read, write and send, less what it would not
have had. The first that read past the edits reads only what the price tag says is left, and pays for the rest anew: in
calls that only go on these are the tag's prices, once and for every later call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.usage import FRESH, WRITES, Usage


class FreedBlock(NamedTuple):
    """A block that edits make smaller by `tokens` (negative: larger): it stands at the raw position `at`, behind
    `before` tokens of the context."""

    at: int
    before: int
    tokens: int


class LaterCall(NamedTuple):
    """A recorded call after the one shown: its `usage` (None: not reported), its time, the blocks that edits change
    as far as they stand in its context, and the `call` itself, by whose terms it is charged (None: not told)."""

    usage: Usage | None
    at: float
    held: tuple[FreedBlock, ...]
    call: Call | None = None


class FirstRead(NamedTuple):
    """What is left of the cache under the edits: `tokens` are read, and what was read behind them is charged `anew` as
    (`Usage`'s name for it)."""

    tokens: int
    anew: str = FRESH


LaterCharge = Callable[[Usage, LaterCall], float | None]
"""What a usage costs in USD at the terms of a later call; None where the price is not known."""


class RestOfSession(Struct, frozen=True):
    """`saved` are the tokens that each later call would have had less, `more` the USD that it would have cost more
    (negative: less; None: not known); empty where no money is told."""

    saved: tuple[int, ...]
    more: tuple[float | None, ...] = ()

    @property
    def usd(self) -> float | None:
        """USD that all of them would have cost more, as far as that is known."""
        known = [usd for usd in self.more if usd is not None]
        return sum(known) if known else None

    @property
    def partial(self) -> bool:
        """Whether of some of them that is not known."""
        return None in self.more

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
    left: FirstRead | None,
    charge: LaterCharge | None,
    scale: float = 1.0,
) -> RestOfSession:
    """What the blocks that edits change would have saved in `calls`. `left` is what the first of them reads under the
    edits (None: all that it would have read), `charge` prices a usage (None: no money is told), and `scale` says how
    many tokens are charged for each that is counted."""
    saved = tuple(sum(one.tokens for one in call.held) for call in calls)
    if charge is None:
        return RestOfSession(saved)
    return RestOfSession(
        saved,
        tuple(
            _more(call, scale, charge, left if number == 0 else None) if tokens else 0.0
            for number, (call, tokens) in enumerate(zip(calls, saved, strict=True))
        ),
    )


def _more(call: LaterCall, scale: float, charge: LaterCharge, left: FirstRead | None) -> float | None:
    """What the call would have cost more without what it holds of changed blocks (negative: less)."""
    if call.usage is None:
        return None
    freed = [one._replace(tokens=round(one.tokens * scale)) for one in call.held]
    under = smaller(call.usage, freed)
    # What it read ends before the edits: that stays, and it wrote the rest anyway.
    if left is not None and call.usage.cache_read > min(one.before for one in call.held):
        under = parted(under, left)
    before, after = charge(call.usage, call), charge(under, call)
    return None if before is None or after is None else after - before


def parted(usage: Usage, left: FirstRead) -> Usage:
    """`usage` where only what is `left` is read."""
    lost = max(0, usage.cache_read - left.tokens)
    return replace(usage, cache_read=usage.cache_read - lost, **{left.anew: getattr(usage, left.anew) + lost})


def smaller(usage: Usage, freed: Sequence[FreedBlock]) -> Usage:
    """`usage` less the tokens of `freed`, each taken from what was read, written or neither where it stands."""
    read, write = usage.cache_read, usage.cache_write
    gone = [0, 0, 0]
    for one in freed:
        gone[0 if one.before < read else 1 if one.before < read + write else 2] += one.tokens
    less_write = min(write, gone[1])
    parts = {}
    for name in WRITES:
        own = getattr(usage, name)
        parts[name] = own - (round(less_write * own / write) if write else 0)
    return replace(usage, cache_read=max(0, read - gone[0]), fresh=max(0, usage.fresh - gone[2]), cost=None, **parts)
