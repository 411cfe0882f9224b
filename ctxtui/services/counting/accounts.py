"""Accounts: recordings read and counted, with what each of their calls cost and why."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.losses import SHORTEST_CACHED
from ctxtui.analysis.cache.misses import Misses, MissFinder, finder_of, misses_by
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.bill import bill
from ctxtui.analysis.money.block_costs import DearBlock, ThreadCosts, heaviest, thread_costs
from ctxtui.analysis.money.savings import cures
from ctxtui.analysis.money.spending import SpendingRow, by_category, by_tool
from ctxtui.analysis.money.statement import Dear, Statement
from ctxtui.analysis.read.searches import Searches, unseen
from ctxtui.core.call import COPIED_BY, SUM, Call, Fidelity
from ctxtui.core.category import CATEGORIES
from ctxtui.core.session import Session
from ctxtui.core.tool_calls import main_argument
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost, PriceTable, keep_priced_fields, max_usd, price, price_call, rates_for_call
from ctxtui.pricing.rates import Rates
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.views.model.block_cache import Readings
from ctxtui.wire.request import Request

_ELSEWHERE: Final = frozenset({"previous_response_id", "conversation"})
"""Parameters of a request that name a context which it does not hold."""

DEAREST: Final = 10
"""Blocks that a statement names."""


class Account(Struct, frozen=True):
    """A session counted and priced: `costs` by call id, None where no list price is known."""

    session: Session
    book: Book
    costs: dict[str, Cost | None]
    table: PriceTable
    usable_share: float = 0.75

    def threads(self) -> list[ThreadCosts]:
        """What each thread's blocks cost."""
        return thread_costs(self.book, self.costs)

    def charge(self, usage: Usage, call: Call) -> float | None:
        """What `usage` costs in USD at the terms of `call`; None where the price is not known."""
        cost = price(usage, call.model, call.provider, call.started, self.table)
        return None if cost is None else cost.usd

    def statement(self, only: frozenset[str] | None = None) -> Statement:
        """The session's statement; with `only` the bill is of those calls alone, the rest still of the whole."""
        threads = self.threads()
        session, book = self.session, self.book
        missed = self.misses().found
        found = bill(book, self.costs, missed, only)
        readings = Readings(session, book.names)

        def minimum(model: str) -> int:
            return book.card(model).cache_minimum or SHORTEST_CACHED

        largest = max((call for call in contexts(session) if call.usage), key=_input, default=None)
        peak = _input(largest) if largest else 0
        window = context_window(book, largest, self.usable_share).limit if largest else 0
        calls = [_slim(call) for call in session.calls.values() if only is None or call.id in only]
        tools, categories = self._spending(threads, only)
        return Statement(
            bill=found,
            heaviest=[_dear(session, readings, heavy) for heavy in heaviest(threads, DEAREST)],
            cures=cures(threads, missed, self.rates, book.names, minimum, self.charge),
            calls=calls,
            sessions=1,
            tools=tools,
            categories=categories,
            peak=peak,
            window=window,
        )

    def misses(self, finder: MissFinder | None = None) -> Misses:
        """The session's misses; `finder` is one that has looked for them already."""
        return misses_by(finder or self.miss_finder(), self.book, self.costs)

    def miss_finder(self) -> MissFinder:
        """What has looked for misses in every call of the session, and learnt from all of them."""
        return finder_of(self.book, cached_by(self.book), self.costs, self.rates)

    def _spending(
        self, threads: list[ThreadCosts], only: frozenset[str] | None
    ) -> tuple[list[SpendingRow], list[SpendingRow]]:
        """What each tool and each category cost, of the calls `only` (None: of all)."""
        costs = self.costs
        if only is not None:
            costs = {id_: cost if id_ in only else None for id_, cost in costs.items()}
            threads = thread_costs(self.book, costs)
        return by_tool(threads, costs, self.book.names, only), by_category(threads, costs, only)

    def most_usd(self) -> float | None:
        """USD that the session can have cost at most; None where nothing bounds it."""
        calls = self.session.calls.values()
        searches = Searches(self.session)
        most = [
            max_usd(call, self.costs[call.id], self.book.card(call.model), self.table, self._most_held(call, searches))
            for call in calls
        ]
        return None if None in most else sum(usd for usd in most if usd is not None)

    def _most_held(self, call: Call, searches: Searches) -> int | None:
        """The most tokens that the recorded request of `call` can be; None where something of it is not on record."""
        if not call.is_partial or call.fidelity != Fidelity.WIRE or call.skeleton is None:
            return None
        if not _ELSEWHERE.isdisjoint(Request((), call.skeleton).params):
            return None
        got = figures(self.book, replace(call, usage=None))
        return got.hi if got.counted and not unseen(searches, self.session.tree, call) else None

    def rates(self, call: Call) -> Rates | None:
        """What a token of a call costs; None where no price is known."""
        return rates_for_call(call, self.table) if call.usage is not None else None


def account(session: Session, counter: Counter, settings: Settings) -> Account:
    """The account of a session that is read whole; counts what is not counted yet."""
    book = book_for(session, counter, settings)
    count_all(book, counter)
    return priced(session, book, settings)


def priced(session: Session, book: Book, settings: Settings) -> Account:
    """The account of a session whose `book` is counted."""
    table = prices_for(settings)
    costs = {id_: price_call(call, table) for id_, call in session.calls.items()}
    return Account(session, book, costs, table, settings.usable_share)


def contexts(session: Session) -> list[Call]:
    """The calls that were made from one context each; where there are sums alone, those."""
    calls = list(session.calls.values())
    return [call for call in calls if call.fidelity != Fidelity.TOTALS] or calls


def _input(call: Call) -> int:
    return call.usage.input if call.usage and not call.is_sum else 0


def _slim(call: Call) -> Call:
    made = replace(keep_priced_fields(call), first_byte=call.first_byte)
    return replace(made, extra=made.extra | {key: call.extra[key] for key in (COPIED_BY, SUM) if key in call.extra})


def _dear(session: Session, readings: Readings, heavy: DearBlock) -> Dear:
    node = session.tree[heavy.node]
    line, got = readings.preview(heavy.node), readings.reading(heavy.node)
    call = readings.call_of(node, got)
    about = main_argument(call, session.about.cwd) if call else line.text
    return Dear(
        category=CATEGORIES[heavy.category],
        label=line.label,
        about=about,
        tokens=heavy.tokens,
        usd=heavy.usd,
        calls=heavy.calls,
        gone_since=heavy.gone,
    )
