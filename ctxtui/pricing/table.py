"""The override table: prices that take precedence over the price library (genai-prices).

It has prices that the library lacks or has wrong, and the user's own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.canonical import Json


class Override(Struct, frozen=True):
    """One row of the override table.

    Rates in USD per million tokens, or (without an `input` rate) another model to be priced `like`. `match` is a
    regular expression for the whole name of a model. Missing cache rates are derived from `input` (facts §2, §4).
    `cache_write_5m` is also the rate of 30-minute writes, `cache_write_1h` that of 12-hour writes. A missing `output`
    rate is zero. `source` and `date` say where and when the prices were found.
    """

    match: str
    like: str = ""
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    source: str = ""
    date: str = ""


class FastMode(Struct, frozen=True):
    """Price of fast mode: `times` the standard rates of all tokens; `match` as in `Override`."""

    match: str
    times: float
    source: str = ""
    date: str = ""


TREATMENTS: Final = ("priced", "term", "part", "free", "pass", "unpriced")
"""Effects of a report's field on the price; ``usage.toml`` explains each."""


class UsageField(NamedTuple):
    """A field at `path` in the usage reports of the API `of`.

    `treatment` is one of `TREATMENTS`.
    """

    of: str
    path: str
    treatment: str
    source: str = ""


class PriceTable(Struct, frozen=True):
    """The override table and its version.

    - `rows`: prices, the first match counts; `fast`: those of Anthropic's fast mode.
    - `fields`: report fields whose price is unknown, by the first step of their path.
    - `usual`: values of such fields that cost nothing.
    - `undated`: the time (Unix seconds) at which calls without a time are priced; None: now, by the library's clock.
    """

    version: str = ""
    rows: tuple[Override, ...] = ()
    fast: tuple[FastMode, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    usual: frozenset[str] = frozenset()
    undated: float | None = None

    def find(self, model: str) -> Override | None:
        return next((row for row in self.rows if re.fullmatch(row.match, model)), None)

    def fast_factor(self, model: str) -> float | None:
        return next((row.times for row in self.fast if re.fullmatch(row.match, model)), None)

    def unpriced(self, report: Mapping[str, Json]) -> tuple[str, ...]:
        """Fields of `report` that raise the price by an unknown amount."""
        paths = [path for name in report if name in self.fields for path in self.fields[name]]
        return tuple(
            path for path in paths if any(self._has_cost(value) for value in _values_at(report, path.split(".")))
        )

    def _has_cost(self, value: Json) -> bool:
        return bool(value) and not (isinstance(value, str) and value in self.usual)


def _values_at(value: Json | Mapping[str, Json], path: Sequence[str]) -> Iterator[Json]:
    """Yield the values at `path`.

    A step is ``name``, ``name[]`` for each entry of a list, or ``name[key=value]`` for some.
    """
    if not path:
        yield value
        return
    name, bracket, filter_ = path[0].partition("[")
    member = value.get(name) if isinstance(value, Mapping) else None
    if not bracket:
        yield from _values_at(member, path[1:])
        return
    key, _, expected = filter_.rstrip("]").partition("=")
    for entry in member if isinstance(member, list) else ():
        if not key or (isinstance(entry, Mapping) and entry.get(key) == expected):
            yield from _values_at(entry, path[1:])


EMPTY: Final = PriceTable()


def parse_prices(toml: str, usage: str = "") -> PriceTable:
    """Parse the override table, and from `usage` the fields of reports, both TOML.

    Raises `TypeError` for an unknown or missing key of a row, `KeyError` for a group without `of` or `source`, and
    ``tomllib.TOMLDecodeError``. Values are not checked.
    """
    data, rows = tomllib.loads(toml), parse_usage_fields(usage)
    fields: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if row.treatment == "unpriced":
            name = re.split(r"[.\[]", row.path)[0]
            fields[name] = (*fields.get(name, ()), row.path)
    return PriceTable(
        str(data.get("version", "")),
        tuple(Override(**row) for row in data.get("model", ())),
        tuple(FastMode(**row) for row in data.get("fast", ())),
        fields,
        frozenset(tomllib.loads(usage).get("usual", ())),
    )


def parse_usage_fields(toml: str) -> list[UsageField]:
    groups = tomllib.loads(toml).get("group", ())
    return [
        UsageField(group["of"], path, treatment, group["source"])
        for group in groups
        for treatment in TREATMENTS
        for path in group.get(treatment, ())
    ]


class LibraryModel(NamedTuple):
    """A model of the price library, with its window in tokens."""

    id: str
    window: int


@cache
def list_models(provider: str) -> tuple[LibraryModel, ...]:
    """List the models of `provider` (the library's id) that have a known window there, by id."""
    from genai_prices.data_snapshot import get_snapshot

    for entry in get_snapshot().providers:
        if entry.id == provider:
            models = [LibraryModel(model.id, model.context_window) for model in entry.models if model.context_window]
            return tuple(sorted(models))
    return ()
