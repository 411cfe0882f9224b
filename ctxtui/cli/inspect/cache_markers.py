"""The part of `ctxtui cache` about markers: what other ones would have cost, and what each was worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

from ctxtui.analysis.cache.marker_trials import Placing
from ctxtui.cache.marker_placement import DEFAULT
from ctxtui.cache.marker_value import Worth
from ctxtui.cli.output import members
from ctxtui.views.text import cells, numbers, safe_text

_NAME = 18
_THREAD = 40
"""Cells of a thread's name."""
_MOST = 5
"""Markers listed one by one."""


def markers_fields(found: Sequence[Placing]) -> list[dict[str, Any]]:
    """``markers`` of ``cache --json``: one object per thread."""
    return [
        {
            "thread": one.thread,
            "calls": len(one.calls),
            "unit": "fresh tokens" if one.relative else "USD",
            **members(one, "paid own inferred"),
            "least": members(one, "cost=plan.cost exact=plan.exact bound=plan.bound"),
            "strategies": [members(t, "name cost read_share=read") for t in one.tried],
            "markers": [
                {
                    "call": mark.call + 1,
                    **members(mark, "lifetime_seconds=life written_tokens=written reads gain paid"),
                }
                for mark in one.markers
            ],
        }
        for one in found
    ]


def markers_text(found: Sequence[Placing], labels: Mapping[str, str]) -> Iterator[str]:
    """The first thread's table and the markers that did not pay; the other threads with a line each."""
    if not found:
        yield "Other markers cannot be tried: no thread with several timed calls to a provider that takes markers."
    first, rest = found[:1], found[1:]
    for one in first:
        yield from _table(one, several=bool(rest))
    if rest:
        yield from _folded(rest, labels)


def _folded(found: Sequence[Placing], labels: Mapping[str, str]) -> Iterator[str]:
    """A line for each thread: their tables are nearly equal, and --json has them whole."""
    own, least = sum(one.own for one in found), sum(one.plan.cost for one in found)
    unit = found[0]
    many = f"{len(found):,} further thread{'' if len(found) == 1 else 's'}"
    sums = f": {_cost(unit, own)} as recorded, {_cost(unit, least)} at the least" if _same_unit(found) else ""
    yield f"{many}{sums}"
    yield f"  {'thread':{_THREAD}} {'calls':>6} {'recorded':>10} {'least':>10}  cheapest strategy"
    for one in sorted(found, key=lambda one: one.plan.cost - one.own):
        name = cells.left(safe_text.one_line(labels.get(one.thread) or one.thread), _THREAD)
        best = f"{one.tried[0].name} {_cost(one, one.tried[0].cost)}" if one.tried else ""
        costs = f"{_cost(one, one.own):>10} {_cost(one, one.plan.cost):>10}"
        yield f"  {name} {len(one.calls):>6} {costs}  {best}".rstrip()
    if any(one.own < one.plan.cost for one in found):
        yield "  less recorded than at the least: what other threads had written was read"


def _same_unit(found: Sequence[Placing]) -> bool:
    return len({one.relative for one in found}) == 1


def _table(one: Placing, several: bool) -> Iterator[str]:
    where = f"thread {one.thread}, " if several else ""
    yield f"input of {where}{len(one.calls)} calls under other markers"
    least = one.plan.cost
    kind = "least, pauses known" if one.plan.exact else "least found"
    yield _line(kind, one, least, least, "" if one.plan.exact else f"not below {_cost(one, one.plan.bound)}")
    for tried in one.tried:
        name = f"{tried.name} *" if tried.name == DEFAULT.name else tried.name
        yield _line(name, one, tried.cost, least, f"{100 * tried.read:.0f} % read; {tried.told}")
    paid = isclose(one.own, one.paid)
    how = "what was paid; the others with what they change" if paid else f"simulated; {_cost(one, one.paid)} was paid"
    yield _line("as recorded", one, one.own, least, how)
    yield f"  * {DEFAULT.name}: {DEFAULT.told}"
    if not one.static:
        yield "  system prompt and tools are not recorded: markers behind them cannot be tried"
    yield from _worth(one)


def _line(name: str, one: Placing, cost: float, least: float, note: str) -> str:
    return f"  {name:{_NAME + 2}} {_cost(one, cost):>10} {cost / least if least else 1.0:7.3f}x  {note}".rstrip()


def _cost(one: Placing, cost: float) -> str:
    return f"{numbers.tokens(round(cost))} tok" if one.relative else numbers.money(cost)


def _worth(one: Placing) -> Iterator[str]:
    marks = one.markers
    idle = sorted((mark for mark in marks if not mark.paid), key=lambda mark: mark.gain)
    how = " (inferred)" if one.inferred else ""
    yield f"  {len(marks)} entries written by its own markers{how}: {len(marks) - len(idle)} paid, {len(idle)} did not"
    yield from (_idle(one, mark) for mark in idle[:_MOST])


def _idle(one: Placing, mark: Worth) -> str:
    read = f"read {mark.reads} times" if mark.reads else "never read"
    return f"    call {mark.call + 1}: {numbers.tokens(mark.written)} written, {read}, {_cost(one, -mark.gain)} lost"
