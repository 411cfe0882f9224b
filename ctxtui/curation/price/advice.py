"""Advice: which policies would help the context, with their prices.

Advice is ranked by risk, then by savings over the next calls. The inspector and ``ctxtui findings`` show it; `search`
finds the candidates, `price_tag` prices them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.search import Remedy, complete, make_safe
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag

MAX_ADVICE: Final = 8
MAX_PRICED_PAIRS: Final = 8
MIN_GAIN_FACTOR: Final = 1.05
"""Factor by which advice with more risk, or one policy more, must save more than advice without."""

SAME_SAVINGS_SHARE: Final = 0.01
"""Relative difference in savings below which two pieces of advice count as the same, and the first is kept."""
MIN_SAVINGS_SHARE: Final = 0.02
"""Minimum savings, as a share of the best advice's."""

Tag = Callable[[Remedy], PriceTag | None]
"""Prices a remedy on top of the active edits; None if it cannot be priced."""


def best_moment(tag: PriceTag) -> ApplyMoment | None:
    """The moment at which applying costs least, the first one without a known price.

    None without moments.
    """
    return tag.moments[tag.cheapest] if tag.moments else None


def savings_over(tag: PriceTag, horizon: int) -> float | None:
    """USD that the next `horizon` calls save (negative: cost) if applied at the best moment.

    None without a known price.
    """
    moment = best_moment(tag)
    if moment is None or moment.once is None or moment.per_call is None:
        return None
    return -(moment.once + (horizon - 1) * moment.per_call)


class Advice(Struct, frozen=True, kw_only=True, dict=True):
    """A `remedy` with its price `tag`, to be suggested to the user.

    `horizon` is the number of next calls over which savings are computed.
    """

    remedy: Remedy
    tag: PriceTag
    horizon: int

    @property
    def names(self) -> tuple[str, ...]:
        return self.remedy.names

    @property
    def risk(self) -> Risk:
        return self.remedy.risk

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.remedy.edits

    @property
    def moment(self) -> ApplyMoment | None:
        return best_moment(self.tag)

    @property
    def saves(self) -> float | None:
        return savings_over(self.tag, self.horizon)

    @property
    def worth(self) -> float:
        """Value to rank by: USD, or unsent tokens if no price is known or nothing costs any."""
        saves = self.saves
        return saves if saves else float(self.tag.freed * self.horizon)

    def options(self) -> str:
        """Options of `ctxtui curate`."""
        return " ".join((*(f"--policy {name}" for name in self.names), "--keep-quoted"))


def find_advice(
    policy_context: PolicyContext,
    remedies: Iterable[Remedy],
    price: Callable[[Applied], PriceTag | None],
    horizon: int,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Advice]:
    """The best of `remedies` in `policy_context`, by risk, then by savings over `horizon` calls.

    `price` returns None if an edit cannot be priced. Edits that remove text quoted later are left out. The search ends
    early once `stopped` returns True.
    """
    every = {remedy.names: remedy for remedy in remedies}

    def tag(remedy: Remedy) -> PriceTag | None:
        return None if stopped() else price(remedy.applied or policy_context.under(remedy.edits).applied)

    chosen = (
        safe_remedy
        for remedy in every.values()
        if not stopped() and (safe_remedy := make_safe(policy_context, remedy)) is not None
    )
    pieces = []
    for piece in rank(price_remedies(chosen, tag, horizon)):
        # Include the edits that its policies add when they run again.
        full_remedy = None if stopped() else make_safe(policy_context, complete(policy_context, every[piece.names]))
        whole_tag = tag(full_remedy) if full_remedy is not None and full_remedy.edits != piece.edits else None
        pieces.append(
            piece
            if whole_tag is None or full_remedy is None
            else Advice(remedy=full_remedy, tag=whole_tag, horizon=horizon)
        )
    return sorted(pieces, key=_rank_key)


def _rank_key(piece: Advice) -> tuple[Risk, float]:
    return piece.risk, -piece.worth


def price_remedies(remedies: Iterable[Remedy], tag: Tag, horizon: int) -> Iterator[Advice]:
    """Price all single policies, and the pairs that free most; yield those that gain anything."""
    for remedy in _worth_pricing(remedies):
        price_tag = tag(remedy)
        if price_tag is not None and not price_tag.refused:
            piece = Advice(remedy=remedy, tag=price_tag, horizon=horizon)
            if piece.worth > 0:
                yield piece


def _worth_pricing(remedies: Iterable[Remedy]) -> Iterator[Remedy]:
    every = list(remedies)
    yield from (remedy for remedy in every if len(remedy.steps) == 1)
    freed_alone = {remedy.names[0]: remedy.freed for remedy in every if len(remedy.steps) == 1}
    pairs = [
        remedy
        for remedy in every
        if len(remedy.steps) > 1
        and remedy.freed >= MIN_GAIN_FACTOR * max(freed_alone.get(name, 0) for name in remedy.names)
    ]
    yield from sorted(pairs, key=lambda pair: (-pair.freed, pair.risk))[:MAX_PRICED_PAIRS]


def rank(every: Iterable[Advice], limit: int = MAX_ADVICE) -> list[Advice]:
    """Rank by risk, then by savings.

    Leave out advice that saves little more than one with less risk or fewer policies.
    """
    pieces: list[Advice] = []
    for piece in sorted(every, key=lambda candidate: (candidate.risk, len(candidate.names), -candidate.worth)):
        if not any(_makes_redundant(kept_piece, piece) for kept_piece in pieces):
            pieces.append(piece)
    least = MIN_SAVINGS_SHARE * max((piece.worth for piece in pieces), default=0.0)
    return sorted((piece for piece in pieces if piece.worth >= least), key=_rank_key)[:limit]


def _makes_redundant(advice: Advice, piece: Advice) -> bool:
    """Whether `piece` gains too little over `advice`.

    It must save clearly more than advice of less risk or with some of its policies only, and not about as much as other
    advice.
    """
    if advice.risk < piece.risk or set(advice.names) <= set(piece.names):
        return piece.worth < MIN_GAIN_FACTOR * advice.worth
    return abs(piece.worth - advice.worth) < SAME_SAVINGS_SHARE * advice.worth


class Smallest(Struct, frozen=True, kw_only=True):
    """Figures of the smallest set of edits that reaches a target size (policy ``budget``).

    - `kinds`: the number of edits of each kind.
    - `before`, `after`, `target`: tokens of the context.
    - `once`: additional USD if applied at the cheapest `moment`; `per_call`: additional USD for every later call; None:
      unknown.
    - `quoted`: number of removed literals (paths, ids, numbers, error lines) that later blocks quote.
    """

    kinds: dict[str, int]
    risk: Risk
    before: int
    after: int
    target: int
    moment: str
    once: float | None
    per_call: float | None
    quoted: int

    @property
    def is_reached(self) -> bool:
        return self.after <= self.target
