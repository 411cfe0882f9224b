"""The list price of a call, at the call's own time. An override table is asked first, then genai-prices (facts §7).

Prices are list prices in USD; what a subscription pays is another matter. An unknown price is None, never zero.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Final

from ctxtui.core.usage import Usage

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call costs: USD in total and by part; the parts add up to the total. `version` names the price table."""

    usd: float
    fresh: float
    read: float
    write: float
    output: float
    version: str


@dataclass(frozen=True, slots=True)
class Override:
    """One row of the override table: rates in USD per million tokens, or another model to be priced `like`."""

    match: str
    like: str = ""
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The override table and its version."""

    version: str = ""
    rows: tuple[Override, ...] = ()

    def find(self, model: str) -> Override | None:
        """The first row whose pattern matches the whole of `model`."""
        return next((row for row in self.rows if re.fullmatch(row.match, model)), None)


def parse_prices(toml: str) -> PriceTable:
    """The override table from its TOML text. Raises `TypeError` on an unknown key, which names it."""
    data = tomllib.loads(toml)
    return PriceTable(str(data.get("version", "")), tuple(Override(**row) for row in data.get("model", ())))


def price(
    usage: Usage, model: str, provider: str = "", at: float | None = None, table: PriceTable = PriceTable()
) -> Cost | None:
    """What `usage` of `model` costs in USD by the prices at `at` (Unix seconds; None: today's table).

    Returns None where no price is known (local models, new ids). `provider` is the provider's id as in genai-prices
    (``anthropic``, ``openai``), "" to have it found by the model's name.
    """
    row = table.find(model)
    if row and row.input is not None:
        return _by_row(usage, row, table.version)
    return _by_library(usage, row.like if row else model, provider, at)


def _by_row(usage: Usage, row: Override, version: str) -> Cost:
    rate = (row.input or 0.0) / _MILLION
    read = rate * 0.1 if row.cache_read is None else row.cache_read / _MILLION
    short = rate * 1.25 if row.cache_write_5m is None else row.cache_write_5m / _MILLION
    long = rate * 2 if row.cache_write_1h is None else row.cache_write_1h / _MILLION
    parts = (
        usage.fresh * rate,
        usage.cache_read * read,
        (usage.write_5m + usage.write_30m) * short + (usage.write_1h + usage.write_12h) * long,
        usage.output * (row.output or 0.0) / _MILLION,
    )
    return Cost(sum(parts), *parts, version=f"override {version}")


def _by_library(usage: Usage, model: str, provider: str, at: float | None) -> Cost | None:
    day = _day(at)
    # Rates are the same between two of a model's length steps, so one question per stretch is enough.
    steps = _steps(model, provider, day)
    beyond = [step for step in steps if step < usage.input]
    rates = _rates_at(model, provider, day, max(beyond) + 1 if beyond else 1)
    if rates is None:
        return None
    fresh, read, short, long, output, version = rates
    parts = (
        usage.fresh * fresh,
        usage.cache_read * read,
        (usage.write_5m + usage.write_30m) * short + (usage.write_1h + usage.write_12h) * long,
        usage.output * output,
    )
    return Cost(sum(parts), *parts, version=version)


def _day(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat() if at else ""


@cache
def _steps(model: str, provider: str, day: str) -> tuple[int, ...]:
    """Prompt lengths (tokens) above which some rate of the model changes."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    when = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
    try:
        rates = calc_price(Tokens(input_tokens=1), model, provider_id=provider or None, genai_request_timestamp=when)
    except LookupError:
        return ()
    kinds = vars(rates.model_price).values()
    return tuple(sorted({tier.start for kind in kinds for tier in getattr(kind, "tiers", ())}))


@cache
def _rates_at(model: str, provider: str, day: str, length: int) -> tuple[float, float, float, float, float, str] | None:
    """USD per token of (fresh, read, 5m write, 1h write, output) for a prompt of `length` tokens, and the version.

    The length matters: some models cost more per token above a prompt length (facts §3, §4)."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    when = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None

    def total(**tokens: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = calc_price(Tokens(**tokens), model, provider_id=provider or None, genai_request_timestamp=when)
        return float(found.total_price)

    n = length
    try:
        fresh = total(input_tokens=n) / n
        read = total(input_tokens=n, cache_read_tokens=n) / n
        short = total(input_tokens=n, cache_write_tokens=n) / n
        output = (total(input_tokens=n, output_tokens=_MILLION) - fresh * n) / _MILLION
    except LookupError:
        return None
    try:
        long = total(input_tokens=n, cache_write_tokens=n, cache_write_1h_tokens=n) / n
    except ValueError:
        long = short
    return fresh, read, short, long, output, _version()


@cache
def _version() -> str:
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"
