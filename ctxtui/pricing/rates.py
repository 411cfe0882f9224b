"""Price of a token of each kind, from overrides or the price library (facts §2, §4, §7).

The price library is genai-prices; overrides are the rows of ctxtui and of the user that precede it (`table`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.usage import Usage
from ctxtui.pricing.table import EMPTY, Override, PriceTable
from ctxtui.pricing.terms import FLEX, STANDARD, Terms
from ctxtui.tokens.models import plain_id

_MILLION: Final = 1_000_000
# Multiples of the input rate, for override rows that give no cache rates (facts §2, §4).
_READ_FACTOR: Final = 0.1
_SHORT_WRITE_FACTOR: Final = 1.25
_HOUR_WRITE_FACTOR: Final = 2.0
_12H_WRITE_FACTOR: Final = 2.0
"""Price of 12-hour writes, times that of 30-minute ones; the price library lacks it (facts §4)."""
_BATCH_FACTOR: Final = 0.5
"""Price of batches and of OpenAI's flex tier where the price library has none (facts §2)."""
_US_FACTOR: Final = 1.1
"""Price of inference in the US, times all token rates; the price library lacks it (facts §2)."""

_TOKEN_KINDS: Final = ("fresh", "read", "write_5m", "write_1h", "write_30m", "write_12h", "output")


class Rates(Struct, frozen=True, kw_only=True):
    """USD per token of each kind, and per web search.

    `lacks` names terms of the call that raise the price by an unknown amount, which these rates leave out.
    """

    fresh: float
    read: float
    write_5m: float
    write_1h: float
    write_30m: float
    write_12h: float
    output: float
    search: float = 0.0
    version: str = ""
    lacks: tuple[str, ...] = ()

    def write_cost(self, usage: Usage) -> float:
        return (
            usage.write_5m * self.write_5m
            + usage.write_1h * self.write_1h
            + usage.write_30m * self.write_30m
            + usage.write_12h * self.write_12h
        )

    def multiply(self, factor: float) -> Rates:
        """Multiply the token rates by `factor`; a search costs the same on all terms."""
        return replace(self, **{kind: getattr(self, kind) * factor for kind in _TOKEN_KINDS})


def find_rates(
    model: str,
    provider: str = "",
    at: float | None = None,
    length: int = 1,
    table: PriceTable = EMPTY,
    terms: Terms = STANDARD,
) -> Rates | None:
    """Find the rates of `model` for a prompt of `length` input tokens.

    `at`: Unix seconds; None: the table's time for undated calls. `provider`: the id in genai-prices; "" finds it by the
    model's name. None if no price is known, as for local models.
    """
    row = table.find(model)
    # Only Anthropic charges more for inference in the US (facts §2).
    if "claude" not in model.lower():
        terms = terms._replace(us=False)
    if row and row.input is not None:
        return _apply_terms(_rates_from_row(row, row.input, table.version), terms, table.fast_factor(model))
    moment = _find_price_moment(at) or _find_price_moment(table.undated)
    return _rates_from_library(row.like if row else model, provider, moment, length, terms, table)


def _rates_from_row(row: Override, input_rate: float, version: str) -> Rates:
    rate = input_rate / _MILLION
    short = rate * _SHORT_WRITE_FACTOR if row.cache_write_5m is None else row.cache_write_5m / _MILLION
    hour = rate * _HOUR_WRITE_FACTOR if row.cache_write_1h is None else row.cache_write_1h / _MILLION
    return Rates(
        fresh=rate,
        read=rate * _READ_FACTOR if row.cache_read is None else row.cache_read / _MILLION,
        write_5m=short,
        write_1h=hour,
        write_30m=short,
        write_12h=short * _12H_WRITE_FACTOR if row.cache_write_1h is None else hour,
        output=(row.output or 0.0) / _MILLION,
        version=f"override {version}",
    )


def _apply_terms(rates: Rates, terms: Terms, fast_factor: float | None) -> Rates:
    """Apply the providers' published multiples; `lacks` names the terms without one."""
    factor = _US_FACTOR if terms.us else 1.0
    lacks: tuple[str, ...] = ("inference_geo",) if terms.elsewhere else ()
    if terms.batch or terms.tier == FLEX:
        factor *= _BATCH_FACTOR
    if terms.tier not in ("", FLEX):
        lacks += ("service_tier",)
    if terms.fast:
        factor *= fast_factor or 1.0
        lacks += () if fast_factor else ("speed",)
    return replace(rates if factor == 1.0 else rates.multiply(factor), lacks=lacks)


def _find_price_moment(at: float | None) -> str:
    """The half hour (ISO) of `at` (Unix seconds); "" without a time, or outside the calendar.

    Some providers charge less at night (DeepSeek: from 16:30 to 00:30 UTC), none changes its prices within a half hour.
    """
    try:
        moment = datetime.fromtimestamp(at, UTC) if at else None
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.replace(minute=moment.minute // 30 * 30, second=0, microsecond=0).isoformat() if moment else ""


def _rates_from_library(
    model: str, provider: str, moment: str, length: int, terms: Terms, table: PriceTable
) -> Rates | None:
    """The rates under the first of the model's names that has a price; None if none has."""
    for name, maker in _names_to_try(model, provider):
        # Rates are constant between two length steps of a model, so one query per step is enough.
        steps = _price_steps(name, maker, moment)
        if steps is None:
            continue
        step = max((step for step in steps if step < length), default=0) + 1
        rates_on = partial(_rates_at, name, maker, moment, step)
        standard = rates_on(STANDARD)
        if standard is None:
            continue
        term_rates = rates_on(terms) if terms.context else None
        if term_rates and term_rates != standard:
            # The library may have a variant for one of two terms only; the region is left to apply.
            left = Terms(
                tier=terms.tier if terms.tier != FLEX and rates_on(terms._replace(tier="")) == term_rates else "",
                fast=terms.fast and rates_on(terms._replace(fast=False)) == term_rates,
                us=terms.us,
                elsewhere=terms.elsewhere,
            )
            return _apply_terms(term_rates, left, None)
        return _apply_terms(standard, terms, table.fast_factor(name))
    return None


@cache
def _price_steps(model: str, provider: str, moment: str) -> tuple[int, ...] | None:
    """Prompt lengths (tokens) above which some rate changes; None if the model has no price."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        price = calc_price(
            Tokens(input_tokens=1), model, provider_id=provider or None, genai_request_timestamp=_parse_moment(moment)
        )
    except LookupError:
        return None
    kinds = vars(price.model_price).values()
    return tuple(sorted({tier.start for kind in kinds for tier in getattr(kind, "tiers", ())}))


def _parse_moment(moment: str) -> datetime | None:
    """Parse what `_find_price_moment` returns; "" is None, the present for the library."""
    return datetime.fromisoformat(moment) if moment else None


@cache
def _rates_at(model: str, provider: str, moment: str, length: int, terms: Terms) -> Rates | None:
    """Query the library for prompts of `length` tokens; None if it has no price.

    Some models cost more per token above a length, and then the whole prompt does (facts §3, §4).
    """
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    def total(**tokens: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            price = calc_price(
                Tokens(**tokens),
                model,
                provider_id=provider or None,
                genai_request_timestamp=_parse_moment(moment),
                price_context=terms.context or None,
            )
        return float(price.total_price)

    n = length
    try:
        fresh = total(input_tokens=n) / n
        read = total(input_tokens=n, cache_read_tokens=n) / n
        short = total(input_tokens=n, cache_write_tokens=n) / n
        output = (total(input_tokens=n, output_tokens=_MILLION) - fresh * n) / _MILLION
        search = total(input_tokens=n, web_searches=1) - fresh * n
    except LookupError:
        return None
    try:
        long = total(input_tokens=n, cache_write_tokens=n, cache_write_1h_tokens=n) / n
    except ValueError:
        # The library has no one-hour rate for this model.
        long = short
    return Rates(
        fresh=fresh,
        read=read,
        write_5m=short,
        write_1h=long,
        write_30m=short,
        write_12h=short * _12H_WRITE_FACTOR,
        output=output,
        search=search,
        version=library_version(),
    )


@cache
def library_version() -> str:
    """Name and version of the price library."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


_LOCAL_PROVIDERS: Final = frozenset(
    "ollama lmstudio lm_studio lm-studio llamacpp llama.cpp llama-cpp llama_cpp vllm sglang mlx local".split()
)
_PROXIES: Final = frozenset({"litellm_proxy", "litellm"})
_BEDROCK_ID: Final = re.compile(
    r"(?:^|/)(?:[a-z-]{2,6}\.)?(?:anthropic|meta|mistral|deepseek|cohere|openai|amazon|qwen|minimax|moonshot|zai)\."
)
"""Amazon's ids of a model, alone or at the end of a longer name."""
_VERTEX: Final = "google-vertex"
"""Google's cloud, whose ids of models are paths: ``publishers/anthropic/models/claude-sonnet-4-5@20250929``."""
_COPIED_APIS: Final = frozenset({"anthropic", "openai"})
"""Providers whose API others implement: a model that they do not have is priced as its maker's."""


def _names_to_try(model: str, provider: str) -> Iterator[tuple[str, str]]:
    """Yield (model, provider) pairs to look up in turn, none for local models.

    "" is any provider. ``openrouter/anthropic/claude-3.5-sonnet`` is OpenRouter's; ``litellm_proxy/x`` is priced as x;
    an Amazon id is Amazon's, whatever provider the recording names.
    """
    # Claude Code adds the context window to a model's name: `claude-opus-5-5[1m]`.
    bare = model.partition("[")[0].strip()
    if "publishers/" in bare:
        yield bare.rpartition("/")[2], _VERTEX
    prefix, slash, name_after_prefix = bare.partition("/")
    if provider.lower() in _LOCAL_PROVIDERS or (slash and prefix.lower() in _LOCAL_PROVIDERS):
        return
    if _BEDROCK_ID.search(bare):
        yield bare, "aws"
        provider = ""
    yield bare, provider
    if slash and prefix.lower() in _PROXIES:
        yield from _names_to_try(name_after_prefix, "")
    elif slash and not provider:
        yield name_after_prefix, prefix.lower()
    undated = plain_id(bare)
    if not slash and undated != bare.lower():
        yield undated, provider
    if provider in _COPIED_APIS:
        yield from _names_to_try(model, "")
