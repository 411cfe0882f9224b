"""List price of a call in USD, as of the time of the call; subscriptions are not considered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.call import ANSWER_LEAST, COUNTED, IN_ALL, WINDOW, Call
from ctxtui.core.canonical import Json, Number
from ctxtui.core.json_values import as_count, as_dict
from ctxtui.core.usage import Usage
from ctxtui.pricing.rates import Rates, find_rates
from ctxtui.pricing.table import EMPTY, PriceTable
from ctxtui.pricing.terms import STANDARD, Terms, count_searches, merge_report, read_terms
from ctxtui.tokens.models import ModelCard, plain_id
from ctxtui.wire.request import Request
from ctxtui.wire.usage import other_passes

_NO_USAGE: Final = Usage.nothing()
_PRICED_FIELDS: Final = (
    "service_tier", "processing", "speed", "inference_geo", "server_tool_use", "usage", "iterations", ANSWER_LEAST,
    IN_ALL, "tool_usage", "serviceTier", "performanceConfig", "fallback_credit",
)  # fmt: skip
"""Keys of `Call.extra` that affect the price."""


class Cost(Struct, frozen=True, gc=False):
    """Price of a call in USD, in total and by part.

    - `fresh`, `read`, `write`: input that was not cached, was read from the cache, or was written to it.
    - `other`: web searches, and further passes of the model (`further_usage`).
    - `version`: names the price table.
    - `lacks`: what has no known price; its cost is not included.
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
    """Price `usage` of `model`; None if no price is known. Other arguments as for `find_rates`."""
    by = find_rates(model, provider, at, usage.input, table, terms)
    return None if by is None else _cost(usage, by)


def _cost(usage: Usage, by: Rates, other_usd: float = 0.0) -> Cost:
    fresh, read = usage.fresh * by.fresh, usage.cache_read * by.read
    write, output = by.write_cost(usage), usage.output * by.output
    usd = sum((fresh, read, write, output)) + other_usd
    return Cost(usd, fresh=fresh, read=read, write=write, output=output, version=by.version, other=other_usd)


def price_call(call: Call, table: PriceTable = EMPTY) -> Cost | None:
    """Price `call` at its own time and on its recorded terms.

    None without a usage report, or if no price of the model is known. A lower bound if the usage is one
    (`Call.is_partial`). 0 for a request that only counts tokens.
    """
    if call.stop_reason == COUNTED:
        return Cost(0.0, fresh=0.0, read=0.0, write=0.0, output=0.0, version="free of charge")
    usage = call.usage
    if usage is None:
        return None
    output = call.output
    billed = _billed_units(usage if usage.output == output else replace(usage, output=output), call.extra)
    by = rates_for_call(call, table)
    if by is None:
        return None
    searches = count_searches(call.extra)
    cost = _cost(billed, by, _cost(further_usage(call), by).usd + searches * by.search)
    lacks = by.lacks + table.unpriced(merge_report(call.extra))
    lacks += ("web_search",) if searches and not by.search else ()
    return replace(cost, lacks=lacks) if lacks else cost


def lacks_price(call: Call, cost: Cost | None) -> bool:
    """Whether the price of the reported usage of `call` is unknown, in whole or in part."""
    if call.usage is None or not count_charged_tokens(call):
        return False
    return known_usd(call, cost) is None or (cost is not None and bool(cost.lacks))


def max_usd(
    call: Call, cost: Cost | None, card: ModelCard, table: PriceTable = EMPTY, input_limit: int | None = None
) -> float | None:
    """Upper bound of the cost of `call` in USD. None if there is none, or a part has no known price.

    `cost` is the price of what is reported (`price_call`). For an answer whose end is not reported, the request's
    output limit is assumed, else the model's. For an input that is not reported, `input_limit` tokens (None: unknown)
    are assumed, at most the context window, at the highest input rate.
    """
    if cost is not None and cost.lacks:
        return None
    if not call.is_partial:
        return known_usd(call, cost)
    recorded_window = call.extra.get(WINDOW)
    window = recorded_window if isinstance(recorded_window, int) else card.long_window or card.window
    requested = Request((), call.skeleton).answer_limit if call.skeleton is not None else 0
    answer = requested or card.max_output
    reported = call.usage.input if call.usage is not None else 0
    length = reported or min((n for n in (window, input_limit) if n is not None), default=None)
    by = find_rates(call.model, call.provider, call.at, length or 1, table, read_terms(call.extra))
    if by is None or length is None or answer is None:
        return None
    if cost is not None and reported:
        return cost.usd + max(0, answer - call.output) * by.output
    return length * max(by.fresh, by.read, by.write_5m, by.write_1h, by.write_12h) + answer * by.output


def count_charged_tokens(call: Call) -> int:
    """Tokens of input and output that `call` is charged for, in all passes of its model."""
    further = further_usage(call)
    return (call.usage.input if call.usage else 0) + call.output + further.input + further.output


def recorded_usd(call: Call) -> float | None:
    """Cost in USD that the recording states; None also for 0, which means that it knew no price."""
    return (call.usage.cost or None) if call.usage else None


def known_usd(call: Call, cost: Cost | None) -> float | None:
    """USD that `call` counts as: its list price, else the recorded cost. None if unknown.

    0 if it has no report and nothing is charged for it alone (refused, or part of a recorded sum).
    """
    if not call.is_reported:
        return None if call.is_partial else 0.0
    return cost.usd if cost is not None else recorded_usd(call)


def keep_priced_fields(call: Call) -> Call:
    """Copy `call` with only the fields that its price depends on."""
    extra: dict[str, Json] = {key: call.extra[key] for key in _PRICED_FIELDS if key in call.extra}
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


def with_usage(call: Call, usage: Usage) -> Call:
    """A copy of `call` with another usage, to price that on its terms.

    It counts as complete, and has no bill of Cohere's.
    """
    report = {name: value for name, value in as_dict(call.extra.get("usage")).items() if name != "billed_units"}
    extra = {**call.extra, "usage": report}
    return replace(call, usage=replace(usage, output_final=True), stop_reason="", extra=extra)


def price_uncached(call: Call, table: PriceTable = EMPTY) -> Cost | None:
    """Price `call` as if all input were fresh; None as for `price_call`."""
    if call.usage is None:
        return None
    used = call.usage
    plain = Usage(fresh=used.input, output=used.output, output_final=used.output_final, has_cache=False)
    return price_call(replace(call, usage=plain), table)


def rates_for_call(call: Call, table: PriceTable = EMPTY) -> Rates | None:
    """Find the rates that apply to `call`; None if no price is known."""
    length = call.usage.input if call.usage else 1
    return find_rates(call.model, call.provider, call.at, length, table, read_terms(call.extra))


def further_usage(call: Call) -> Usage:
    """Usage of the call's model outside of the report's totals (facts §1).

    A provider may run the model in several passes for one answer, such as a compaction before it; the totals are those
    of the pass that answered. Passes of other models are calls of their own.
    """
    passes = other_passes(call.extra)
    if not passes:
        return _NO_USAGE
    own_passes = (pass_.usage for pass_ in passes if plain_id(pass_.model or call.model) == plain_id(call.model))
    return sum(own_passes, _NO_USAGE)


def _billed_units(usage: Usage, extra: Mapping[str, Json]) -> Usage:
    """The units that Cohere bills, if `extra` has them, else `usage`. Text that it adds is free."""
    units = as_dict(extra.get("usage")).get("billed_units")
    if not isinstance(units, dict):
        return usage
    input_, output = units.get("input_tokens"), units.get("output_tokens")
    if not isinstance(input_, int | float | Number) or not isinstance(output, int | float | Number):
        return usage
    return Usage(fresh=as_count(input_), output=as_count(output), has_cache=usage.has_cache)
