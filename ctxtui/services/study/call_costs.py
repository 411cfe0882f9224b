"""What calls cost, by id: those that another process priced in columns, each made when it is asked for, beside those
that were priced here."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from math import isnan, nan
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ctxtui.core.call import Call

if TYPE_CHECKING:
    from ctxtui.pricing.price import Cost

T = TypeVar("T")

_PARTS: Final = ("usd", "fresh", "read", "write", "output", "other")
_FIGURES: Final = attrgetter(*_PARTS)
_FREE: Final = (nan,) * len(_PARTS)


class PriceColumns(NamedTuple):
    """The prices of calls in their order: a column for each part of a cost (not a number where none is known), the
    versions of price tables and which of them each is by, what each call would have cost without a cache."""

    parts: Sequence[array[float]]
    versions: Sequence[str]
    by: array[int]
    uncached: array[float]


class ByCall(MutableMapping[str, T]):
    """What is known of calls by id."""

    def __init__(self) -> None:
        self._here: dict[str, T] = {}
        self._numbers: Mapping[str, int] = {}
        self._made: Callable[[int], T] | None = None
        self._beside = 0
        """Of how many calls it is known here alone."""

    def take(self, numbers: Mapping[str, int], made: Callable[[int], T]) -> None:
        """Know also of the calls in `numbers` what `made` makes of their number."""
        self._numbers, self._made = numbers, made
        self._beside = sum(id_ not in numbers for id_ in self._here)

    def __getitem__(self, id_: str) -> T:
        found = self._here
        if id_ in found or self._made is None:
            return found[id_]
        return self._made(self._numbers[id_])

    def __contains__(self, id_: object) -> bool:
        return id_ in self._here or id_ in self._numbers

    def __setitem__(self, id_: str, known: T) -> None:
        self._beside += id_ not in self
        self._here[id_] = known

    def __delitem__(self, id_: str) -> None:
        raise TypeError("what is known of a call stays")

    def __iter__(self) -> Iterator[str]:
        yield from self._numbers
        yield from [id_ for id_ in self._here if id_ not in self._numbers]

    def __len__(self) -> int:
        # A scene asks whether there is any, at every key.
        return len(self._numbers) + self._beside


def price_columns(
    calls: Sequence[Call], costs: MutableMapping[str, Cost | None], uncached: MutableMapping[str, float]
) -> PriceColumns:
    """The prices of `calls`."""
    versions: dict[str, int] = {}
    parts, by = [array("d") for _ in _PARTS], array("H")
    for call in calls:
        cost = costs.get(call.id)
        by.append(versions.setdefault(cost.version, len(versions)) if cost is not None else 0)
        for column, figure in zip(parts, _FIGURES(cost) if cost is not None else _FREE, strict=True):
            column.append(figure)
    return PriceColumns(parts, tuple(versions), by, array("d", [uncached.get(call.id, nan) for call in calls]))


def take_columns(
    calls: Sequence[Call], sent: PriceColumns, costs: ByCall[Cost | None], uncached: ByCall[float]
) -> None:
    """Know of `calls` the prices that `price_columns` gave."""
    from ctxtui.pricing.price import Cost

    numbers = {call.id: number for number, call in enumerate(calls)}

    def cost(number: int) -> Cost | None:
        usd, fresh, read, write, output, other = (column[number] for column in sent.parts)
        if isnan(usd):
            return None
        version = sent.versions[sent.by[number]]
        return Cost(usd, fresh=fresh, read=read, write=write, output=output, version=version, other=other)

    known = numbers
    if any(map(isnan, sent.uncached)):
        known = {id_: number for id_, number in numbers.items() if not isnan(sent.uncached[number])}
    costs.take(numbers, cost)
    uncached.take(known, sent.uncached.__getitem__)
