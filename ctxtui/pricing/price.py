"""The list price of a call, at the call's own time. An override table is asked first, then genai-prices (facts §7).

Prices are list prices in USD; what a subscription pays is another matter. An unknown price is None, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.call import ANSWER_LEAST, COUNTED, IN_ALL, WINDOW, Call
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.pricing.rates import Rates, rates
from ctxtui.pricing.table import EMPTY, Override, PriceTable, parse_prices
from ctxtui.pricing.terms import STANDARD, Terms, searches_of, terms_of, told_of
from ctxtui.tokens.models import ModelCard, plain_id
from ctxtui.wire.request import Request
from ctxtui.wire.usage import other_passes

__all__ = [
    "Cost",
    "Override",
    "PriceTable",
    "call_rates",
    "essence",
    "further_usage",
    "lacks_price",
    "most_usd",
    "parse_prices",
    "price",
    "price_call",
    "tokens_of",
    "uncached",
]

_NOTHING: Final = Usage.nothing()
_PRICED_BY: Final = (
    "service_tier", "processing", "speed", "inference_geo", "server_tool_use", "usage", "iterations", ANSWER_LEAST,
    IN_ALL, "tool_usage", "serviceTier", "performanceConfig", "fallback_credit",
)  # fmt: skip
"""What of `Call.extra` decides a price."""


class Cost(Struct, frozen=True, gc=False):
    """What a call costs: USD in total and by part; the parts add up to the total. `version` names the price table.

    `other` is what no token of the context stands for: web searches, further passes of the provider (compaction). It
    leaves out what the fields of the report in `lacks` cost: nobody knows how much.
    """

    usd: float
    fresh: float
    read: float
    write: float
    output: float
    version: str
    other: float = 0.0
    lacks: tuple[str, ...] = ()


def price(
    usage: Usage,
    model: str,
    provider: str = "",
    at: float | None = None,
    table: PriceTable = EMPTY,
    terms: Terms = STANDARD,
) -> Cost | None:
    """What `usage` of `model` costs in USD by the prices at `at` (Unix seconds; None: today's table).

    Returns None where no price is known (local models, new ids). `provider` is the provider's id as in genai-prices
    (``anthropic``, ``openai``), "" to have it found by the model's name.
    """
    found = rates(model, provider, at, usage.input, table, terms)
    return None if found is None else _cost(usage, found)


def _cost(usage: Usage, by: Rates, other: float = 0.0) -> Cost:
    fresh, read = usage.fresh * by.fresh, usage.cache_read * by.read
    write, output = by.written(usage), usage.output * by.output
    usd = sum((fresh, read, write, output)) + other
    return Cost(usd, fresh=fresh, read=read, write=write, output=output, version=by.version, other=other)


def price_call(call: Call, table: PriceTable = EMPTY) -> Cost | None:
    """What `call` costs by list price at its own time and on the terms that its record names; None where it has no
    report or its model no price. An answer that is reported in part costs at least what is known of it."""
    if call.stop_reason == COUNTED:
        return Cost(0.0, fresh=0.0, read=0.0, write=0.0, output=0.0, version="free of charge")
    usage = call.usage
    if usage is None:
        return None
    output = call.output
    billed = _billed_units(usage if usage.output == output else replace(usage, output=output), call.extra)
    found = call_rates(call, table)
    if found is None:
        return None
    searches = searches_of(call.extra)
    cost = _cost(billed, found, _cost(further_usage(call), found).usd + searches * found.search)
    lacks = found.lacks + table.unpriced(told_of(call.extra))
    lacks += ("web_search",) if searches and not found.search else ()
    return replace(cost, lacks=lacks) if lacks else cost


def lacks_price(call: Call, cost: Cost | None) -> bool:
    """Whether the price of what the report of `call` tells is not known, or not all of it."""
    if call.usage is None or not tokens_of(call):
        return False
    return known_usd(call, cost) is None or (cost is not None and bool(cost.lacks))


def most_usd(
    call: Call, cost: Cost | None, card: ModelCard, table: PriceTable = EMPTY, held: int | None = None
) -> float | None:
    """The most that `call` of the model of `card` can have cost; `cost` is its price. None where nothing bounds it.

    An answer whose end is not reported counts as what the request allows, else as the model's limit, and an input that
    is not reported as the most tokens that its request can be (`held`, None: not recorded), within the model's window,
    at its dearest rate.
    """
    if cost is not None and cost.lacks:
        return None
    if not call.is_partial:
        return known_usd(call, cost)
    told = call.extra.get(WINDOW)
    window = told if isinstance(told, int) else card.long_window or card.window
    asked = Request((), call.skeleton).answer_limit if call.skeleton is not None else 0
    answer = asked or card.max_output
    reported = call.usage.input if call.usage is not None else 0
    length = reported or min((n for n in (window, held) if n is not None), default=None)
    by = rates(call.model, call.provider, call.at, length or 1, table, terms_of(call.extra))
    if by is None or length is None or answer is None:
        return None
    if cost is not None and reported:
        return cost.usd + max(0, answer - call.output) * by.output
    return length * max(by.fresh, by.read, by.write_1h, by.write_12h) + answer * by.output


def tokens_of(call: Call) -> int:
    """Tokens in and out that `call` is charged for, all passes of its model."""
    further = further_usage(call)
    return (call.usage.input if call.usage else 0) + call.output + further.input + further.output


def recorded_usd(call: Call) -> float | None:
    """The recording's own figure; a zero says that the client knew no price."""
    return (call.usage.cost or None) if call.usage else None


def known_usd(call: Call, cost: Cost | None) -> float | None:
    """What `call` counts as in USD: its list price, else what its record says, nothing where it was refused; None where
    that is not known."""
    if not call.is_reported:
        return None if call.is_partial else 0.0
    return cost.usd if cost is not None else recorded_usd(call)


def essence(call: Call) -> Call:
    """`call` less everything that its price does not depend on: small enough to be sent to another process."""
    extra: dict[str, Json] = {key: call.extra[key] for key in _PRICED_BY if key in call.extra}
    return Call(
        call.id,
        call.thread,
        call.raw_head,
        call.sent_head,
        call.response_head,
        provider=call.provider,
        model=call.model,
        fidelity=call.fidelity,
        started=call.started,
        ended=call.ended,
        usage=call.usage,
        stop_reason=call.stop_reason,
        error=call.error,
        extra=extra,
    )


def uncached(call: Call, table: PriceTable = EMPTY) -> Cost | None:
    """What `call` would have cost had nothing been read from the cache or written to it; None as for `price_call`."""
    if call.usage is None:
        return None
    used = call.usage
    plain = Usage(fresh=used.input, output=used.output, output_final=used.output_final, has_cache=False)
    return price_call(replace(call, usage=plain), table)


def call_rates(call: Call, table: PriceTable = EMPTY) -> Rates | None:
    """The rates that `call` is charged by; None where its model has no price."""
    length = call.usage.input if call.usage else 1
    return rates(call.model, call.provider, call.at, length, table, terms_of(call.extra))


def further_usage(call: Call) -> Usage:
    """What the model of `call` used in passes other than the one that answered (facts §1: top-level totals leave
    compaction out). Passes of other models are calls of their own."""
    passes = other_passes(call.extra)
    if not passes:
        return _NOTHING
    own = (one.usage for one in passes if plain_id(one.model or call.model) == plain_id(call.model))
    return sum(own, _NOTHING)


def _billed_units(usage: Usage, extra: Mapping[str, Json]) -> Usage:
    """Cohere bills other counts than it reports for the context: what it adds itself is free."""
    report = extra.get("usage")
    units = report.get("billed_units") if isinstance(report, dict) else None
    if not isinstance(units, dict):
        return usage
    input_, output = units.get("input_tokens"), units.get("output_tokens")
    if not isinstance(input_, int | float) or not isinstance(output, int | float):
        return usage
    return Usage(fresh=int(input_), output=int(output), has_cache=usage.has_cache)
