"""What helps from here on: remedies priced, ranked by what they risk and save over the next calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.search import Remedy, complete, safe
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag

MOST: Final = 8
"""Pieces of advice that are given."""
PAIRS: Final = 8
"""Pairs of policies that are priced."""
WORTH: Final = 1.05
"""What risks more, or takes one policy more, must save so much more to be named beside what does without."""

ALIKE: Final = 0.01
"""Of two that differ by less than this share, the first stands for both."""
LEAST: Final = 0.02
"""The share of what the best saves from which on something is named."""

Tag = Callable[[Remedy], PriceTag | None]
"""The price of a remedy on top of the edits that stand; None where it cannot be told."""


def best_moment(tag: PriceTag) -> ApplyMoment | None:
    """When applying costs least; None where no price is known."""
    return tag.moments[tag.cheapest] if tag.moments else None


def saved_over(tag: PriceTag, horizon: int) -> float | None:
    """USD that the next `horizon` calls cost less (negative: more) if the edits are applied when that costs least; None
    where no price is known."""
    moment = best_moment(tag)
    if moment is None or moment.once is None or moment.per_call is None:
        return None
    return -(moment.once + (horizon - 1) * moment.per_call)


class Advice(Struct, frozen=True, kw_only=True, dict=True):
    """One thing to do from here on: a `remedy` with its price `tag`. Over `horizon` calls it `saves` USD, if it is
    applied at the `moment` that costs least (None: no price is known)."""

    remedy: Remedy
    tag: PriceTag
    horizon: int

    @property
    def names(self) -> tuple[str, ...]:
        """Its policies, in their order."""
        return self.remedy.names

    @property
    def risk(self) -> Risk:
        """What the model can no longer read."""
        return self.remedy.risk

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What is to be staged."""
        return self.remedy.edits

    @property
    def moment(self) -> ApplyMoment | None:
        """When applying it costs least."""
        return best_moment(self.tag)

    @property
    def saves(self) -> float | None:
        """USD that the next `horizon` calls cost less (negative: more)."""
        return saved_over(self.tag, self.horizon)

    @property
    def worth(self) -> float:
        """What it is ranked by: USD; tokens that are not sent where no price is known, or nothing costs any."""
        saves = self.saves
        return saves if saves else float(self.tag.freed * self.horizon)

    def options(self) -> str:
        """How `ctxtui curate` is asked for it."""
        return " ".join((*(f"--policy {name}" for name in self.names), "--keep-quoted"))


def advice(
    situation: PolicyContext,
    found: Iterable[Remedy],
    price: Callable[[Applied], PriceTag | None],
    horizon: int,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Advice]:
    """The best of `found` in `situation` with its `price` (None: it cannot be told), what risks least first, then what
    saves most over `horizon` calls. Nothing that is quoted later goes. Once it is `stopped`, nothing more is worked
    out."""
    every = {one.names: one for one in found}

    def tag(one: Remedy) -> PriceTag | None:
        return None if stopped() else price(one.applied or situation.under(one.edits).applied)

    chosen = (kept for one in every.values() if not stopped() and (kept := safe(situation, one)) is not None)
    made = []
    for one in ranked(priced(chosen, tag, horizon)):
        # With what its policies add when they are asked again.
        whole = None if stopped() else safe(situation, complete(situation, every[one.names]))
        told = tag(whole) if whole is not None and whole.edits != one.edits else None
        made.append(one if told is None or whole is None else Advice(remedy=whole, tag=told, horizon=horizon))
    return sorted(made, key=_order)


def _order(one: Advice) -> tuple[Risk, float]:
    return one.risk, -one.worth


def priced(found: Iterable[Remedy], tag: Tag, horizon: int) -> Iterator[Advice]:
    """Each of `found` that is worth a price, with it: all single policies, and the pairs that free most."""
    for remedy in _worth_pricing(found):
        told = tag(remedy)
        if told is not None and not told.refused:
            one = Advice(remedy=remedy, tag=told, horizon=horizon)
            if one.worth > 0:
                yield one


def _worth_pricing(found: Iterable[Remedy]) -> Iterator[Remedy]:
    every = list(found)
    yield from (one for one in every if len(one.steps) == 1)
    alone = {one.names[0]: one.freed for one in every if len(one.steps) == 1}
    pairs = [
        one
        for one in every
        if len(one.steps) > 1 and one.freed >= WORTH * max(alone.get(name, 0) for name in one.names)
    ]
    yield from sorted(pairs, key=lambda one: (-one.freed, one.risk))[:PAIRS]


def ranked(every: Iterable[Advice], most: int = MOST) -> list[Advice]:
    """What risks least first, then what saves most; left out is what saves hardly more than something that risks less,
    or takes less."""
    kept: list[Advice] = []
    for one in sorted(every, key=lambda one: (one.risk, len(one.names), -one.worth)):
        if not any(_does(other, one) for other in kept):
            kept.append(one)
    least = LEAST * max((one.worth for one in kept), default=0.0)
    return sorted((one for one in kept if one.worth >= least), key=_order)[:most]


def _does(other: Advice, one: Advice) -> bool:
    """Whether `other` saves nearly what `one` does at less risk, as a part of it, or in much the same way."""
    if other.risk < one.risk or set(other.names) <= set(one.names):
        return one.worth < WORTH * other.worth
    return abs(one.worth - other.worth) < ALIKE * other.worth


class Smallest(Struct, frozen=True, kw_only=True):
    """A set of edits: how many of each kind, their `risk`, tokens `before` and `after`, the `target` that was to be
    reached, USD more `once` if it is applied at the cheapest `moment`, and for every later call (None: not known)."""

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
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.after <= self.target
