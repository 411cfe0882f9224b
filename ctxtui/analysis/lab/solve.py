"""What is best for a family of sessions: fitted to all of them, and to all but the one that it is held against.

And what an entry of the cache is worth keeping: a request that only reads it, again and again, against writing it anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.cache.rules import CacheRules

Costs = Mapping[str, float]
"""What one session comes to under each variant, as a multiple of what it comes to as recorded."""


class Fold(NamedTuple):
    """One session held out: what was `chosen` for the others `saves` on it, as a share of what it came to; `own` is
    what the best for it alone would have saved."""

    session: str
    chosen: str
    saves: float
    own: float


class Fitted(Struct, frozen=True):
    """The `best` variant for all sessions, and which share it `saves` of what each came to, on average; `folds` are
    empty where there is but one session: what it saves on others is then not known."""

    best: str
    saves: float
    tried: int
    folds: tuple[Fold, ...] = ()

    @property
    def held_out(self) -> float | None:
        """What a choice saves on a session that it was not fitted to, on average."""
        return sum(one.saves for one in self.folds) / len(self.folds) if self.folds else None


def fitted(sessions: Mapping[str, Costs]) -> Fitted | None:
    """The variant that costs least over all `sessions`, by name; None where nothing was tried on all of them. Of two
    that cost the same the first one named is taken."""
    every = list(sessions.values())
    names = [name for name in (every[0] if every else ()) if all(name in costs for costs in every)]
    if not names:
        return None
    best = _best(every, names)
    folds = []
    for session, costs in sessions.items() if len(every) > 1 else ():
        chosen = _best([one for other, one in sessions.items() if other != session], names)
        folds.append(Fold(session, chosen, 1 - costs[chosen], 1 - min(costs[name] for name in names)))
    return Fitted(best, 1 - sum(costs[best] for costs in every) / len(every), len(names), tuple(folds))


def _best(every: Sequence[Costs], names: Sequence[str]) -> str:
    return min(names, key=lambda name: sum(costs[name] for costs in every))


class KeepWarm(NamedTuple):
    """Keeping an entry of `life` seconds warm: up to `requests` requests that only read it cost less than writing it
    again, which lasts `seconds`. `read` and `write` are USD for all of the context, or multiples of fresh tokens."""

    life: float
    requests: int
    seconds: float
    read: float
    write: float


def keep_warm(rules: CacheRules, rates: MarkerRates, tokens: int) -> list[KeepWarm]:
    """The break-even for each lifetime that the provider offers, for a context of `tokens`; none where its entries do
    not stand at markers. It does not depend on how long the context is: both sides grow with it."""
    if not rules.mechanism.writes_at_markers or not rates.read:
        return []
    found = []
    for life, write in sorted(rates.writes.items()):
        if life not in rules.lives.values():
            continue
        requests = max(0, ceil((write - rates.read) / rates.read - 1e-9) - 1)
        found.append(KeepWarm(life, requests, (requests + 1) * life, tokens * rates.read, tokens * write))
    return found


class Pauses(NamedTuple):
    """The pauses of a session that were longer than an entry lives: how many, of how many keeping warm would have been
    cheaper than writing again, and what that would have saved (in the unit of the rates)."""

    longer: int = 0
    cheaper: int = 0
    saved: float = 0.0


def pauses(waits: Sequence[tuple[float, int]], one: KeepWarm, rates: MarkerRates) -> Pauses:
    """What keeping entries warm through the pauses in `waits` (seconds, tokens of the context) would have come to."""
    count = cheaper = 0
    saved = 0.0
    for seconds, tokens in waits:
        if seconds <= one.life:
            continue
        count += 1
        requests = ceil(seconds / one.life) - 1
        # The next call reads what was kept, and writes it where it was not.
        gain = tokens * (rates.writes[one.life] - rates.read) - requests * tokens * rates.read
        if gain > 0:
            cheaper += 1
            saved += gain
    return Pauses(count, cheaper, saved)
