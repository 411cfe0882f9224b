"""Labels below a chart are the numbers of the calls in their columns, and apart from each other."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from ctxtui.views.html import charts


def labels_of(svg: str) -> list[tuple[float, int]]:
    """(x, number) of the labels below the chart."""
    found = re.findall(r'<text class="axis" text-anchor="middle" x="([\d.]+)" [^>]*>([\d,]+)</text>', svg)
    return [(float(x), int(number.replace(",", ""))) for x, number in found]


def curve(count: int) -> charts.Curve:
    return charts.Curve("context", "r", "line0", [float(n) for n in range(count)])


@pytest.mark.parametrize("calls", [[3, 4, 8, 9, 15], list(range(101, 161)), list(range(1, 2_000, 2)), [49, 50, 51]])
def test_columns_have_the_numbers_of_their_calls(calls: list[int]) -> None:
    labels = labels_of(charts.curves("contexts", [curve(len(calls))], calls=calls))
    wide = (charts.WIDTH - 62) / len(calls)
    assert labels and all(x == pytest.approx(52 + (calls.index(number) + 0.5) * wide, abs=0.1) for x, number in labels)
    assert len(calls) < 20 or len(labels) >= 4


def test_labels_of_calls_that_are_far_from_each_other_do_not_touch() -> None:
    calls = [*range(1, 51), *range(1_000, 20_000, 1_000)]
    labels = labels_of(charts.curves("contexts", [curve(len(calls))], calls=calls))
    assert len(labels) >= 4 and all(right - left >= 40 for (left, _), (right, _) in pairwise(labels))


@pytest.mark.parametrize("count", [1, 7, 60, 420, 421, 840, 5_000])
def test_labels_begin_at_1_and_are_apart(count: int) -> None:
    part = charts.StackPart("read", "f-read", [1.0] * count)
    for svg in (charts.stacked("input", [part]), charts.curves("contexts", [curve(count)])):
        labels = labels_of(svg)
        assert labels[0][1] == 1 and len(labels) >= min(count, 4) and len(labels) <= 14
        assert all(right - left >= 40 for (left, _), (right, _) in pairwise(labels))
