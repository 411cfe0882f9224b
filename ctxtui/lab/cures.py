"""Cures: what a session would have cost less, had one thing been done otherwise and the same calls been made.

Every figure is worked out from the recorded calls, pauses and rates, net of what the cure itself costs. None of them
knows whether the model would have needed what was taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.lab.bill import Rewrite
from ctxtui.lab.block_costs import ThreadCosts
from ctxtui.lab.clearing import cleared
from ctxtui.lab.cure import CACHE, HOUR, MINUTES, TOOLS, Cure, RatesOf
from ctxtui.lab.labels import Names

_CALL, _TOOLS = INDEX["tool_call"], INDEX["tools"]
FIVE_MINUTES: Final = 300.0
ONE_HOUR: Final = 3600.0


def cures(
    threads: Sequence[ThreadCosts],
    rewrites: Sequence[Rewrite],
    rates: RatesOf,
    names: Names,
    minimum: Callable[[str], int],
) -> list[Cure]:
    """Every cure that saves money, the one that saves most first. `minimum` gives a model's least cacheable prefix."""
    found: list[Cure | None] = []
    for thread in threads:
        found += [cleared(thread, rates), hours(thread, rewrites, rates), minutes(thread, rates)]
        found += [unused_tools(thread, names), cached(thread, rates, minimum)]
    return sorted((cure for cure in found if cure is not None and cure.saves > 0), key=lambda cure: -cure.saves)


def hours(thread: ThreadCosts, rewrites: Sequence[Rewrite], rates: RatesOf) -> Cure | None:
    """Entries that live an hour in place of five minutes: rewrites after pauses of up to an hour are saved, every
    other write costs more."""
    avoided = {
        one.number: one
        for one in rewrites
        if one.thread == thread.thread and one.cause == "pause" and one.pause is not None and one.pause <= ONE_HOUR
    }
    saves, count, tokens = 0.0, 0, 0
    for number, call in enumerate(thread.calls, 1):
        usage, by = call.usage, rates(call)
        if usage is None or by is None or by.write_1h <= by.write_5m:
            continue
        again = min(avoided[number].tokens, usage.write_5m) if number in avoided else 0
        saves += again * (by.write_5m - by.read) - (usage.write_5m - again) * (by.write_1h - by.write_5m)
        count, tokens = count + bool(again), tokens + again
    return Cure(HOUR, saves, thread.thread, 0, count, tokens) if count else None


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
    return Cure(MINUTES, saves, thread.thread, 0, lost, wrote) if wrote else None


def unused_tools(thread: ThreadCosts, names: Names) -> Cure | None:
    """Tool definitions that no call of the thread ever used, left out from the beginning: nothing is written again."""
    tree = thread.tree
    used = {names.label(tree[n]) for n in _answered(thread) if tree[n].category == _CALL}
    defined = [n for n in thread.nodes() if tree[n].category == _TOOLS and tree[n].place.section == "tools"]
    idle = [n for n in defined if names.label(tree[n]) not in used]
    saves = sum(thread.input_usd(n) for n in idle)
    tokens = sum(map(thread.running.own, idle))
    labels = tuple(sorted({names.label(tree[n]) for n in idle}))
    return Cure(TOOLS, saves, thread.thread, 0, len(labels), tokens, labels) if idle else None


def _answered(thread: ThreadCosts) -> set[int]:
    return {*thread.ledger.entered, *thread.ledger.made}


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
    return Cure(CACHE, saves, thread.thread, 0, count) if count else None
