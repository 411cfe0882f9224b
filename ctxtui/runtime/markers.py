"""A session under other cache markers, for the command line."""

from __future__ import annotations

from ctxtui.analysis.cache.marker_trials import Placing, placing
from ctxtui.cache.optimal_markers import Rates
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.runtime.auditing import cached_by
from ctxtui.runtime.books import book_for
from ctxtui.runtime.counting import Counter, count_all
from ctxtui.runtime.pricing import prices_for
from ctxtui.runtime.settings import Settings


def placings(session: Session, counter: Counter, settings: Settings) -> list[Placing]:
    """Every thread of `session` that other markers can be tried on, at list prices where they are known."""
    from ctxtui.pricing.price import call_rates

    book = book_for(session, counter, settings)
    count_all(book, counter)
    table, rules = prices_for(settings), cached_by(book)

    def rates(call: Call) -> Rates | None:
        known = call_rates(call, table)
        if known is None:
            return None
        return Rates(known.fresh, known.read, {300.0: known.write_5m, 3600.0: known.write_1h})

    found = (placing(book, rules, rates, thread) for thread in session.order)
    return [one for one in found if one is not None]
