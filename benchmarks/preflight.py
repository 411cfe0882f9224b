"""The back-test of what ``preflight`` foretells: growth and cost of the next turns or rounds, each source by others.

``python -m benchmarks preflight`` prints the targets, ``python -m benchmarks.preflight`` the table and what all sources
together teach (`ctxtui.analysis.growth.units_ahead`). The recordings are those of `CTXTUI_CORPUS`; one folder is one
source, and so is the same client in another one. Each thread is asked at a few places, about 1 to 20 units ahead;
stretches with a compaction tell nothing about growth without one and are left out of it.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.measure import Result
from ctxtui.analysis.growth.projection import TurnGrowth, group_turns, project_context, project_costs, thread_unit
from ctxtui.analysis.growth.units_ahead import COST, GROWTH_OF_ROUNDS, GROWTH_OF_TURNS, Range, Typical, forecast_sum
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.recordings.open import load

PLACES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
AHEAD: Final = (1, 3, 5, 10, 20)
GROWTH, MONEY = "growth", "cost"
ERRORS: Final = 19
"""How many errors stand for all."""


class Asked(NamedTuple):
    """One forecast: of which `source`, the `kind`, the units so far as `values`, what the next `n` of them brought, and
    the `range` that some typical figures give."""

    source: str
    kind: str
    unit: str
    values: tuple[float, ...]
    n: int
    came: float
    range: Callable[[Typical], Range | None]


class Held(NamedTuple):
    """A forecast held against what came: whether the range held it, its width and that of the quantiles of other
    sources, and of the session's own, all over what was expected."""

    asked: Asked
    inside: bool
    width: float
    others: float
    own: float
    own_inside: bool


def asked(corpus: Path) -> list[Asked]:
    """Every forecast of every thread of every recording; a copy, or one that was cut earlier, counts once."""
    table = prices_for(Settings())
    threads: dict[tuple[int, ...], list[Asked]] = {}
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        try:
            session = load(path).session
        except CtxtuiError:
            continue
        for thread in session.order:
            calls = [call for call in session.thread_calls(thread) if call.usage is not None and call.usage.input]
            told = tuple(call.usage.input for call in calls if call.usage is not None)
            if len(calls) > 2 and told not in threads:
                units = group_turns(session.tree, calls, _input, partial(_usd, calls[-1], table))
                threads[told] = list(_of_thread(source_of(path, corpus), thread_unit(session.tree, calls), units))
    whole = [told for told in threads if not any(len(told) < len(one) and one[: len(told)] == told for one in threads)]
    return [one for told in whole for one in threads[told]]


def source_of(path: Path, corpus: Path) -> str:
    """The client that wrote a recording: its folder, less a version."""
    parts = path.relative_to(corpus).parts
    name = re.sub(r"-\d.*", "", parts[1] if parts[0] == "clients" and len(parts) > 1 else parts[0])
    return name.replace("-", "_")


def _input(call: Call) -> int:
    return call.usage.input if call.usage else 0


def _usd(call: Call, table: PriceTable, usage: Usage) -> float | None:
    cost = price(usage, call.model, call.provider, call.started, table)
    return None if cost is None else cost.usd


def _of_thread(source: str, unit: str, units: Sequence[TurnGrowth]) -> Iterator[Asked]:
    for place in PLACES:
        for n in AHEAD:
            here, ahead = units[: place + 1], units[place + 1 : place + 1 + n]
            if len(ahead) < n:
                continue
            steps = tuple(one.growth for one in here if one.growth is not None)
            came = [one.growth for one in ahead if one.growth is not None]
            context = here[-1].size
            if steps and len(came) == n:
                told = partial(_growth, context, steps, n, unit)
                yield Asked(source, GROWTH, unit, steps, n, sum(came), told)
            paid = [sum(one.usd) for one in ahead if one.usd is not None]
            if len(paid) == n and steps and all(one.usd is not None and one.size for one in here):
                each = tuple(one.usd[0] / one.size * context + one.usd[1] for one in here if one.usd is not None)
                if any(each):
                    yield Asked(source, MONEY, unit, each, n, sum(paid), partial(_money, here, context, steps, n, unit))


def _growth(context: int, steps: Sequence[float], n: int, unit: str, typical: Typical) -> Range:
    return project_context(context, steps, n, unit, typical).map(lambda tokens: tokens - context)


def _money(
    here: Sequence[TurnGrowth], context: int, steps: Sequence[float], n: int, unit: str, typical: Typical
) -> Range | None:
    more = project_context(context, steps, n, unit)
    return project_costs(here, context, (more.mid - context) / n, n, 0, typical)


def taught(some: Sequence[Asked], kind: str, unit: str) -> Typical:
    """What forecasts teach about units of one kind: a source with four times the forecasts counts for twice as much."""
    mine = [one for one in some if one.kind == kind]
    size = 0.0
    if kind == GROWTH:
        means = [sum(one.values) / len(one.values) for one in mine if one.unit == unit and sum(one.values) > 0]
        size = median(means) if means else 500.0
    counts = Counter(one.source for one in mine)
    errors = []
    for one in mine:
        own = taught_size(one, size, unit, mine)
        expected, deviation = forecast_sum(one.values, one.n, own)
        errors.append(((one.came - expected) / deviation, counts[one.source] ** -0.5))
    errors.sort()
    return Typical(size, tuple(_at(errors, n / (ERRORS + 1)) for n in range(1, ERRORS + 1)))


def taught_size(one: Asked, size: float, unit: str, some: Sequence[Asked]) -> float:
    """How much a unit brings, for a forecast that may be of the other unit."""
    if one.kind != GROWTH or one.unit == unit:
        return size
    means = [sum(each.values) / len(each.values) for each in some if each.unit == one.unit and sum(each.values) > 0]
    return median(means) if means else size


def _at(weighed: Sequence[tuple[float, float]], share: float) -> float:
    sums, total = [], 0.0
    for _, weight in weighed:
        total += weight
        sums.append(total)
    return weighed[min(len(weighed) - 1, bisect_left(sums, share * total))][0] if weighed else 0.0


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """From the 10th to the 90th percentile; of fewer than five all of them."""
    order = sorted(values)
    cut = 0.1 if len(order) >= 5 else 0.0
    return order[round(cut * (len(order) - 1))], order[round((1 - cut) * (len(order) - 1))]


def held(some: Sequence[Asked]) -> list[Held]:
    """Each forecast by what the other sources teach, beside two naive ones."""
    found: list[Held] = []
    for source in sorted({one.source for one in some}):
        others = [one for one in some if one.source != source]
        typical: dict[tuple[str, str], Typical] = {}
        ratios: dict[str, list[tuple[float, float]]] = {}
        for kind in (GROWTH, MONEY):
            counts = Counter(one.source for one in others if one.kind == kind)
            mean = [(one, one.n * sum(one.values) / len(one.values)) for one in others if one.kind == kind]
            ratios[kind] = sorted((one.came / usual, counts[one.source] ** -0.5) for one, usual in mean if usual > 0)
        for one in (one for one in some if one.source == source):
            key = one.kind, one.unit
            if key not in typical:
                typical[key] = taught(others, *key)
            told = one.range(typical[key])
            if told is None:
                continue
            usual = one.n * sum(one.values) / len(one.values)
            size = max(abs(usual), 1e-9)
            wide = (_at(ratios[one.kind], 0.9) - _at(ratios[one.kind], 0.1)) * abs(usual)
            low, high = (one.n * edge for edge in quantiles(one.values))
            inside = told.low <= one.came <= told.high
            found.append(
                Held(one, inside, (told.high - told.low) / size, wide / size, (high - low) / size,
                     low <= one.came <= high)
            )  # fmt: skip
    return found


def results(folder: Path, runs: int) -> list[Result]:
    """The targets; none without a corpus. `folder` and `runs` are not used: nothing varies."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    every = held(asked(Path(corpus))) if corpus else []
    found = []
    for kind in (GROWTH, MONEY):
        mine = [one for one in every if one.asked.kind == kind]
        if mine:
            inside, note = 100 * sum(one.inside for one in mine) / len(mine), f"{len(mine)} forecasts"
            found.append(
                Result(
                    "preflight",
                    f"{kind}: inside the 80 % range, away from 80 %",
                    "what came",
                    abs(inside - 80),
                    10.0,
                    "%",
                    note,
                )
            )
            wide, naive = median(one.width for one in mine), median(one.others for one in mine)
            found.append(
                Result("preflight", f"{kind}: median width of the range", "the naive quantile's", wide / naive, 1.0)
            )
    return found


def _lines(every: Sequence[Held]) -> Iterator[tuple[str, list[Held]]]:
    """The lines of the table: each kind, each source, each reach."""
    for kind in (GROWTH, MONEY):
        mine = [one for one in every if one.asked.kind == kind]
        if not mine:
            continue
        yield kind, mine
        for source in sorted({one.asked.source for one in mine}):
            yield f"{kind}, {source}", [one for one in mine if one.asked.source == source]
        for n in AHEAD:
            if near := [one for one in mine if one.asked.n == n]:
                yield f"{kind}, {n} ahead", near


def main() -> int:
    """Print the whole table and what all sources teach."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    if not corpus:
        print("CTXTUI_CORPUS names no folder of recordings")
        return 2
    some = asked(Path(corpus))
    every = held(some)
    print(f"{'':30} {'asked':>6} {'inside':>7} {'width':>7} {'naive':>7} {'own q.':>7} {'inside':>7}")
    for name, group in _lines(every):
        share, own = (
            100 * sum(getattr(one, which) for one in group) / len(group) for which in ("inside", "own_inside")
        )
        wide, naive, by_own = (median(getattr(one, which) for one in group) for which in ("width", "others", "own"))
        print(f"{name:30} {len(group):6} {share:6.0f}% {wide:7.2f} {naive:7.2f} {by_own:7.2f} {own:6.0f}%")
    for name, one in (
        ("GROWTH_OF_ROUNDS", taught(some, GROWTH, "round")),
        ("GROWTH_OF_TURNS", taught(some, GROWTH, "turn")),
        ("COST", taught(some, MONEY, "turn")),
    ):
        print(f"{name}: {one.unit:.0f}", tuple(round(error, 2) for error in one.errors))
    for name, shipped in (("rounds", GROWTH_OF_ROUNDS), ("turns", GROWTH_OF_TURNS), ("cost", COST)):
        print(f"shipped for {name}: {shipped.unit:.0f}", shipped.errors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
