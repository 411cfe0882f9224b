"""Growth of a thread's context: sizes by call and category, shape, carry, dead tokens.

*Carry* is tokens times the calls whose context held them. Tool results are *dead* if the model never quoted them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.dead_results import DeadWeight, find_dead_results
from ctxtui.analysis.figures import ATTACHED, NOT_RECORDED, CallFigures, figures
from ctxtui.analysis.growth.phases import Phase
from ctxtui.analysis.growth.projection import was_shortened
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.resent import ResentTracker
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES
from ctxtui.core.turns import turns_of

LINEAR: Final = "linear"
FASTER: Final = "quadratic"
SLOWING: Final = "slowing"
FLAT: Final = "flat"
SHRINKING: Final = "shrinking"
UNEVEN: Final = "uneven"
"""Kinds of growth; `UNEVEN`: neither a line nor a curve fits."""

MIN_CALLS: Final = 4
"""Calls that a line needs."""
MIN_CURVE_CALLS: Final = 8
"""Calls that a curve needs."""
_MAX_FLAT_SHARE: Final = 0.05
"""A context that grows less than this over all calls, as a share of their mean size, is flat."""
_MIN_R2: Final = 0.5
"""Share of the variance that a line or curve must explain (R²)."""
_MIN_F: Final = 12.0
"""Minimum F statistic of a curve over a line (one degree of freedom)."""
_MIN_BEND_RATIO: Final = 2.0
"""Minimum ratio of the growth at the two ends of a curve."""


class GrowthShape(Struct, frozen=True, kw_only=True):
    """Shape of the growth over `calls` consecutive contexts, from call `first` (from 1) on.

    - `per_call`: slope of the fitted line, in tokens.
    - `begins`, `ends`: slopes of the fitted curve at its ends; without a curve those of the line.
    - `r2`, `r2_bent`: share of the variance that the line and the curve explain.
    - `doubled`: factor on all tokens sent, if there were twice as many calls on the fitted curve.
    """

    kind: str
    calls: int
    first: int
    per_call: float
    begins: float
    ends: float
    r2: float
    r2_bent: float
    doubled: float

    @property
    def sent(self) -> str:
        """Growth of all tokens sent with the number of calls: `LINEAR` or `FASTER`."""
        # Twice as many calls send twice the tokens if contexts do not grow, four times if they grow from nothing.
        return FASTER if self.doubled >= 2.5 else LINEAR


def fit_shape(sizes: Sequence[int], first: int = 1) -> GrowthShape | None:
    """Fit the shape of contexts with these `sizes` (tokens); None for fewer than `MIN_CALLS`."""
    n = len(sizes)
    if n < MIN_CALLS:
        return None
    # Use the largest unit that gives whole numbers, so that rounding does not decide about a threshold.
    unit = gcd(*sizes) or 1
    sizes = [size // unit for size in sizes]
    mean = sum(sizes) / n
    variance = sum((size - mean) ** 2 for size in sizes)
    middle = (n - 1) / 2
    # Orthogonal on whole numbers 0 .. n-1, so that the coefficients are independent.
    line = [x - middle for x in range(n)]
    bend = [x * x - (n * n - 1) / 12 for x in line]
    slope = _project_onto(sizes, line)
    curve = _project_onto(sizes, bend)
    by_line = slope * slope * sum(x * x for x in line)
    by_bend = curve * curve * sum(x * x for x in bend)
    r2 = by_line / variance if variance else 1.0
    r2_bent = (by_line + by_bend) / variance if variance else 1.0
    unexplained = max(variance - by_line - by_bend, 0.0)
    begins, ends = slope - 2 * curve * middle, slope + 2 * curve * middle
    kind = _classify(n, mean, slope, r2)
    if n >= MIN_CURVE_CALLS and kind not in (FLAT, SHRINKING) and by_bend > _MIN_F * unexplained / (n - 3):
        if ends >= _MIN_BEND_RATIO * max(begins, 0.0) and r2_bent >= _MIN_R2:
            kind = FASTER
        elif begins >= _MIN_BEND_RATIO * max(ends, 0.0) and r2_bent >= _MIN_R2:
            kind = SLOWING
    bent = kind in (FASTER, SLOWING)
    if not bent:
        begins = ends = slope

    def value_at(x: float) -> float:
        moved = x - middle
        return max(0.0, mean + slope * moved + (curve * (moved * moved - (n * n - 1) / 12) if bent else 0.0))

    once = sum(map(value_at, range(n)))
    doubled = (once + sum(map(value_at, range(n, 2 * n)))) / once if once else 2.0
    return GrowthShape(
        kind=kind,
        calls=n,
        first=first,
        per_call=unit * slope,
        begins=unit * begins,
        ends=unit * ends,
        r2=r2,
        r2_bent=r2_bent,
        doubled=doubled,
    )


def _project_onto(sizes: Sequence[int], direction: Sequence[float]) -> float:
    return sum(size * x for size, x in zip(sizes, direction, strict=True)) / sum(x * x for x in direction)


def _classify(n: int, mean: float, slope: float, r2: float) -> str:
    if abs(slope) * (n - 1) < _MAX_FLAT_SHARE * mean:
        return FLAT
    if r2 < _MIN_R2:
        return UNEVEN
    return LINEAR if slope > 0 else SHRINKING


RESIDUAL: Final = "residual"
PARTS: Final = (NOT_RECORDED, ATTACHED, *CATEGORIES, RESIDUAL)
"""Parts of a context, in stacking order."""


class CallSize(Struct, frozen=True, kw_only=True):
    """Size of one call's context.

    `number` counts from 1 in the thread, `method` is that of `CallFigures`, `parts` are tokens by part (`PARTS`).
    `broken`: the context may have been cut before this call (see `was_shortened`).
    """

    number: int
    turn: int
    tokens: int
    method: str
    parts: Mapping[str, int]
    broken: bool = False


class GrownPart(NamedTuple):
    """A part of the context over a stretch of calls.

    Tokens at its ends, and `carry` (tokens x calls).
    """

    name: str
    begins: int
    ends: int
    carry: int

    @property
    def growth(self) -> int:
        return self.ends - self.begins


class SentAgain(NamedTuple):
    """Input tokens `sent` in all calls, and those of them sent `before`.

    `twice` are the tokens of duplicates in the last context.
    """

    sent: int
    before: int
    twice: int

    @property
    def share(self) -> float | None:
        return self.before / self.sent if self.sent else None


class Growth(Struct, frozen=True, kw_only=True):
    """Growth of the context of `thread`.

    - `stretch`: the first and the last call (from 1) that `shape` is fitted to (see `last_stretch`).
    - `phases`: named by `rule`.
    - `parts`: over the stretch; `again`, `dead`: over all calls.
    - `dead_usd`: cost of the dead results so far; None: unknown, or there are none.
    - `lacks`: sentences about missing figures.
    """

    thread: str
    calls: tuple[CallSize, ...] = ()
    phases: tuple[Phase, ...] = ()
    rule: str = ""
    stretch: tuple[int, int] = (0, 0)
    shape: GrowthShape | None = None
    parts: tuple[GrownPart, ...] = ()
    again: SentAgain = field(default_factory=lambda: SentAgain(0, 0, 0))
    dead: DeadWeight = field(default_factory=DeadWeight)
    dead_usd: float | None = None
    lacks: tuple[str, ...] = ()

    dead_digests: tuple[str, ...] = ()
    """Digests of the dead results, in order."""
    since: CallSize | None = None
    """The context with unsent blocks after the last call; None if there are none."""

    @property
    def carry(self) -> int:
        """Tokens of the contexts of all calls, added up."""
        return sum(call.tokens for call in self.calls)

    @property
    def by_phase(self) -> list[list[GrownPart]]:
        return [grown_parts_in(self.contexts, phase) for phase in self.phases]

    @property
    def contexts(self) -> tuple[CallSize, ...]:
        return self.calls if self.since is None else (*self.calls, self.since)


def _context_parts(call_figures: CallFigures) -> dict[str, int]:
    if not call_figures.counted:
        return {RESIDUAL: call_figures.context_tokens} if call_figures.context_tokens else {}
    parts = {
        NOT_RECORDED: call_figures.not_recorded or 0,
        ATTACHED: call_figures.attached,
        **call_figures.categories,
        RESIDUAL: call_figures.residual,
    }
    return {name: tokens for name, tokens in parts.items() if tokens}


def call_sizes(book: Book, calls: Sequence[Call]) -> list[CallSize]:
    """Sizes of the contexts of a thread's `calls`; one not counted yet is all `RESIDUAL`."""
    turns = turns_of(book.session.tree, calls)
    rows: list[CallSize] = []
    for index, call in enumerate(calls):
        call_figures = figures(book, call)
        rows.append(
            CallSize(
                number=index + 1,
                turn=turns.of_call(index),
                tokens=call_figures.context_tokens,
                method=call_figures.method,
                parts=_context_parts(call_figures),
                broken=index > 0 and was_shortened((calls[index - 1],), (call,)),
            )
        )
    return rows


def last_stretch(every: Sequence[CallSize]) -> tuple[int, int]:
    """First and last call (from 1) of the last stretch without a cut.

    If that is too short, of the longest. (0, 0) without calls.
    """
    if not every:
        return 0, 0
    starts = [call.number for call in every if call.broken or call.number == 1]
    ends = [*(start - 1 for start in starts[1:]), every[-1].number]
    stretches = list(zip(starts, ends, strict=True))
    first, last = stretches[-1]
    if last - first + 1 >= MIN_CALLS:
        return first, last
    return max(stretches, key=lambda stretch: (stretch[1] - stretch[0], stretch[1]))


def grown_parts(begins: Mapping[str, int], sizes: Sequence[CallSize]) -> list[GrownPart]:
    """The parts over the calls `sizes`, most grown first.

    `begins`: tokens by part before the first of these calls.
    """
    if not sizes:
        return []
    parts = [
        GrownPart(
            name, begins.get(name, 0), sizes[-1].parts.get(name, 0), sum(call.parts.get(name, 0) for call in sizes)
        )
        for name in PARTS
    ]
    return sorted((part for part in parts if part.carry or part.begins), key=lambda part: (-part.growth, -part.carry))


def grown_parts_in(every: Sequence[CallSize], phase: Phase) -> list[GrownPart]:
    begins = every[phase.first - 2].parts if phase.first > 1 else {}
    return grown_parts(begins, every[phase.first - 1 : phase.last])


def thread_growth(
    book: Book,
    thread: ThreadCosts,
    phases: Iterable[Phase],
    rule: str,
    twice: int = 0,
    *,
    priced: bool = True,
    since: Call | None = None,
) -> Growth:
    """Growth of one thread of a counted book.

    `twice` is as in `SentAgain`, `since` is the call still to be made.
    """
    every = tuple(call_sizes(book, thread.calls))
    first, last = last_stretch(every)
    stretch = every[first - 1 : last] if every else ()
    sending = ResentTracker(book, lambda _: thread.running)
    before = [sending.add_call(call).tokens for call in thread.calls]
    sent_tokens = sum(call.usage.input for call in thread.calls if call.usage is not None)
    dead = find_dead_results(thread.tree, thread.calls, thread.lifetimes, thread.running.block_tokens)
    usd = sum(thread.input_usd(result.node) for result in dead.dead) if priced and dead.dead else None
    return Growth(
        thread=thread.thread,
        calls=every,
        phases=tuple(phases),
        rule=rule,
        stretch=(first, last),
        shape=fit_shape([call.tokens for call in stretch], first),
        parts=tuple(grown_parts(stretch[0].parts if stretch else {}, stretch)),
        again=SentAgain(sent_tokens, sum(before), twice),
        dead=dead,
        dead_usd=usd,
        dead_digests=tuple(thread.tree[result.node].block.digest for result in dead.dead),
        lacks=tuple(_describe_lacks(thread.calls, len(stretch), priced=priced)),
        since=call_sizes(book, [*thread.calls, since])[-1] if since is not None else None,
    )


def _describe_lacks(calls: Sequence[Call], stretch: int, *, priced: bool) -> Iterable[str]:
    if len(calls) == 1:
        yield "only one call: growth and limits are not known yet"
    elif stretch < MIN_CALLS:
        yield f"no shape: {MIN_CALLS} calls without a compaction, restart or rewind are needed, there are {stretch}"
    reported = sum(call.usage is not None for call in calls)
    if not reported:
        yield "no usage was reported: sizes are counted, and repeated input is not known"
    elif reported < len(calls):
        yield f"{len(calls) - reported:,} of {len(calls):,} calls have no reported usage: their sizes are estimates"
    if not priced and reported:
        yield "no price is known for the model: costs are not shown"
