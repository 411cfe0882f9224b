"""Advice is ranked by what it risks, then by what it saves over the calls ahead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.search import Remedy
from ctxtui.curation.price.advice import Advice, price_remedies, rank
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag


@dataclass
class Told:
    """As much of a price tag as advice looks at."""

    freed: int
    moments: tuple[ApplyMoment, ...]
    cheapest: int = 0
    refused: str = ""
    quotes: list[Any] = field(default_factory=list)


def remedy(names: str, freed: int, risk: Risk = Risk.OUTSIDE) -> Remedy:
    steps = tuple(Step(Policy(name, "", lambda policy_context, settings: ())) for name in names.split("+"))
    return Remedy(steps=steps, edits=(Edit(names, "drop"),), freed=freed, risk=risk, saved={}, inserted=0)


def tag(freed: int, once: float | None, per_call: float | None) -> PriceTag:
    return cast("PriceTag", Told(freed, (ApplyMoment(name="now", at=0.0, once=once, per_call=per_call),)))


def advice(
    names: str, once: float | None, per_call: float | None, risk: Risk = Risk.OUTSIDE, horizon: int = 20, freed: int = 9
) -> Advice:
    return Advice(remedy=remedy(names, freed, risk), tag=tag(freed, once, per_call), horizon=horizon)


def names(every: list[Advice]) -> list[str]:
    return ["+".join(one.names) for one in every]


def test_it_saves_what_the_first_call_and_the_others_save() -> None:
    one = advice("a", 0.50, -0.10, horizon=20)
    assert one.saves is not None and abs(one.saves - (19 * 0.10 - 0.50)) < 1e-9
    assert advice("a", 0.50, -0.10, horizon=1).saves == -0.50


def test_another_horizon_gives_another_order() -> None:
    def both(horizon: int) -> list[str]:
        slow = advice("slow", 0.90, -0.20, horizon=horizon)
        quick = advice("quick", -0.10, -0.05, horizon=horizon)
        return names(rank([one for one in (slow, quick) if one.worth > 0]))

    assert both(2) == ["quick"] and both(100) == ["slow", "quick"]


def test_what_risks_more_is_named_only_where_it_saves_more() -> None:
    safe, risky = advice("safe", 0, -0.100), advice("risky", 0, -0.102, Risk.GONE)
    assert names(rank([risky, safe])) == ["safe"]
    assert names(rank([advice("risky", 0, -0.2, Risk.GONE), safe])) == ["safe", "risky"]


def test_two_policies_are_named_only_where_they_save_more_than_one() -> None:
    one, two = advice("a", 0, -0.1), advice("a+b", 0, -0.101)
    assert names(rank([two, one])) == ["a"]


def test_where_no_price_is_known_tokens_rank() -> None:
    every = rank([advice("a", None, None, freed=10_000), advice("b", None, None, freed=90_000)])
    assert names(every) == ["b", "a"] and all(one.saves is None for one in every)


def test_trifles_are_not_named() -> None:
    assert names(rank([advice("a", 0, -1.0), advice("b", 0, -0.01)])) == ["a"]


def test_only_pairs_that_free_more_than_their_parts_are_priced() -> None:
    asked: list[str] = []

    def price(one: Remedy) -> PriceTag:
        asked.append(one.edits[0].id)
        return tag(100, 0.0, -0.1)

    found = [remedy("a", 100), remedy("b", 50), remedy("a+b", 102), remedy("b+a", 150)]
    assert len(list(price_remedies(found, price, 20))) == 3 and asked == ["a", "b", "b+a"]


def test_what_costs_more_than_it_saves_is_no_advice() -> None:
    assert list(price_remedies([remedy("a", 100)], lambda one: tag(100, 0.5, -0.001), 20)) == []
    assert list(price_remedies([remedy("a", 100)], lambda one: None, 20)) == []


def test_it_says_how_it_is_asked_for() -> None:
    assert advice("a+b", 0, -1).options() == "--policy a --policy b --keep-quoted"
