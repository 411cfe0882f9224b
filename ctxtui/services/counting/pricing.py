"""Prices of calls: the packaged table, overridden by the user's own prices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.pricing.price import Cost, price_call, price_uncached
from ctxtui.pricing.table import Override, PriceTable
from ctxtui.services.config.package_data import price_table
from ctxtui.services.config.settings import Settings

Priced = tuple[Cost | None, Cost | None]
"""The cost of a call, and its cost without a cache (None: the same, or unknown)."""
Pricer = Callable[[Sequence[Call]], list[Priced]]


def prices_for(settings: Settings) -> PriceTable:
    """The packaged price table with the user's prices first."""
    base = price_table()
    user_prices = tuple(_make_override(model, rates) for model, rates in settings.prices.items())
    return replace(base, rows=(*user_prices, *base.rows)) if user_prices else base


def make_call_pricer(table: PriceTable) -> Callable[[Call], Cost | None]:
    """A function that prices a call at its own time; None if its model has no price."""
    return lambda call: price_call(call, table)


def total_session(session: Session, settings: Settings) -> SessionTotals:
    """The totals of a whole session, by the user's prices and list prices."""
    table = prices_for(settings)
    return session_totals(session, {id_: price_call(call, table) for id_, call in session.calls.items()})


def _price_call_twice(call: Call, table: PriceTable) -> Priced:
    cost = price_call(call, table)
    if cost is None or call.usage is None or not call.usage.has_cache:
        return cost, None
    return cost, price_uncached(call, table)


def local_pricer(table: PriceTable) -> Pricer:
    return lambda calls: [_price_call_twice(call, table) for call in calls]


def _make_override(model: str, rates: Mapping[str, float]) -> Override:
    return Override(
        match=re.escape(model),
        source="setting prices",
        input=rates["input"],
        output=rates["output"],
        cache_read=rates.get("cache_read"),
        cache_write_5m=rates.get("cache_write_5m"),
        cache_write_1h=rates.get("cache_write_1h"),
    )
