"""Savings: what a session would have cost less, had one thing been done otherwise and the same calls been made.

Every figure is worked out from the recorded calls, pauses and rates, net of what the change itself costs. None of them
knows whether the model would have needed what was taken away. For old tool results the best moment and depth of
clearing is looked for call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.cache.missed import TTL, Missed
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import CallCharge, edited_calls
from ctxtui.analysis.short_names import Names
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.edit_kinds import COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE
from ctxtui.curation.context import Context
from ctxtui.curation.policies.search import Remedy
from ctxtui.pricing.rates import Rates

_CALL, _TOOLS = INDEX["tool_call"], INDEX["tools"]
FIVE_MINUTES: Final = 300.0
ONE_HOUR: Final = 3600.0


def cures(
    threads: Sequence[ThreadCosts],
    rewrites: Sequence[Missed],
    rates: RatesOf,
    names: Names,
    minimum: Callable[[str], int],
    charge: CallCharge,
) -> list[Cure]:
    """Every cure that saves money, the one that saves most first. `minimum` gives a model's least cacheable prefix."""
    found: list[Cure | None] = []
    for thread in threads:
        found += [cleared(thread, rates), hours(thread, rewrites, rates), minutes(thread, rates)]
        found += [unused_tools(thread, names, charge), cached(thread, rates, minimum)]
    return sorted((cure for cure in found if cure is not None and cure.saves > 0), key=lambda cure: -cure.saves)


def hours(thread: ThreadCosts, rewrites: Sequence[Missed], rates: RatesOf) -> Cure | None:
    """Entries that live an hour in place of five minutes: rewrites after pauses of up to an hour are saved, every
    other write costs more."""
    avoided = {
        one.number: one
        for one in rewrites
        if one.thread == thread.thread and one.cause == TTL and one.pause is not None and one.pause <= ONE_HOUR
    }
    saves, count, tokens = 0.0, 0, 0
    for number, call in enumerate(thread.calls, 1):
        usage, by = call.usage, rates(call)
        if usage is None or by is None or by.write_1h <= by.write_5m:
            continue
        again = min(avoided[number].tokens, usage.write_5m) if number in avoided else 0
        saves += again * (by.write_5m - by.read) - (usage.write_5m - again) * (by.write_1h - by.write_5m)
        count, tokens = count + bool(again), tokens + again
    return Cure(kind=HOUR, saves=saves, thread=thread.thread, call=0, count=count, tokens=tokens) if count else None


def minutes(thread: ThreadCosts, rates: RatesOf) -> Cure | None:
    """Entries that live five minutes in place of an hour: every write is cheaper, and what was read after a pause of
    more than five minutes would have had to be written again."""
    saves, wrote, lost = 0.0, 0, 0
    before: Call | None = None
    for call in thread.calls:
        usage, by = call.usage, rates(call)
        if usage is not None and by is not None:
            pause = _pause(before, call)
            saves += usage.write_1h * (by.write_1h - by.write_5m)
            wrote += usage.write_1h
            # A pause that is not recorded may have been a long one: then the saving is not claimed.
            if pause is None or pause > FIVE_MINUTES:
                saves -= usage.cache_read * (by.write_5m - by.read)
                lost += bool(usage.cache_read)
        before = call
    return Cure(kind=MINUTES, saves=saves, thread=thread.thread, call=0, count=lost, tokens=wrote) if wrote else None


def unused_tools(thread: ThreadCosts, names: Names, charge: CallCharge) -> Cure | None:
    """Tool definitions that no call of the thread ever used, left out from the beginning: nothing is written again."""
    tree = thread.tree
    used = {names.label(tree[n]) for n in (*thread.nodes(), *thread.stays.answers()) if tree[n].category == _CALL}
    defined = [n for n in thread.nodes() if tree[n].category == _TOOLS and tree[n].place.section == "tools"]
    idle = [n for n in defined if names.label(tree[n]) not in used]
    freed = {n: thread.running.own(n) for n in idle}
    labels = tuple(sorted({names.label(tree[n]) for n in idle}))
    return from_the_start(TOOLS, thread, freed, charge, names=labels, count=len(labels))


def from_the_start(
    kind: str, thread: ThreadCosts, freed: Mapping[int, int], charge: CallCharge, *, names: tuple[str, ...], count: int
) -> Cure | None:
    """The cure that makes the blocks of `freed` so many tokens smaller as they enter; None where that saves nothing."""
    usd = edited_calls(thread.ledger, thread.calls, freed, charge).usd
    if not usd or usd > 0:
        return None
    tokens = sum(freed.values())
    return Cure(kind=kind, saves=-usd, thread=thread.thread, call=0, count=count, tokens=tokens, names=names)


def _pause(before: Call | None, call: Call) -> float | None:
    """Seconds from the start of one call to the start of the next; None where not recorded."""
    if before is None or before.started is None or call.started is None:
        return None
    return call.started - before.started


def cached(thread: ThreadCosts, rates: RatesOf, minimum: Callable[[str], int]) -> Cure | None:
    """Caching switched on where the provider writes nothing unasked and nothing was asked: each call then reads what
    the one before sent, if that was at most five minutes earlier, and writes the rest."""
    calls = thread.calls
    if any(call.provider != "anthropic" or call.usage is None or call.usage.input > call.usage.fresh for call in calls):
        return None
    saves, count = 0.0, 0
    before: Call | None = None
    for index, call in enumerate(calls):
        usage, by = call.usage, rates(call)
        if usage is None or by is None:
            return None
        pause = _pause(before, call)
        kept = thread.kept(index) if pause is not None and pause <= FIVE_MINUTES else 0
        kept = kept if kept >= minimum(call.model) else 0
        rest = usage.input - kept
        write = by.write_5m if usage.input >= minimum(call.model) else by.fresh
        saves += usage.input * by.fresh - kept * by.read - rest * write
        count, before = count + bool(kept), call
    return Cure(kind=CACHE, saves=saves, thread=thread.thread, call=0, count=count) if count else None


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
    """The first nodes of the results that are worth clearing: those that were most to carry, if there are many."""
    tree, own = thread.tree, thread.running.own
    large = [node for node in thread.nodes() if tree[node].category == _RESULT and own(node) >= LEAST]
    if len(large) > _MOST_RESULTS:
        large.sort(key=lambda node: -own(node) * thread.stays.count(node, len(thread.calls)))
    return large[:_MOST_RESULTS]


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
    before = [node for node in results if (thread.stays.first(node) or 0) < index]
    standing = {there: node for node in before if (there := thread.stays.standing(node, index)) is not None}
    for there in _deepest(thread, standing.keys() - newest):
        node = standing[there]
        own = running.own(node)
        saved += thread.input_usd(node, index) * (own - PLACEHOLDER) / own
        gone, count = gone + own, count + 1
        gone_read += own if tree[there].depth <= charged.read else 0
        behind = max(0.0, end - running.read(head, tree[there].parent) - gone_read)
        yield Cure(
            kind=CLEAR, saves=saved - behind * dearer, thread=thread.thread, call=index + 1, count=count, tokens=gone
        )


def _deepest(thread: ThreadCosts, nodes: Iterable[int]) -> list[int]:
    return sorted(nodes, key=lambda there: -thread.tree[there].depth)


def cleared_nodes(thread: ThreadCosts, cure: Cure) -> list[int]:
    """The nodes that `cure`, which clears results, is about: in the context of the call at which it does."""
    index = cure.call - 1
    before = [node for node in _results(thread) if (thread.stays.first(node) or 0) < index]
    standing = {there for node in before if (there := thread.stays.standing(node, index)) is not None}
    return _deepest(thread, standing - _newest_results(thread, thread.calls[index].sent_head))[: cure.count]


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
    return by.write_cost(usage) / usage.cache_write


CLEAR, HOUR, MINUTES, TOOLS, CACHE = "clear results", "1h entries", "5m entries", "unused tools", "cache"
"""Kinds of cures."""

RatesOf = Callable[[Call], Rates | None]


class Cure(Struct, frozen=True, kw_only=True):
    """Something to do otherwise: `saves` USD net. `thread` and `call` (from 1) say where, 0 for throughout; `count` of
    what (results, tools, pauses) and the `tokens` that it is about; `names` are tools."""

    kind: str
    saves: float
    thread: str = ""
    call: int = 0
    count: int = 0
    tokens: int = 0
    names: tuple[str, ...] = ()


POLICY: Final = "policy"
"""The kind of these cures; its `names` are the policy and its risk."""
_AT_ENTRY: Final = frozenset({COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE})
"""Kinds of edits that can be made when a block enters, so that nothing is ever written again for them."""


def by_policy(thread: ThreadCosts, context: Context, found: Remedy, charge: CallCharge) -> Cure | None:
    """What `found`, a single policy, would have saved of what the blocks of `context` cost, had each been edited as it
    entered; None for two policies, and for edits of what stands there already."""
    if len(found.steps) > 1 or any(edit.kind not in _AT_ENTRY for edit in found.edits):
        return None
    freed = {}
    for position, less in found.saved.items():
        # A block may count less in the thread's weights than in the request's; more than all of it never goes.
        own = thread.running.own(context.nodes[position])
        if own:
            freed[context.nodes[position]] = min(less, own)
    names = (found.names[0], found.risk.description)
    return from_the_start(POLICY, thread, freed, charge, names=names, count=len(freed))
