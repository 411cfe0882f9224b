"""Books for sessions: figures with the packaged model table, the user's overrides and a counter."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxtui.core.session import Session
from ctxtui.lab.book import Book
from ctxtui.pricing.price import Override, PriceTable
from ctxtui.runtime.counting import Counter
from ctxtui.runtime.packaged import model_table, price_table
from ctxtui.runtime.settings import Settings
from ctxtui.tokens.models import ModelTable, Rule, plain_id


def table_for(settings: Settings) -> ModelTable:
    """The model table with the user's context windows over it."""
    base = model_table()
    if not settings.windows:
        return base
    return base.with_rules(
        tuple(Rule((plain_id(model),), {"window": n}, "setting windows") for model, n in settings.windows.items())
    )


def prices_for(settings: Settings) -> PriceTable:
    """The override price table with the user's prices in front."""
    base = price_table()
    own = tuple(_override(model, rates) for model, rates in settings.prices.items())
    return PriceTable(base.version, (*own, *base.rows)) if own else base


def _override(model: str, rates: Mapping[str, float]) -> Override:
    return Override(
        match=re.escape(model),
        source="setting prices",
        input=rates["input"],
        output=rates["output"],
        cache_read=rates.get("cache_read"),
        cache_write_5m=rates.get("cache_write_5m"),
        cache_write_1h=rates.get("cache_write_1h"),
    )


def book_for(session: Session, counter: Counter, settings: Settings) -> Book:
    """The figures behind a session; nothing is counted yet."""
    return Book(session, table_for(settings), counter)
