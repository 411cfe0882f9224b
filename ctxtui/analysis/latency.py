"""Duration of calls and time to their first token, by size of their context."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Final, NamedTuple

from ctxtui.core.call import Call

SIZE_STEPS: Final = (0, 10_000, 25_000, 50_000, 100_000, 200_000, 500_000)
"""Context sizes in tokens at which a new row begins."""


class Latency(NamedTuple):
    """Calls with times whose context has at least `low` and less than `high` tokens.

    `high` is None if there is no limit. `took` and `first_token` are median seconds (None: not recorded), `output` the
    median tokens of their answers.
    """

    low: int
    high: int | None
    calls: int
    took: float | None
    first_token: float | None
    output: float


def latencies(calls: Iterable[Call]) -> list[Latency]:
    """One row per context size that occurs, smallest first, of calls with times and report."""
    groups: dict[int, list[Call]] = {}
    for call in calls:
        if call.usage is not None and (_duration(call) is not None or _first_token(call) is not None):
            size = call.usage.input
            groups.setdefault(max(i for i, step in enumerate(SIZE_STEPS) if size >= step), []).append(call)
    return [_make_row(index, groups[index]) for index in sorted(groups)]


def _make_row(index: int, calls: list[Call]) -> Latency:
    took = [seconds for call in calls if (seconds := _duration(call)) is not None]
    first = [seconds for call in calls if (seconds := _first_token(call)) is not None]
    output = [call.output for call in calls if call.usage is not None]
    return Latency(
        SIZE_STEPS[index],
        SIZE_STEPS[index + 1] if index + 1 < len(SIZE_STEPS) else None,
        len(calls),
        median(took) if took else None,
        median(first) if first else None,
        median(output),
    )


def _duration(call: Call) -> float | None:
    return _positive_difference(call.started, call.ended)


def _first_token(call: Call) -> float | None:
    return _positive_difference(call.started, call.first_byte)


def _positive_difference(start: float | None, end: float | None) -> float | None:
    return end - start if start is not None and end is not None and end > start else None
