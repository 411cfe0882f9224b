"""A statement: the bill of sessions, with the most expensive blocks, savings and times."""

from __future__ import annotations

from msgspec import Struct, field

from ctxtui.analysis.latency import Latency, latencies
from ctxtui.analysis.money.bill import Bill
from ctxtui.analysis.money.savings import Saving
from ctxtui.analysis.money.spending import SpendingRow, merge_rows
from ctxtui.core.call import Call
from ctxtui.curation.price.advice import Advice


class StatementBlock(Struct, frozen=True, kw_only=True):
    """A block that was expensive to carry.

    - `label`: of its preview: tool, server or file; `about`: the tool call's main argument, else its preview's text.
    - `usd`: its cost as input; `calls`: how often a call read it; both over all threads.
    - `gone_since`: the call (from 1) from which on it is no longer in its thread's context, 0 if it still is.
    """

    category: str
    label: str
    about: str
    tokens: int
    usd: float
    calls: int
    gone_since: int = 0


class Statement(Struct, kw_only=True):
    """Cost of sessions, and the reasons for it.

    - `peak`: the largest input of a call; `window`: the limit of that call's context (tokens; 0: unknown).
    - `subscription`: paid by a subscription; costs are then list prices that were not charged.
    - `heaviest`: the most expensive blocks.
    - `savings`: changes with the USD that they would have saved, largest first; below 0, they would have cost more.
    - `ahead`: advice for the coming calls of the main thread.
    """

    bill: Bill = field(default_factory=Bill)
    heaviest: list[StatementBlock] = field(default_factory=list)
    savings: list[Saving] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    sessions: int = 0
    tools: list[SpendingRow] = field(default_factory=list)
    """Input cost of each tool, and rows for the rest of the input, output, other and recorded costs."""
    categories: list[SpendingRow] = field(default_factory=list)
    """The same for each category of block."""
    subscription: bool = False
    peak: int = 0
    window: int = 0
    ahead: list[Advice] = field(default_factory=list)

    @property
    def times(self) -> list[Latency]:
        """Duration of calls by size of context, without requests that only kept caches warm."""
        return latencies([call for call in self.calls if not call.keeps_warm])

    def add_statement(self, statement: Statement, prefix: str = "") -> None:
        """Add the statement of another session, which shares no calls with this one.

        Its threads get `prefix` in the bill, except the main one.
        """
        self.bill.add_bill(statement.bill, prefix)
        self.heaviest = sorted([*self.heaviest, *statement.heaviest], key=lambda block: -block.usd)
        self.savings = sorted([*self.savings, *statement.savings], key=lambda saving: -saving.saves)
        self.ahead = [*self.ahead, *statement.ahead]
        self.subscription = statement.subscription and (self.subscription or not self.sessions)
        self.peak, self.window = max((self.peak, self.window), (statement.peak, statement.window))
        self.tools = merge_rows([*self.tools, *statement.tools])
        self.categories = merge_rows([*self.categories, *statement.categories])
        self.calls += statement.calls
        self.sessions += statement.sessions
