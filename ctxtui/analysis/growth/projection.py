"""Projects a session: growth of its context, when it reaches a limit, and the cost.

The unit is a turn, or a round (one call and the results that answer it) if a person opened at most one turn.
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
from ctxtui.analysis.window_signs import is_early_compaction
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.tree import Tree
from ctxtui.core.turns import turns_of
from ctxtui.core.usage import Usage

TURN: Final = "turn"
ROUND: Final = "round"
OVERHEAD: Final = 20_000
MARGIN: Final = 13_000
"""Tokens by which Claude Code's automatic compaction comes before its window's end: an answer's, and a margin.

Assumed, as read from the client by others in 2026.
"""
MIN_SHARE_KEPT: Final = 0.1
"""Minimum share of the current context that a shrinking one is assumed to keep."""
CODEX_SHARE: Final = 0.9
"""Share of its window at which Codex compacts automatically: assumed, from its source."""

_BREAKS: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION, EpochStart.REWIND, EpochStart.RESUME)


class TurnGrowth(NamedTuple):
    """One turn or round of a thread.

    - `number`: from 1; `calls`: number of its calls.
    - `growth`: growth of the context in tokens; None for the first, and if it may have been cut (`was_shortened`).
    - `output`: tokens of all its answers; `size`: tokens of the context of its last call.
    - `usd`: the cost of its calls for input and for answers; None: unknown.
    """

    number: int
    calls: int
    growth: int | None
    output: int
    size: int = 0
    usd: tuple[float, float] | None = None


class Limit(Struct, frozen=True):
    """A size in tokens that the context will reach.

    `how` is ``observed``, ``assumed`` or ``setting``. `turns` are the numbers of turns or rounds until then, for high,
    typical and low growth (None: not at this pace).
    """

    tokens: int
    how: str
    turns: tuple[int | None, int | None, int | None]


class Outlook(Struct, frozen=True, kw_only=True):
    """Forecast of the next turns or rounds (`unit`). Ranges should contain four of five cases.

    - `context`: the current size.
    - `growth`, `calls`, `output`: of one unit, from the `turns` units so far. None: unknown; `calls` also if a unit is
      one call.
    - `rewrites`: misses per unit so far.
    - `after`: the size after `ahead` units without a compaction; `usd`: their cost. None: unknown.
    """

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
        """Growth per unit over all units ahead; None if unknown."""
        return None if self.after is None else self.after.map(lambda size: (size - self.context) / self.ahead)


Usd = Callable[[Usage], float | None]
"""Gives the cost of a usage at the prices of the current model; None if the price is unknown."""


def thread_unit(tree: Tree, calls: Sequence[Call]) -> str:
    return ROUND if turns_of(tree, calls).count_with_calls <= 1 else TURN


def measure_turns(book: Book, thread: str, usd: Usd | None = None) -> list[TurnGrowth]:
    """Turns or rounds of `thread`, in order; everything in `book` must be counted."""
    calls = book.session.thread_calls(thread)
    return group_turns(book.session.tree, calls, lambda call: figures(book, call).context_tokens, usd)


def group_turns(
    tree: Tree, calls: Sequence[Call], size: Callable[[Call], int], usd: Usd | None = None
) -> list[TurnGrowth]:
    """Like `measure_turns`; `size` gives the tokens of a call's context."""
    turns = turns_of(tree, calls)
    has_single_turn = turns.count_with_calls <= 1
    groups: list[list[Call]] = []
    for n, call in enumerate(calls):
        if n and not has_single_turn and turns.of_call(n - 1) == turns.of_call(n):
            groups[-1].append(call)
        else:
            groups.append([call])
    sizes = [size(group[-1]) for group in groups]
    growth = [
        None,
        *(
            None if was_shortened(a, b) else size - size_before
            for (a, b), (size_before, size) in zip(pairwise(groups), pairwise(sizes), strict=True)
        ),
    ]
    return [
        TurnGrowth(
            n,
            len(group),
            more,
            sum(call.output for call in group),
            sizes[n - 1],
            _group_cost(group, usd) if usd is not None else None,
        )
        for n, (group, more) in enumerate(zip(groups, growth[: len(groups)], strict=True), 1)
    ]


def _group_cost(group: Sequence[Call], usd: Usd) -> tuple[float, float] | None:
    input_usd = answer_usd = 0.0
    for call in group:
        cost = None if call.usage is None else usd(replace(call.usage, output=call.output))
        read = None if call.usage is None else usd(replace(call.usage, output=0))
        if cost is None or read is None:
            return None
        input_usd, answer_usd = input_usd + read, answer_usd + cost - read
    return input_usd, answer_usd


def was_shortened(before: Sequence[Call], group: Sequence[Call]) -> bool:
    """Whether a compaction, restart or return to an earlier point began an epoch in `group`."""
    return any(
        call.epoch.number != was.epoch.number and call.epoch.start in _BREAKS
        for was, call in pairwise((before[-1], *group))
    )


def automatic_compaction(book: Book, thread: str, window: ContextWindow) -> tuple[int, str] | None:
    """Size in tokens at which the client compacts automatically, and how it is known. None if it is not.

    `window` is that of the thread's last call.
    """
    if window.origin == COMPACTION:
        return window.limit, "observed"
    folded = [(a, b) for a, b in pairwise(book.session.thread_calls(thread)) if was_shortened((a,), (b,))]
    sizes = [a.usage.input for a, b in folded if a.usage and b.epoch.start == _BREAKS[0] and not is_early_compaction(b)]
    if sizes:
        return max(sizes), "observed"
    match book.session.about.source:
        case "claude code" if window.window:
            return window.window - OVERHEAD - MARGIN, "assumed"
        case "codex" if window.window:
            return round(window.window * CODEX_SHARE), "assumed"
    return None


def reach_limit(tokens: int, how: str, context: int, growth: Range | None) -> Limit:
    """The limit `tokens` for a context of `context` tokens that grows by `growth` a turn."""
    if context >= tokens:
        return Limit(tokens, how, (0, 0, 0))
    if growth is None:
        return Limit(tokens, how, (None, None, None))
    remaining = tokens - context
    soon, mid, late = (math.ceil(remaining / each) if each > 0 else None for each in reversed(growth))
    return Limit(tokens, how, (soon, mid, late))


def forecast_outlook(book: Book, thread: str, ahead: int, window: int, usd: Usd, missed: int = 0) -> Outlook:
    """Forecast the next `ahead` turns or rounds of `thread`, whose calls had `missed` misses.

    `window` is the client's window in tokens (0: unknown).
    """
    calls = book.session.thread_calls(thread)
    unit = thread_unit(book.session.tree, calls)
    turns = measure_turns(book, thread, usd)
    context = figures(book, calls[-1]).context_tokens if calls else 0
    growth = after = money = None
    steps = [turn.growth for turn in turns if turn.growth is not None]
    if steps:
        growth, after = units_ahead(steps, 1, typical_growth_per(unit)), project_context(context, steps, ahead, unit)
        money = project_costs(turns, context, (after.mid - context) / ahead, ahead, window)
    return Outlook(
        unit=unit,
        context=context,
        turns=len(turns),
        ahead=ahead,
        growth=growth,
        calls=_range_of_next([turn.calls for turn in turns]) if unit == TURN else None,
        output=_range_of_next([turn.output for turn in turns]),
        rewrites=missed / max(1, len(turns) - 1),
        after=after,
        usd=money,
    )


def _range_of_next(values: Sequence[float]) -> Range | None:
    return units_ahead(values, 1, COST).map(lambda value: max(0.0, value)) if values else None


def typical_growth_per(unit: str) -> Typical:
    return GROWTH_OF_ROUNDS if unit == ROUND else GROWTH_OF_TURNS


def project_context(
    context: int, steps: Sequence[float], ahead: int, unit: str = TURN, typical: Typical | None = None
) -> Range:
    """Context after `ahead` units, if it grew by `steps` so far; it may exceed the window."""
    more = units_ahead(steps, ahead, typical or typical_growth_per(unit))
    return more.map(lambda tokens: max(0.0, context + tokens))


def project_costs(
    turns: Sequence[TurnGrowth], context: int, growth: float, ahead: int, window: int, typical: Typical = COST
) -> Range | None:
    """Cost of `ahead` units in USD, from those of `turns`; None if they have no cost.

    `context` is the current size; it grows by `growth` per unit, at most to the `window` (0: no limit).
    """
    most = window or math.inf
    sizes = [min(most, max(MIN_SHARE_KEPT * context, context + growth * n)) for n in range(1, ahead + 1)]
    each = sum(sizes) / len(sizes)
    paid = [turn.usd[0] / turn.size * each + turn.usd[1] for turn in turns if turn.usd is not None and turn.size > 0]
    if not any(paid):
        return None
    # Many units are seldom all cheaper than a third of the cheapest so far, or all as expensive as the dearest.
    least, dearest = ahead * min(paid) / 3, (ahead + 3) * max(paid)
    return units_ahead(paid, ahead, typical).map(lambda usd: min(max(least, usd), dearest))


class Instruction(Struct, frozen=True):
    """A person's message that a compaction would rewrite: turn, tokens, first words, digest."""

    turn: int
    tokens: int
    words: str
    digest: str


class Preflight(Struct, frozen=True, kw_only=True):
    """Result of ``ctxtui preflight``.

    - `usable`, `compaction`: the limits: the usable share of the window, and the client's own compaction (None:
      unknown).
    - `replaced`: tokens by category that a compaction would replace; `instructions`: the people's messages among them.
    - `partial`: number of calls that are not fully reported; only the known part counts.
    """

    outlook: Outlook
    window: ContextWindow
    usable: Limit | None
    compaction: Limit | None
    replaced: dict[str, int]
    instructions: tuple[Instruction, ...]
    partial: int = 0
