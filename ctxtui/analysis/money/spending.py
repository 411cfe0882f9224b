"""Money by model, thread, day, project, category or tool: rows that add up to what the calls cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.core.call import COUNTED, Call
from ctxtui.core.category import CATEGORIES
from ctxtui.pricing.price import Cost, count_charged_tokens, known_usd, lacks_price

if TYPE_CHECKING:
    # What many sessions come to is asked of rows alone: working out a session's is not read in for it.
    from ctxtui.analysis.money.block_costs import ThreadCosts
    from ctxtui.analysis.short_names import Names

NOT_RECORDED, ATTACHED = "not recorded", "re-attached"
OUTPUT, OTHER, RECORDED = "output", "other", "recorded"
CONVERSATION = "no tool"
_TOOLS = frozenset({"tool_call", "tool_result", "tools"})


class SpendingRow(NamedTuple):
    """One row: USD (None: no call in it has a known price), tokens in and out, calls, how many of them have a report
    but no known price, or none of a part, and how many are not reported in full: their tokens and USD are the least
    that they can be."""

    name: str
    usd: float | None = None
    tokens: int = 0
    calls: int = 0
    unpriced: int = 0
    partial: int = 0

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only the least that the row can cost."""
        return self.unpriced > 0 or self.partial > 0

    def plus(self, usd: float | None, tokens: int, calls: int, unpriced: int, partial: int = 0) -> SpendingRow:
        """With so much more."""
        total = self.usd if usd is None else (self.usd or 0.0) + usd
        return SpendingRow(
            self.name,
            total,
            self.tokens + tokens,
            self.calls + calls,
            self.unpriced + unpriced,
            self.partial + partial,
        )


def summed(rows: Iterable[SpendingRow], name: str = "total") -> SpendingRow:
    """One row of all."""
    total = SpendingRow(name)
    for row in rows:
        total = total.plus(*row[1:])
    return total


def merged(rows: Iterable[SpendingRow]) -> list[SpendingRow]:
    """Rows of one name added up, dearest first."""
    found: dict[str, SpendingRow] = {}
    for row in rows:
        found[row.name] = found.get(row.name, SpendingRow(row.name)).plus(*row[1:])
    return sorted(found.values(), key=lambda row: (-(row.usd or 0.0), -row.tokens, row.name))


def by_call(
    calls: Iterable[Call], costs: Mapping[str, Cost | None], name: Callable[[Call], str] = lambda call: ""
) -> list[SpendingRow]:
    """Rows of calls with one name (their model, thread, day ...), dearest first."""
    return merged(row_of(call, costs.get(call.id), name(call)) for call in calls)


def row_of(call: Call, cost: Cost | None, name: str) -> SpendingRow:
    """One call as a row."""
    if not call.is_reported:
        free = 0.0 if call.stop_reason == COUNTED else None
        return SpendingRow(name, free, calls=call.count, partial=int(call.is_partial))
    usd = known_usd(call, cost)
    return SpendingRow(
        name, usd, count_charged_tokens(call), call.count, int(lacks_price(call, cost)), int(call.is_partial)
    )


def by_category(
    threads: Iterable[ThreadCosts], costs: Mapping[str, Cost | None], own: frozenset[str] | None = None
) -> list[SpendingRow]:
    """What each category of block cost as input; then what was attached again, what is not recorded, output, and
    what no block stands for.

    With `own`, recorded figures of other calls are left out; list prices of calls are left out by a cost of None.
    """
    rows: list[SpendingRow] = []
    for thread in threads:
        sums = thread.ledger.categories(thread.ledger.done)
        rows += [SpendingRow(name.replace("_", " "), usd) for name, usd in zip(CATEGORIES, sums, strict=False) if usd]
        rows += [SpendingRow(ATTACHED, sums[-1])] if sums[-1] else []
        rows += _rest(thread, costs, own, sum(sums[: len(CATEGORIES)]) + sums[-1], NOT_RECORDED)
    return merged(rows)


def by_tool(
    threads: Iterable[ThreadCosts], costs: Mapping[str, Cost | None], names: Names, own: frozenset[str] | None = None
) -> list[SpendingRow]:
    """What each tool cost as input, by its definition, calls and results; then everything else of the context.

    `own` as for `by_category`.
    """
    rows: list[SpendingRow] = []
    for thread in threads:
        tree, spent = thread.tree, 0.0
        for node in thread.nodes():
            if CATEGORIES[tree[node].category] in _TOOLS and (usd := thread.input_usd(node)):
                spent += usd
                rows.append(SpendingRow(names.label(tree[node]), usd))
        rows += _rest(thread, costs, own, spent, CONVERSATION)
    return merged(rows)


def _rest(
    thread: ThreadCosts, costs: Mapping[str, Cost | None], own: frozenset[str] | None, spent: float, name: str
) -> list[SpendingRow]:
    """What is left of a thread's cost when `spent` of its input is shared out: `name` takes the rest of the input."""
    known = [(call, costs.get(call.id)) for call in thread.calls if call.usage and (own is None or call.id in own)]
    listed = [cost for _, cost in known if cost is not None]
    input_ = sum(cost.usd - cost.output - cost.other for cost in listed)
    recorded = [usd for call, cost in known if cost is None and (usd := known_usd(call, None)) is not None]
    rows = [
        SpendingRow(name, input_ - spent),
        SpendingRow(OUTPUT, sum(cost.output for cost in listed)),
        SpendingRow(OTHER, sum(cost.other for cost in listed)),
        SpendingRow(RECORDED, sum(recorded)),
    ]
    return [row for row in rows if row.usd]
