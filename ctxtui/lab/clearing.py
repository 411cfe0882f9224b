"""Clearing old tool results: the cure whose best moment and depth is looked for call by call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.lab.block_costs import ThreadCosts
from ctxtui.lab.cure import CLEAR, Cure, RatesOf
from ctxtui.pricing.rates import Rates

_RESULT: Final = INDEX["tool_result"]
KEPT: Final = 3
"""Newest results that are never cleared: the provider's own default for clearing (facts §3)."""
LEAST: Final = 200
"""Tokens below which a result is not worth clearing."""
PLACEHOLDER: Final = 10
"""Tokens that stand in a cleared result's place."""
_MOST_RESULTS: Final = 200
_MOST_CALLS: Final = 200
"""The heaviest results, and calls evenly spread, among which the best clearing is looked for."""


def cleared(thread: ThreadCosts, rates: RatesOf) -> Cure | None:
    """The best moment and depth to clear old tool results once: what carrying them cost from then on, less the
    placeholders, less what stood behind them in the cache and had to be written again at that call."""
    best: Cure | None = None
    results = _results(thread)
    for index in _moments(len(thread.calls), thread.ledger.done):
        by = rates(thread.calls[index])
        for cure in _clearings(thread, index, by, results) if by is not None else ():
            if best is None or cure.saves > best.saves:
                best = cure
    return best


def _results(thread: ThreadCosts) -> list[int]:
    """The nodes of the results that are worth clearing, deepest first: those that were most to carry, if there are
    many."""
    tree, own = thread.tree, thread.running.own
    large = [node for node in thread.nodes() if tree[node].category == _RESULT and own(node) >= LEAST]
    if len(large) > _MOST_RESULTS:
        large.sort(key=lambda node: -own(node) * thread.stays.count(node, len(thread.calls)))
    return sorted(large[:_MOST_RESULTS], key=lambda node: -tree[node].depth)


def _moments(calls: int, done: int) -> Iterable[int]:
    return range(1, min(calls, done), max(1, -(-calls // _MOST_CALLS)))


def _clearings(thread: ThreadCosts, index: int, by: Rates, results: Sequence[int]) -> Iterator[Cure]:
    """Clearing at call `index` all of `results` from some depth on, for every depth, deepest first."""
    call, running, tree = thread.calls[index], thread.running, thread.tree
    head, charged = call.sent_head, thread.ledger.charged(index)
    newest = _newest_results(thread, head)
    whole = running.read(head, head) + thread.missing(index)
    scale = call.usage.input / whole if call.usage is not None and whole else 1.0
    # Where the cached prefix ends, in our tokens.
    end = call.usage.cache_read / scale - thread.missing(index) if call.usage is not None and scale else 0.0
    dearer = max(0.0, written_rate(call, by) - by.read) * scale
    saved, gone, gone_read, count = 0.0, 0, 0, 0
    for node in results:
        if node in newest or thread.ledger.entered[node] >= index or not thread.stood(node, index):
            continue
        own = running.own(node)
        saved += thread.input_usd(node, index) * (own - PLACEHOLDER) / own
        gone, count = gone + own, count + 1
        gone_read += own if tree[node].depth <= charged.read else 0
        behind = max(0.0, end - running.read(head, tree[node].parent) - gone_read)
        yield Cure(CLEAR, saved - behind * dearer, thread.thread, index + 1, count, gone)


def _newest_results(thread: ThreadCosts, head: int) -> set[int]:
    """The last `KEPT` results of a context."""
    found: set[int] = set()
    while head and len(found) < KEPT:
        if thread.tree[head].category == _RESULT and thread.tree[head].block.kind != HEADER:
            found.add(head)
        head = thread.tree[head].parent
    return found


def written_rate(call: Call, by: Rates) -> float:
    """USD for one token that is not read at this call: written as the client writes, or at full price."""
    usage = call.usage
    if usage is None or not usage.cache_write:
        return by.write_5m if call.provider == "anthropic" else by.fresh
    return by.written(usage) / usage.cache_write
