"""The override table: prices that the price library lacks or has wrong, and the user's own, asked first.

Also which models of a provider the library knows.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Final, NamedTuple

from ctxtui.dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Override:
    """One row of the override table: rates in USD per million tokens, or another model to be priced `like`.

    What a row with an `input` rate leaves out follows from that: reads a tenth, 5-minute (30-minute) writes 1.25 times,
    1-hour (12-hour) writes twice (facts §2, §4).
    """

    match: str
    _: KW_ONLY
    like: str = ""
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class FastMode:
    """What fast mode of the models that `match` costs, `times` the standard rates of all tokens."""

    match: str
    times: float
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The override table and its version."""

    version: str = ""
    rows: tuple[Override, ...] = ()
    fast: tuple[FastMode, ...] = ()

    def find(self, model: str) -> Override | None:
        """The first row whose pattern matches the whole of `model`."""
        return next((row for row in self.rows if re.fullmatch(row.match, model)), None)

    def fast_times(self, model: str) -> float | None:
        """What fast mode of `model` costs, times the standard rates; None where the table does not say."""
        return next((row.times for row in self.fast if re.fullmatch(row.match, model)), None)


EMPTY: Final = PriceTable()
"""No row: the price library alone."""


def parse_prices(toml: str) -> PriceTable:
    """The override table from its TOML text. Raises `TypeError` on an unknown key, which names it."""
    data = tomllib.loads(toml)
    rows = tuple(Override(**row) for row in data.get("model", ()))
    return PriceTable(str(data.get("version", "")), rows, tuple(FastMode(**row) for row in data.get("fast", ())))


class LibraryModel(NamedTuple):
    """A model of the price library: its id, and its window in tokens."""

    id: str
    window: int


@cache
def models_of(provider: str) -> tuple[LibraryModel, ...]:
    """The models with a known window that the price library has of `provider` (its id there: ``anthropic``,
    ``openai``), by name; none for a provider that it does not know."""
    from genai_prices.data_snapshot import get_snapshot

    for one in get_snapshot().providers:
        if one.id == provider:
            known = [LibraryModel(model.id, model.context_window) for model in one.models if model.context_window]
            return tuple(sorted(known))
    return ()
