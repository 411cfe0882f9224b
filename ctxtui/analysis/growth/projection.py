"""Where a session is heading: how its context grows turn by turn, when it meets a limit, and what that will cost.

An agent that plays by itself has no turns: there a round is the unit (one call and the results that answer it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.context_window import COMPACTION, ContextWindow
from ctxtui.analysis.figures import figures
from ctxtui.analysis.growth.units_ahead import COST, GROWTH_OF_ROUNDS, GROWTH_OF_TURNS, Range, Typical, units_ahead
from ctxtui.analysis.window_signs import by_hand
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.tree import Tree
from ctxtui.core.turns import turns_of
from ctxtui.core.usage import Usage

TURN: Final = "turn"
ROUND: Final = "round"
"""What is counted: turns of a person, or rounds of an agent that plays by itself."""
OVERHEAD: Final = 20_000
MARGIN: Final = 13_000
"""Claude Code compacts by itself this far below its window, after taking off the room for an answer: assumed, as read
from the client by others in 2026; what a session's own compactions tell goes first."""
LEAST: Final = 0.1
"""The share of today's context that a shrinking one is taken to keep."""
CODEX_SHARE: Final = 0.9
"""Codex compacts by itself at this share of its window: assumed, from its source."""

_BREAKS: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION, EpochStart.REWIND, EpochStart.RESUME)


class TurnGrowth(NamedTuple):
    """One turn or round of a thread: its number, how many calls it took, by how many tokens the context grew in it
    (None where it was compacted, or there is nothing to compare with), the tokens of all its answers, the context at
    its end, and what its calls cost in USD for input and for answers (None: not known)."""

    number: int
    calls: int
    growth: int | None
    output: int
    size: int = 0
    usd: tuple[float, float] | None = None


class Limit(Struct, frozen=True):
    """A size that the context will meet: `tokens`, how that is known (``observed``, ``assumed``, ``setting``), and in
    how many turns (high growth first; None: not at this pace)."""

    tokens: int
    how: str
    turns: tuple[int | None, int | None, int | None]


class Outlook(Struct, frozen=True, kw_only=True):
    """What the next turns bring, or rounds, as `unit` says. `context` is the size now, `growth`, `calls` and `output`
    are per unit as observed over `turns` of them (`growth` None where none tells, `calls` where a unit is one call),
    `after` the size after `ahead` units without a compaction, `usd` what they cost (None: no price is known),
    `rewrites` the misses per unit so far. Ranges hold what comes in four of five cases."""

    unit: str = TURN
    context: int
    turns: int
    ahead: int
    growth: Range | None
    calls: Range | None
    output: Range | None
    rewrites: float
    after: Range | None
    usd: Range | None

    @property
    def pace(self) -> Range | None:
        """Growth per unit over all that lie ahead: what single ones differ by evens out."""
        return None if self.after is None else self.after.mapped(lambda size: (size - self.context) / self.ahead)


Usd = Callable[[Usage], float | None]
"""What a usage costs at the terms of today's model; None where the price is not known."""


def unit_of(tree: Tree, calls: Sequence[Call]) -> str:
    """What the calls of a thread are counted in: rounds where a person opened it at most, turns elsewhere."""
    return ROUND if turns_of(tree, calls).count_with_calls <= 1 else TURN


def grown_turns(book: Book, thread: str, usd: Usd | None = None) -> list[TurnGrowth]:
    """The turns of `thread`, or its rounds, in order; everything in `book` must be counted."""
    calls = book.session.thread_calls(thread)
    return grown(book.session.tree, calls, lambda call: figures(book, call).context_tokens, usd)


def grown(tree: Tree, calls: Sequence[Call], size: Callable[[Call], int], usd: Usd | None = None) -> list[TurnGrowth]:
    """As `grown_turns`, for `calls` of a thread whose contexts have the `size` (tokens)."""
    turns = turns_of(tree, calls)
    alone = turns.count_with_calls <= 1
    groups: list[list[Call]] = []
    for n, call in enumerate(calls):
        if n and not alone and turns.of_call(n - 1) == turns.of_call(n):
            groups[-1].append(call)
        else:
            groups.append([call])
    sizes = [size(group[-1]) for group in groups]
    growth = [None, *(None if broken(a, b) else size - was for (a, b), (was, size) in _steps(groups, sizes))]
    return [
        TurnGrowth(
            n,
            len(group),
            more,
            sum(call.output for call in group),
            sizes[n - 1],
            _paid(group, usd) if usd is not None else None,
        )
        for n, (group, more) in enumerate(zip(groups, growth[: len(groups)], strict=True), 1)
    ]


def _paid(group: Sequence[Call], usd: Usd) -> tuple[float, float] | None:
    given = answered = 0.0
    for call in group:
        whole = None if call.usage is None else usd(replace(call.usage, output=call.output))
        read = None if call.usage is None else usd(replace(call.usage, output=0))
        if whole is None or read is None:
            return None
        given, answered = given + read, answered + whole - read
    return given, answered


def _steps(
    groups: Sequence[list[Call]], sizes: Sequence[int]
) -> list[tuple[tuple[list[Call], list[Call]], tuple[int, int]]]:
    return list(zip(pairwise(groups), pairwise(sizes), strict=True))


def broken(before: Sequence[Call], group: Sequence[Call]) -> bool:
    """Whether the context was made smaller between the end of one group and that of the next."""
    return any(
        call.epoch.number != was.epoch.number and call.epoch.start in _BREAKS
        for was, call in pairwise((before[-1], *group))
    )


def compacts_at(book: Book, thread: str, window: ContextWindow) -> tuple[int, str] | None:
    """The size in tokens at which the client compacts by itself, and how that is known; None where nothing tells.
    `window` is the one in force for the thread's last call."""
    if window.origin == COMPACTION:
        return window.limit, "observed"
    folded = [(a, b) for a, b in pairwise(book.session.thread_calls(thread)) if broken((a,), (b,))]
    seen = [a.usage.input for a, b in folded if a.usage and b.epoch.start == _BREAKS[0] and not by_hand(b)]
    if seen:
        return max(seen), "observed"
    match book.session.about.source:
        case "claude code" if window.window:
            return window.window - OVERHEAD - MARGIN, "assumed"
        case "codex" if window.window:
            return round(window.window * CODEX_SHARE), "assumed"
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


def outlook(book: Book, thread: str, ahead: int, window: int, usd: Usd, missed: int = 0) -> Outlook:
    """The next `ahead` turns of `thread`, or rounds; its calls have `missed` the cache so often. `window` is what the
    client takes, in tokens (0: not known)."""
    calls = book.session.thread_calls(thread)
    unit = unit_of(book.session.tree, calls)
    found = grown_turns(book, thread, usd)
    context = figures(book, calls[-1]).context_tokens if calls else 0
    growth = after = money = None
    steps = [turn.growth for turn in found if turn.growth is not None]
    if steps:
        growth, after = units_ahead(steps, 1, typical_of(unit)), grows_to(context, steps, ahead, unit)
        money = costs(found, context, (after.mid - context) / ahead, ahead, window)
    return Outlook(
        unit=unit,
        context=context,
        turns=len(found),
        ahead=ahead,
        growth=growth,
        calls=_each([turn.calls for turn in found]) if unit == TURN else None,
        output=_each([turn.output for turn in found]),
        rewrites=missed / max(1, len(found) - 1),
        after=after,
        usd=money,
    )


def _each(values: Sequence[float]) -> Range | None:
    """The range of one more of `values` that cannot be negative."""
    return units_ahead(values, 1, COST).mapped(lambda value: max(0.0, value)) if values else None


def typical_of(unit: str) -> Typical:
    """How growth per `unit` is in other sessions."""
    return GROWTH_OF_ROUNDS if unit == ROUND else GROWTH_OF_TURNS


def grows_to(
    context: int, steps: Sequence[float], ahead: int, unit: str = TURN, typical: Typical | None = None
) -> Range:
    """The context after `ahead` units, when it grew by `steps` in those before; it may be more than the window."""
    more = units_ahead(steps, ahead, typical or typical_of(unit))
    return more.mapped(lambda tokens: max(0.0, context + tokens))


def costs(
    found: Sequence[TurnGrowth], context: int, growth: float, ahead: int, window: int, typical: Typical = COST
) -> Range | None:
    """What `ahead` units cost (USD): what each of those `found` cost for a token of its context, times the context that
    lies ahead, and its answers. `context` is that of now, it gets more by `growth` with each unit, at most the `window`
    (0: no limit). None where no price is known."""
    most = window or math.inf
    sizes = [min(most, max(LEAST * context, context + growth * n)) for n in range(1, ahead + 1)]
    each = sum(sizes) / len(sizes)
    paid = [turn.usd[0] / turn.size * each + turn.usd[1] for turn in found if turn.usd is not None and turn.size > 0]
    if not any(paid):
        return None
    # Many units are seldom all cheaper than a third of the cheapest so far, or all as dear as the dearest.
    least, dearest = ahead * min(paid) / 3, (ahead + 3) * max(paid)
    return units_ahead(paid, ahead, typical).mapped(lambda usd: min(max(least, usd), dearest))


class Instruction(Struct, frozen=True):
    """Something a person said that a compaction would put into other words: the `turn` it opened, tokens, first words,
    and the block's digest."""

    turn: int
    tokens: int
    words: str
    digest: str


class Preflight(Struct, frozen=True, kw_only=True):
    """What `ctxtui preflight` tells. `limits` are the usable share of the window and the client's own compaction, as
    far as they are known; `eaten` the tokens by category that a compaction would replace, `asked` what people said
    in them. `partial` calls of the thread have an answer that is reported in part: of them what is known counts."""

    outlook: Outlook
    window: ContextWindow
    usable: Limit | None
    compaction: Limit | None
    eaten: dict[str, int]
    asked: tuple[Instruction, ...]
    partial: int = 0
