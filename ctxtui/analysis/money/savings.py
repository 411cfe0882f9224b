"""USD that one change would have saved in the recorded calls, less its own cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.cache.miss import TTL, CacheMiss
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import CallCharge, charge_edited_calls
from ctxtui.analysis.short_names import Names
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.edit_kinds import COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE
from ctxtui.core.tool_definitions import UncalledTools
from ctxtui.curation.context import Context
from ctxtui.curation.policies.search import Remedy
from ctxtui.pricing.rates import Rates

_CALL, _TOOLS = INDEX["tool_call"], INDEX["tools"]
FIVE_MINUTES: Final = 300.0
ONE_HOUR: Final = 3600.0


def find_savings(
    threads: Sequence[ThreadCosts],
    rewrites: Sequence[CacheMiss],
    rates: RatesOf,
    names: Names,
    minimum: Callable[[str], int],
    charge: CallCharge,
) -> list[Saving]:
    """The changes that save money, the largest saving first.

    `minimum` gives a model's shortest cacheable prefix, in tokens.
    """
    all_savings: list[Saving | None] = []
    for thread in threads:
        all_savings += [
            clear_results(thread, rates),
            hour_entries(thread, rewrites, rates),
            five_minute_entries(thread, rates),
            unused_tools(thread, names, charge),
            enable_caching(thread, rates, minimum),
        ]
    return sorted(
        (saving for saving in all_savings if saving is not None and saving.saves > 0), key=lambda saving: -saving.saves
    )


def hour_entries(thread: ThreadCosts, rewrites: Sequence[CacheMiss], rates: RatesOf) -> Saving | None:
    """Saving by cache entries that live an hour instead of five minutes.

    There are fewer rewrites, but writes cost more. None if no rewrite would have been avoided, or no price is known.
    """
    avoided = {
        miss.number: miss
        for miss in rewrites
        if miss.thread == thread.thread and miss.cause == TTL and miss.pause is not None and miss.pause <= ONE_HOUR
    }
    saves, count, tokens = 0.0, 0, 0
    for number, call in enumerate(thread.calls, 1):
        usage, by = call.usage, rates(call)
        if usage is None or by is None or by.write_1h <= by.write_5m:
            continue
        rewritten = min(avoided[number].tokens, usage.write_5m) if number in avoided else 0
        saves += rewritten * (by.write_5m - by.read) - (usage.write_5m - rewritten) * (by.write_1h - by.write_5m)
        count, tokens = count + bool(rewritten), tokens + rewritten
    return Saving(kind=HOUR, saves=saves, thread=thread.thread, call=0, count=count, tokens=tokens) if count else None


def five_minute_entries(thread: ThreadCosts, rates: RatesOf) -> Saving | None:
    """Saving by cache entries that live five minutes instead of an hour.

    Writes are cheaper, but there are more of them. None if nothing was written for an hour at a known price.
    """
    saves, wrote, lost = 0.0, 0, 0
    before: Call | None = None
    for call in thread.calls:
        usage, by = call.usage, rates(call)
        if usage is not None and by is not None:
            pause = _seconds_between(before, call)
            saves += usage.write_1h * (by.write_1h - by.write_5m)
            wrote += usage.write_1h
            # An unrecorded pause may have been long, so no saving is claimed for it.
            if pause is None or pause > FIVE_MINUTES:
                saves -= usage.cache_read * (by.write_5m - by.read)
                lost += bool(usage.cache_read)
        before = call
    return Saving(kind=MINUTES, saves=saves, thread=thread.thread, call=0, count=lost, tokens=wrote) if wrote else None


def unused_tools(thread: ThreadCosts, names: Names, charge: CallCharge) -> Saving | None:
    """Saving by leaving out unused tool definitions from the start; None if it saves nothing."""
    tree = thread.tree
    tools = UncalledTools()
    for node in (*thread.nodes(), *thread.lifetimes.answer_nodes()):
        if tree[node].category == _CALL:
            tools.add_call(tree[node].block)
    defined = [n for n in thread.nodes() if tree[n].category == _TOOLS and tree[n].place.section == "tools"]
    for node in defined:
        tools.add_definitions(tree[node].block)
    uncalled = tools.find()
    idle = [n for n in defined if tree[n].block.digest in uncalled]
    freed = {n: thread.running.block_tokens(n) for n in idle}
    labels = tuple(sorted({names.label(tree[n]) for n in idle}))
    return from_the_start(TOOLS, thread, freed, charge, names=labels, count=len(labels))


def from_the_start(
    kind: str, thread: ThreadCosts, freed: Mapping[int, int], charge: CallCharge, *, names: tuple[str, ...], count: int
) -> Saving | None:
    """Saving if blocks were smaller from the start, by the tokens in `freed` (by node).

    None if it saves nothing.
    """
    usd = charge_edited_calls(thread.ledger, thread.calls, freed, charge).usd
    if not usd or usd > 0:
        return None
    tokens = sum(freed.values())
    return Saving(kind=kind, saves=-usd, thread=thread.thread, call=0, count=count, tokens=tokens, names=names)


def _seconds_between(before: Call | None, call: Call) -> float | None:
    if before is None or before.started is None or call.started is None:
        return None
    return call.started - before.started


def enable_caching(thread: ThreadCosts, rates: RatesOf, minimum: Callable[[str], int]) -> Saving | None:
    """Saving by Anthropic's cache (5 minutes) in a thread that never used it.

    None for other threads, if a call has no report or price, or if nothing could be read.
    """
    calls = thread.calls
    if any(call.provider != "anthropic" or call.usage is None or call.usage.input > call.usage.fresh for call in calls):
        return None
    saves, count = 0.0, 0
    before: Call | None = None
    for index, call in enumerate(calls):
        usage, by = call.usage, rates(call)
        if usage is None or by is None:
            return None
        pause = _seconds_between(before, call)
        read_tokens = thread.kept_tokens(index) if pause is not None and pause <= FIVE_MINUTES else 0
        read_tokens = read_tokens if read_tokens >= minimum(call.model) else 0
        unread = usage.input - read_tokens
        write = by.write_5m if usage.input >= minimum(call.model) else by.fresh
        saves += usage.input * by.fresh - read_tokens * by.read - unread * write
        count, before = count + bool(read_tokens), call
    return Saving(kind=CACHE, saves=saves, thread=thread.thread, call=0, count=count) if count else None


_RESULT: Final = INDEX["tool_result"]
KEPT_RESULTS: Final = 3
"""Number of newest results that are not cleared: the provider's own default for clearing (facts §3)."""
MIN_TOKENS: Final = 200
"""Minimum tokens of a result to clear."""
PLACEHOLDER_TOKENS: Final = 10
"""Tokens of the placeholder of a cleared result."""
_MAX_RESULTS: Final = 200
_MAX_CALLS: Final = 200
"""Numbers of heaviest results, and of evenly spread calls, in the search for the best clearing."""


def clear_results(thread: ThreadCosts, rates: RatesOf) -> Saving | None:
    """Saving by clearing old tool results once, at the best moment and depth.

    It may be negative. None if there is nothing to clear, or no price.
    """
    best: Saving | None = None
    results = _clearable_results(thread)
    count = len(thread.calls)
    for index in range(1, min(count, thread.ledger.done), max(1, -(-count // _MAX_CALLS))):
        by = rates(thread.calls[index])
        for saving in _iter_clearings(thread, index, by, results) if by is not None else ():
            if best is None or saving.saves > best.saves:
                best = saving
    return best


def _clearable_results(thread: ThreadCosts) -> list[int]:
    tree, own = thread.tree, thread.running.block_tokens
    large = [node for node in thread.nodes() if tree[node].category == _RESULT and own(node) >= MIN_TOKENS]
    if len(large) > _MAX_RESULTS:
        large.sort(key=lambda node: -own(node) * thread.lifetimes.count_calls(node, len(thread.calls)))
    return large[:_MAX_RESULTS]


def _iter_clearings(thread: ThreadCosts, index: int, rates: Rates, results: Sequence[int]) -> Iterator[Saving]:
    call, running, tree = thread.calls[index], thread.running, thread.tree
    head, charged = call.sent_head, thread.ledger.rates_of(index)
    newest = _newest_results(thread, head)
    context_tokens = running.read_tokens(head, head) + thread.unrecorded_tokens(index)
    scale = call.usage.input / context_tokens if call.usage is not None and context_tokens else 1.0
    # End of the cached prefix, in counted tokens.
    end = call.usage.cache_read / scale - thread.unrecorded_tokens(index) if call.usage is not None and scale else 0.0
    dearer = max(0.0, unread_rate(call, rates) - rates.read) * scale
    saved, cleared_tokens, cleared_read, count = 0.0, 0, 0, 0
    present = _nodes_at_call(thread, results, index)
    for node_at_call in _deepest_first(thread, present.keys() - newest):
        node = present[node_at_call]
        block_tokens = running.block_tokens(node)
        saved += thread.input_usd(node, index) * (block_tokens - PLACEHOLDER_TOKENS) / block_tokens
        cleared_tokens, count = cleared_tokens + block_tokens, count + 1
        cleared_read += block_tokens if tree[node_at_call].depth <= charged.read else 0
        rewritten_tokens = max(0.0, end - running.read_tokens(head, tree[node_at_call].parent) - cleared_read)
        yield Saving(
            kind=CLEAR,
            saves=saved - rewritten_tokens * dearer,
            thread=thread.thread,
            call=index + 1,
            count=count,
            tokens=cleared_tokens,
        )


def _deepest_first(thread: ThreadCosts, nodes: Iterable[int]) -> list[int]:
    return sorted(nodes, key=lambda node: -thread.tree[node].depth)


def cleared_nodes(thread: ThreadCosts, saving: Saving) -> list[int]:
    """Nodes of the results that a `saving` by `clear_results` clears."""
    index = saving.call - 1
    present = _nodes_at_call(thread, _clearable_results(thread), index)
    newest = _newest_results(thread, thread.calls[index].sent_head)
    return _deepest_first(thread, present.keys() - newest)[: saving.count]


def _nodes_at_call(thread: ThreadCosts, results: Sequence[int], index: int) -> dict[int, int]:
    before = [node for node in results if (thread.lifetimes.first_call(node) or 0) < index]
    return {there: node for node in before if (there := thread.lifetimes.node_at_call(node, index)) is not None}


def _newest_results(thread: ThreadCosts, head: int) -> set[int]:
    newest: set[int] = set()
    while head and len(newest) < KEPT_RESULTS:
        if thread.tree[head].category == _RESULT and thread.tree[head].block.kind != HEADER:
            newest.add(head)
        head = thread.tree[head].parent
    return newest


def unread_rate(call: Call, by: Rates) -> float:
    """USD for one input token that is not read from the cache.

    It is the mean price of the call's cache writes; without any, that of Anthropic's 5-minute write, else full price.
    """
    usage = call.usage
    if usage is None or not usage.cache_write:
        return by.write_5m if call.provider == "anthropic" else by.fresh
    return by.write_cost(usage) / usage.cache_write


CLEAR, HOUR, MINUTES, TOOLS, CACHE = "clear results", "1h entries", "5m entries", "unused tools", "cache"
"""Kinds of savings."""

RatesOf = Callable[[Call], Rates | None]
"""Gives the prices of a call's tokens; None if unknown."""


class Saving(Struct, frozen=True, kw_only=True):
    """A change that `saves` USD net (below 0: it costs more).

    - `thread`, `call`: where it applies; `call` counts from 1, 0: throughout.
    - `count`, `tokens`: number and tokens of results, tools, rewrites or calls, by its kind.
    - `names`: names of tools, or a policy and its risk.
    """

    kind: str
    saves: float
    thread: str = ""
    call: int = 0
    count: int = 0
    tokens: int = 0
    names: tuple[str, ...] = ()


POLICY: Final = "policy"
"""Kind of policies' savings."""
_AT_ENTRY: Final = frozenset({COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE})
"""Kinds of edits that can be made when a block is added, so that they cause no rewrite."""


def price_policy(thread: ThreadCosts, context: Context, remedy: Remedy, charge: CallCharge) -> Saving | None:
    """Saving of one policy on the blocks of `context`, each edited when it was added.

    None if one of its edits cannot be made then, or if nothing would have been saved.
    """
    if len(remedy.steps) > 1 or any(edit.kind not in _AT_ENTRY for edit in remedy.edits):
        return None
    freed = {}
    for position, saved_tokens in remedy.saved.items():
        # A block may have fewer tokens by the thread's weights than by the request's; never free more than it has.
        block_tokens = thread.running.block_tokens(context.nodes[position])
        if block_tokens:
            freed[context.nodes[position]] = min(saved_tokens, block_tokens)
    names = (remedy.names[0], remedy.risk.description)
    return from_the_start(POLICY, thread, freed, charge, names=names, count=len(freed))
