"""Where a session is heading: how its context grows turn by turn, when it meets a limit, and what that will cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import figures
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.usage import Usage

MANY: Final = 5
"""From so many turns on the range is from the 10th to the 90th percentile; of fewer it is all of them."""
OVERHEAD: Final = 20_000
MARGIN: Final = 13_000
"""Claude Code compacts by itself this far below its window, after taking off the room for an answer: assumed, as read
from the client by others in 2026; what a session's own compactions tell goes first."""
CODEX_SHARE: Final = 0.9
"""Codex compacts by itself at this share of its window: assumed, from its source."""

_BREAKS: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION, EpochStart.REWIND, EpochStart.RESUME)


class Range(NamedTuple):
    """A typical figure between a low and a high one."""

    low: float
    mid: float
    high: float


class TurnGrowth(NamedTuple):
    """One turn of a thread: its number, how many calls it took, by how many tokens the context grew in it (None where
    it was compacted, or there is nothing to compare with), and the tokens of all its answers."""

    number: int
    calls: int
    growth: int | None
    output: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A size that the context will meet: `tokens`, how that is known (``observed``, ``assumed``, ``setting``), and in
    how many turns (high growth first; None: not at this pace)."""

    tokens: int
    how: str
    turns: tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What the next turns bring. `context` is the size now, `growth`, `calls` and `output` are per turn as observed
    over `turns` turns (`growth` None where no turn tells), `after` the size after `ahead` turns without a compaction,
    `usd` what they cost (None: no price is known), `rewrites` the misses per turn so far."""

    context: int
    turns: int
    ahead: int
    growth: Range | None
    calls: Range
    output: Range
    rewrites: float
    after: Range | None
    usd: Range | None


def turns_of(book: Book, thread: str) -> list[TurnGrowth]:
    """The turns of `thread`, in order; everything in `book` must be counted."""
    tree = book.session.tree
    groups: list[list[Call]] = []
    for call in book.session.thread_calls(thread):
        if groups and tree[groups[-1][0].raw_head].turn == tree[call.raw_head].turn and not _breaks(groups[-1], call):
            groups[-1].append(call)
        else:
            groups.append([call])
    sizes = [figures(book, group[-1]).context_tokens for group in groups]
    grown = [None, *(None if _breaks(a, b[0]) else size - was for (a, b), (was, size) in _steps(groups, sizes))]
    return [
        TurnGrowth(n, len(group), growth, sum(call.usage.output for call in group if call.usage))
        for n, (group, growth) in enumerate(zip(groups, grown[: len(groups)], strict=True), 1)
    ]


def _steps(
    groups: Sequence[list[Call]], sizes: Sequence[int]
) -> list[tuple[tuple[list[Call], list[Call]], tuple[int, int]]]:
    return list(zip(pairwise(groups), pairwise(sizes), strict=True))


def _breaks(before: Sequence[Call], call: Call) -> bool:
    return call.epoch.number != before[-1].epoch.number and call.epoch.start in _BREAKS


def range_of(values: Sequence[float]) -> Range | None:
    """The range of `values`; None where there are none."""
    if not values:
        return None
    order = sorted(values)
    last = len(order) - 1
    cut = 0.1 if len(order) >= MANY else 0.0
    return Range(order[round(cut * last)], order[last // 2], order[round((1 - cut) * last)])


def compacts_at(book: Book, thread: str, window: int) -> tuple[int, str] | None:
    """The size in tokens at which the client compacts by itself, and how that is known; None where nothing tells."""
    calls = book.session.thread_calls(thread)
    seen = [a.usage.input for a, b in pairwise(calls) if a.usage and _breaks([a], b) and b.epoch.start == _BREAKS[0]]
    if seen:
        return max(seen), "observed"
    match book.session.about.source:
        case "claude code" if window:
            return window - OVERHEAD - MARGIN, "assumed"
        case "codex" if window:
            return round(window * CODEX_SHARE), "assumed"
    return None


def limit(tokens: int, how: str, context: int, growth: Range | None) -> Limit:
    """When a context of `context` tokens that grows by `growth` a turn meets `tokens`."""
    if context >= tokens:
        return Limit(tokens, how, (0, 0, 0))
    if growth is None:
        return Limit(tokens, how, (None, None, None))
    left = tokens - context
    soon, mid, late = (math.ceil(left / each) if each > 0 else None for each in reversed(growth))
    return Limit(tokens, how, (soon, mid, late))


def outlook(
    book: Book, thread: str, ahead: int, window: int, usd: Callable[[Usage], float | None], missed: int = 0
) -> Outlook:
    """The next `ahead` turns of `thread`, which has `missed` the cache so often. `window` is the model's, in tokens (0:
    not known); `usd` prices a usage."""
    calls = book.session.thread_calls(thread)
    found = turns_of(book, thread)
    context = figures(book, calls[-1]).context_tokens if calls else 0
    growth = range_of([turn.growth for turn in found if turn.growth is not None])
    if growth is None and found:
        # One turn only: what it added from its first call to its last.
        first = figures(book, calls[0]).context_tokens
        growth = Range(*[float(context - first)] * 3) if context > first else None
    steps = range_of([turn.calls for turn in found]) or Range(1, 1, 1)
    output = range_of([turn.output for turn in found]) or Range(0, 0, 0)
    rate = missed / max(1, len(found) - 1)
    worst = min(1.0, (missed + 1) / max(1, len(found)))
    after = money = None
    if growth is not None:
        after = Range(*(min(context + ahead * each, window or math.inf) for each in growth))
        habit = calls[-1].usage if calls else None
        costs = [
            _usd(context, ahead, (growth[n], steps[n], output[n]), share, window, habit, usd)
            for n, share in enumerate((0.0, min(1.0, rate), worst))
        ]
        known = [cost for cost in costs if cost is not None]
        money = Range(*sorted(known)) if len(known) == len(costs) else None
    return Outlook(
        context=context,
        turns=len(found),
        ahead=ahead,
        growth=growth,
        calls=steps,
        output=output,
        rewrites=rate,
        after=after,
        usd=money,
    )


def _usd(
    context: float,
    ahead: int,
    pace: tuple[float, float, float],
    rewrites: float,
    window: int,
    habit: Usage | None,
    usd: Callable[[Usage], float | None],
) -> float | None:
    """What `ahead` turns cost: `pace` is growth, calls and answer tokens per turn, `rewrites` the share of turns whose
    first call finds nothing in the cache. `habit` is a usage that shows how the client caches."""
    growth, calls, output = pace
    steps = max(1, round(calls))
    total, size = 0.0, context
    for _ in range(ahead):
        for step in range(steps):
            new = min(max(0.0, growth / steps), max(0.0, (window or math.inf) - size))
            found = usd(_usage(size, new, output / steps, habit))
            if found is None:
                return None
            missed = usd(_usage(0, size + new, output / steps, habit)) if step == 0 and rewrites else found
            total += found + rewrites * ((missed or found) - found if step == 0 else 0.0)
            size += new
    return total


def _usage(read: float, new: float, output: float, habit: Usage | None) -> Usage:
    """A call that has `read` tokens behind it and brings `new` ones."""
    out = round(output)
    if habit is None or not habit.has_cache or not (habit.cache_read or habit.cache_write):
        return Usage(fresh=round(read + new), output=out)
    if not habit.cache_write:
        return Usage(fresh=round(new), cache_read=round(read), output=out)
    long = habit.write_1h > habit.write_5m
    return Usage(
        cache_read=round(read), write_1h=round(new) if long else 0, write_5m=0 if long else round(new), output=out
    )
