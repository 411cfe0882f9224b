"""Counted and priced sessions (accounts): costs of calls and blocks, misses, statements.

A statement is the bill of a session with the reasons for its costs.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import SHORTEST_CACHED
from ctxtui.analysis.cache.miss_finder import Misses, MissFinder, collect_misses, find_misses
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.bill import make_bill
from ctxtui.analysis.money.block_costs import ExpensiveBlock, ThreadCosts, most_expensive_blocks, thread_costs
from ctxtui.analysis.money.savings import find_savings
from ctxtui.analysis.money.spending import SpendingRow, rows_by_category, rows_by_tool
from ctxtui.analysis.money.statement import Statement, StatementBlock
from ctxtui.analysis.read.searches import Searches, describe_additions
from ctxtui.core.call import COPIED_BY, KEEP_WARM, SUM, Call, Fidelity
from ctxtui.core.category import CATEGORIES
from ctxtui.core.session import Session
from ctxtui.core.tool_calls import main_argument
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost, keep_priced_fields, max_usd, price, price_call, rates_for_call
from ctxtui.pricing.rates import Rates
from ctxtui.pricing.table import PriceTable
from ctxtui.pricing.terms import read_terms
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.views.model.block_cache import Readings
from ctxtui.wire.request import Request

_KEPT_BY_PROVIDER: Final = frozenset({"previous_response_id", "conversation"})
"""Request parameters that refer to a context kept by the provider."""

MAX_HEAVIEST_BLOCKS: Final = 10


class Account(Struct, frozen=True):
    """A counted and priced session.

    - `costs`: the cost of each call by its id; None without a known price.
    - `usable_share`: share of the context window to fill.
    """

    session: Session
    book: Book
    costs: dict[str, Cost | None]
    table: PriceTable
    usable_share: float = 0.75

    def threads(self) -> list[ThreadCosts]:
        return thread_costs(self.book, self.costs)

    def charge(self, usage: Usage, call: Call) -> float | None:
        """Cost of `usage` in USD at the terms of `call`; None without a known price."""
        cost = price(usage, call.model, call.provider, call.at, self.table, read_terms(call.extra))
        return None if cost is None else cost.usd

    def statement(self, only: frozenset[str] | None = None) -> Statement:
        """The session's statement.

        With `only`, its bill, calls, tools and categories cover those calls. Its expensive blocks, savings, peak and
        window cover the whole session.
        """
        threads = self.threads()
        session, book = self.session, self.book
        misses = self.misses().misses
        readings = Readings(session, book.names)

        def minimum(model: str) -> int:
            return book.card(model).cache_minimum or SHORTEST_CACHED

        largest = max((call for call in calls_with_context(session) if call.usage), key=_reported_input, default=None)
        peak = _reported_input(largest) if largest else 0
        window = context_window(book, largest, self.usable_share).limit if largest else 0
        calls = [_drop_content(call) for call in session.calls.values() if only is None or call.id in only]
        tools, categories = self._sum_spending(threads, only)
        return Statement(
            bill=make_bill(book, self.costs, misses, only),
            heaviest=[
                _describe_block(session, readings, heavy)
                for heavy in most_expensive_blocks(threads, MAX_HEAVIEST_BLOCKS)
            ],
            savings=find_savings(threads, misses, self.rates, book.names, minimum, self.charge),
            calls=calls,
            sessions=1,
            tools=tools,
            categories=categories,
            peak=peak,
            window=window,
        )

    def misses(self, finder: MissFinder | None = None) -> Misses:
        """The session's misses; `finder` is one that has searched it already (None: search now)."""
        return collect_misses(finder or self.miss_finder(), self.book, self.costs)

    def miss_finder(self) -> MissFinder:
        """A finder that has searched all calls of the session."""
        return find_misses(self.book, cache_rules_by_call(self.book), self.costs, self.rates)

    def _sum_spending(
        self, threads: list[ThreadCosts], only: frozenset[str] | None
    ) -> tuple[list[SpendingRow], list[SpendingRow]]:
        """Costs by tool and by category, of the calls `only` (None: all)."""
        costs = self.costs
        if only is not None:
            costs = {id_: cost if id_ in only else None for id_, cost in costs.items()}
            threads = thread_costs(self.book, costs)
        return rows_by_tool(threads, costs, self.book.names, only), rows_by_category(threads, costs, only)

    def max_usd(self) -> float | None:
        """Maximum possible cost of the session in USD; None if that of one of its calls is unknown."""
        searches = Searches(self.session)
        maximums = [
            max_usd(
                call,
                self.costs[call.id],
                self.book.card(call.model),
                self.table,
                self._max_request_tokens(call, searches),
            )
            for call in self.session.calls.values()
        ]
        return None if None in maximums else sum(usd for usd in maximums if usd is not None)

    def _max_request_tokens(self, call: Call, searches: Searches) -> int | None:
        """Maximum input tokens of a call whose report is incomplete, by its blocks.

        None if the report is complete, if the request is not recorded whole (or the provider adds to it), or if a block
        is not counted.
        """
        if not call.is_partial or call.fidelity != Fidelity.WIRE or call.skeleton is None:
            return None
        if not _KEPT_BY_PROVIDER.isdisjoint(Request((), call.skeleton).params):
            return None
        figures_ = figures(self.book, replace(call, usage=None))
        return figures_.hi if figures_.counted and not describe_additions(searches, self.session.tree, call) else None

    def rates(self, call: Call) -> Rates | None:
        """Rates of a call's tokens; None without usage or a known price."""
        return rates_for_call(call, self.table) if call.usage is not None else None


def make_account(session: Session, counter: Counter, settings: Settings) -> Account:
    book = book_for(session, counter, settings)
    count_all(book, counter)
    return priced_account(session, book, settings)


def priced_account(session: Session, book: Book, settings: Settings) -> Account:
    """The account of a session whose `book` is counted."""
    table = prices_for(settings)
    costs = {id_: price_call(call, table) for id_, call in session.calls.items()}
    return Account(session, book, costs, table, settings.usable_share)


def calls_with_context(session: Session) -> list[Call]:
    """The calls whose contexts are recorded; all calls if there are none."""
    calls = list(session.calls.values())
    return [call for call in calls if call.fidelity != Fidelity.TOTALS] or calls


def _reported_input(call: Call) -> int:
    return call.usage.input if call.usage and not call.is_sum else 0


def _drop_content(call: Call) -> Call:
    priced = keep_priced_fields(call)
    extra = priced.extra | {key: call.extra[key] for key in (COPIED_BY, KEEP_WARM, SUM) if key in call.extra}
    return replace(priced, first_byte=call.first_byte, extra=extra)


def _describe_block(session: Session, readings: Readings, heavy: ExpensiveBlock) -> StatementBlock:
    node = session.tree[heavy.node]
    line, reading = readings.preview(heavy.node), readings.reading(heavy.node)
    call = readings.call_of(node, reading)
    about = main_argument(call, session.about.cwd) if call else line.text
    return StatementBlock(
        category=CATEGORIES[heavy.category],
        label=line.label,
        about=about,
        tokens=heavy.tokens,
        usd=heavy.usd,
        calls=heavy.calls,
        gone_since=heavy.gone,
    )
