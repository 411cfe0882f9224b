"""Money by model, thread, day, project, category or tool; rows add up to the calls' cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ctxtui.core.call import COUNTED, Call
from ctxtui.core.category import CATEGORIES
from ctxtui.pricing.price import Cost, count_charged_tokens, known_usd, lacks_price

if TYPE_CHECKING:
    # Totals of many sessions need only the rows, so these modules are not imported for them.
    from ctxtui.analysis.money.block_costs import ThreadCosts
    from ctxtui.analysis.short_names import Names

NOT_RECORDED, ATTACHED = "not recorded", "re-attached"
OUTPUT, OTHER, RECORDED = "output", "other", "recorded"
CONVERSATION = "no tool"
UNKNOWN: Final = "unknown"
"""Names of rows."""
_TOOLS = frozenset({"tool_call", "tool_result", "tools"})


class SpendingRow(NamedTuple):
    """One row of spending.

    - `usd`: None if nothing in it has a known price.
    - `tokens`: those in and out; 0 in rows by category or tool.
    - `unpriced`: number of calls with a report but without a complete price.
    - `partial`: number of calls that are not fully reported.

    With `unpriced` or `partial` calls, tokens and USD are lower bounds (`at_least`).
    """

    name: str
    usd: float | None = None
    tokens: int = 0
    calls: int = 0
    unpriced: int = 0
    partial: int = 0

    @property
    def at_least(self) -> bool:
        return self.unpriced > 0 or self.partial > 0

    def plus(self, usd: float | None, tokens: int, calls: int, unpriced: int, partial: int = 0) -> SpendingRow:
        total = self.usd if usd is None else (self.usd or 0.0) + usd
        return SpendingRow(
            self.name,
            total,
            self.tokens + tokens,
            self.calls + calls,
            self.unpriced + unpriced,
            self.partial + partial,
        )


def sum_rows(rows: Iterable[SpendingRow]) -> SpendingRow:
    total = SpendingRow("total")
    for row in rows:
        total = total.plus(*row[1:])
    return total


def merge_rows(rows: Iterable[SpendingRow]) -> list[SpendingRow]:
    """Add up rows of one name, most expensive first."""
    by_name: dict[str, SpendingRow] = {}
    for row in rows:
        by_name[row.name] = by_name.get(row.name, SpendingRow(row.name)).plus(*row[1:])
    return sorted(by_name.values(), key=lambda row: (-(row.usd or 0.0), -row.tokens, row.name))


def mark_lower_bounds(rows: Iterable[SpendingRow], unpriced: int, partial: int) -> list[SpendingRow]:
    """Add the calls that make rows by category or tool lower bounds.

    `partial` is added to `OUTPUT`, `unpriced` to `UNKNOWN`.
    """
    output = [SpendingRow(OUTPUT, partial=partial)] if partial else []
    return merge_rows([*rows, *output, *([SpendingRow(UNKNOWN, unpriced=unpriced)] if unpriced else [])])


def rows_by_call(
    calls: Iterable[Call], costs: Mapping[str, Cost | None], name: Callable[[Call], str] = lambda call: ""
) -> list[SpendingRow]:
    """Rows of calls by name (their model, thread, day ...), most expensive first."""
    return merge_rows(call_row(call, costs.get(call.id), name(call)) for call in calls)


def call_row(call: Call, cost: Cost | None, name: str) -> SpendingRow:
    """The row `name` of a single call with the list price `cost` (None: unknown)."""
    if not call.is_reported:
        # A request that only counts tokens is free.
        free = 0.0 if call.stop_reason == COUNTED else None
        return SpendingRow(name, free, calls=call.count, partial=int(call.is_partial))
    usd = known_usd(call, cost)
    return SpendingRow(
        name, usd, count_charged_tokens(call), call.count, int(lacks_price(call, cost)), int(call.is_partial)
    )


def rows_by_category(
    threads: Iterable[ThreadCosts], costs: Mapping[str, Cost | None], own_calls: frozenset[str] | None = None
) -> list[SpendingRow]:
    """Cost by category of block, the most expensive row first.

    What is not in a block has rows of its own. With `own_calls`, only these calls count: pass None as the cost of every
    other call, here and to the ledgers of `threads`.
    """
    rows: list[SpendingRow] = []
    for thread in threads:
        sums = thread.ledger.categories(thread.ledger.done)
        # Two more sums follow: unrecorded and re-attached input.
        rows += [SpendingRow(name.replace("_", " "), usd) for name, usd in zip(CATEGORIES, sums, strict=False) if usd]
        rows += [SpendingRow(ATTACHED, sums[-1])] if sums[-1] else []
        rows += _remaining_rows(thread, costs, own_calls, sum(sums[: len(CATEGORIES)]) + sums[-1], NOT_RECORDED)
    return merge_rows(rows)


def rows_by_tool(
    threads: Iterable[ThreadCosts],
    costs: Mapping[str, Cost | None],
    names: Names,
    own_calls: frozenset[str] | None = None,
) -> list[SpendingRow]:
    """Input cost of each tool's definition, calls and results, the highest first.

    Everything else has rows of its own. `own_calls` as for `rows_by_category`.
    """
    rows: list[SpendingRow] = []
    for thread in threads:
        tree, spent = thread.tree, 0.0
        for node in thread.nodes():
            if CATEGORIES[tree[node].category] in _TOOLS and (usd := thread.input_usd(node)):
                spent += usd
                rows.append(SpendingRow(names.label(tree[node]), usd))
        rows += _remaining_rows(thread, costs, own_calls, spent, CONVERSATION)
    return merge_rows(rows)


def _remaining_rows(
    thread: ThreadCosts, costs: Mapping[str, Cost | None], own_calls: frozenset[str] | None, spent: float, name: str
) -> list[SpendingRow]:
    """Rows for the rest of a thread's cost.

    They are input less `spent`, output, other, and costs that only the recording states.
    """
    priced = [
        (call, costs.get(call.id))
        for call in thread.calls
        if call.usage and (own_calls is None or call.id in own_calls)
    ]
    listed = [cost for _, cost in priced if cost is not None]
    input_ = sum(cost.usd - cost.output - cost.other for cost in listed)
    recorded = [usd for call, cost in priced if cost is None and (usd := known_usd(call, None)) is not None]
    rows = [
        SpendingRow(name, input_ - spent),
        SpendingRow(OUTPUT, sum(cost.output for cost in listed)),
        SpendingRow(OTHER, sum(cost.other for cost in listed)),
        SpendingRow(RECORDED, sum(recorded)),
    ]
    return [row for row in rows if row.usd]
