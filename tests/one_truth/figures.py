"""Figures that stand in several places, and what is wrong where they differ.

A *reading* says that some place gives a figure a value: a command's JSON gives it exactly, a screen gives it as it is
painted. A painted figure is right where it is what the screen's own number formats make of the exact value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from ctxtui.views.text import numbers

Value = float | int | None

TOKENS, SIGNED, USD, COUNT, WORDS = "tokens", "signed tokens", "usd", "count", "words"
KINDS: Final[dict[str, Callable[[Value], set[str]]]] = {
    TOKENS: lambda value: {numbers.tokens(value), numbers.exact(int(value))} if value is not None else {"–"},
    SIGNED: lambda value: {numbers.signed(value or 0)},
    WORDS: lambda value: set(),
    USD: lambda value: {numbers.money(value)},
    COUNT: lambda value: {f"{value:,}"} if value else {"0", "·", ""},
}


@dataclass(frozen=True)
class Reading:
    """`place` gives the figure `name` the value `exact`, or paints it as `shown`. `partial`: a price is missing, or the
    end of an answer, so that the value is the least that it can be; who paints it must say so."""

    name: str
    kind: str
    place: str
    exact: Value = None
    shown: str | None = None
    partial: bool = False


def differences(readings: Iterable[Reading]) -> list[str]:
    """A line for each figure whose places do not agree."""
    by_name: dict[str, list[Reading]] = defaultdict(list)
    for one in readings:
        by_name[one.name].append(one)
    return [line for name, of in by_name.items() for line in _of_one(name, of)]


def _of_one(name: str, readings: list[Reading]) -> list[str]:
    exact = [one for one in readings if one.shown is None]
    painted = [one for one in readings if one.shown is not None]
    said = "; ".join(f"{one.place} {one.exact if one.shown is None else one.shown!r}" for one in readings)
    if any(not _same(one.exact, exact[0].exact) for one in exact[1:]):
        return [f"{name}: {said}"]
    if exact:
        right = KINDS[exact[0].kind](exact[0].exact)
        if any(one.partial for one in exact):
            right = {f"≥{said}" for said in right if said not in ("unknown", "–")} or right
        # Narrow columns leave the blank out.
        wrong = any((one.shown or "").replace("≥ ", "≥") not in right for one in painted)
    else:
        wrong = len({one.shown for one in painted}) > 1
    return [f"{name}: {said}"] if wrong else []


def _same(one: Value, other: Value) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-6 * max(1.0, abs(one))
