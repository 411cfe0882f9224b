"""Finds the best variant for several sessions, and the break-even of keeping a cache warm.

A cache is kept warm by requests that only read an entry, sent before it expires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.cache.rules import CacheRules

Costs = Mapping[str, float]
"""Cost of one session under each variant, as a multiple of the recorded cost."""


class Fold(NamedTuple):
    """One held-out session, and the best variant of the others (`chosen`).

    `saves` is the share of the cost that it saves, `own` that of the variant that is best for this session.
    """

    session: str
    chosen: str
    saves: float
    own: float


class FittedVariant(Struct, frozen=True):
    """The `best` of `tried` variants for all sessions.

    `saves` is its average saving as a share of a session's cost. `folds` are empty for a single session.
    """

    best: str
    saves: float
    tried: int
    folds: tuple[Fold, ...] = ()

    @property
    def held_out(self) -> float | None:
        """Average saving on sessions that the choice was not fitted to."""
        return sum(fold.saves for fold in self.folds) / len(self.folds) if self.folds else None


def fit_variants(sessions: Mapping[str, Costs]) -> FittedVariant | None:
    """The cheapest variant over all `sessions`; None if no variant was tried on all of them."""
    every = list(sessions.values())
    names = [name for name in (every[0] if every else ()) if all(name in costs for costs in every)]
    if not names:
        return None
    best = _cheapest(every, names)
    folds = []
    for session, costs in sessions.items() if len(every) > 1 else ():
        chosen = _cheapest([costs_ for other_session, costs_ in sessions.items() if other_session != session], names)
        folds.append(Fold(session, chosen, 1 - costs[chosen], 1 - min(costs[name] for name in names)))
    return FittedVariant(best, 1 - sum(costs[best] for costs in every) / len(every), len(names), tuple(folds))


def _cheapest(every: Sequence[Costs], names: Sequence[str]) -> str:
    return min(names, key=lambda name: sum(costs[name] for costs in every))


class KeepWarm(NamedTuple):
    """Keeping an entry of `life` seconds warm, compared with writing it again.

    Up to `requests` requests and the next call's read cost less than one write; that lasts `seconds`. `read` and
    `write` are the cost for the whole context, in USD or as multiples of fresh tokens.
    """

    life: float
    requests: int
    seconds: float
    read: float
    write: float


def keep_warm_break_even(rules: CacheRules, rates: MarkerRates, tokens: int) -> list[KeepWarm]:
    """Break-even for each lifetime of the provider, for a context of `tokens`.

    Empty unless entries are at markers, and if reads cost nothing.
    """
    if not rules.mechanism.writes_at_markers or not rates.read:
        return []
    rows = []
    for life, write in sorted(rates.writes.items()):
        if life not in rules.lives.values():
            continue
        requests = max(0, ceil((write - rates.read) / rates.read - 1e-9) - 1)
        rows.append(KeepWarm(life, requests, (requests + 1) * life, tokens * rates.read, tokens * write))
    return rows


class Pauses(NamedTuple):
    """Pauses `longer` than an entry's lifetime.

    For `cheaper` of them keeping warm saves money (`saved`).
    """

    longer: int = 0
    cheaper: int = 0
    saved: float = 0.0


def evaluate_pauses(waits: Sequence[tuple[float, int]], keep_warm: KeepWarm, rates: MarkerRates) -> Pauses:
    """Evaluate keeping entries warm in the pauses `waits` (seconds, tokens of the context)."""
    count = cheaper = 0
    saved = 0.0
    for seconds, tokens in waits:
        if seconds <= keep_warm.life:
            continue
        count += 1
        requests = ceil(seconds / keep_warm.life) - 1
        # The next call reads the entry if it was kept, and writes it otherwise.
        gain = tokens * (rates.writes[keep_warm.life] - rates.read) - requests * tokens * rates.read
        if gain > 0:
            cheaper += 1
            saved += gain
    return Pauses(count, cheaper, saved)
