"""The range of what comes next."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.growth.units_ahead import COST, GROWTH_OF_ROUNDS, GROWTH_OF_TURNS, Range, Typical, units_ahead

ALL = (GROWTH_OF_ROUNDS, GROWTH_OF_TURNS, COST)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(1, 200), st.sampled_from(ALL))
def test_a_range_is_in_order_and_never_a_point(values: list[float], n: int, typical: Typical) -> None:
    found = units_ahead(values, n, typical)
    assert found.low <= found.mid <= found.high and found.low < found.high


@pytest.mark.parametrize("n", [1, 5, 20])
def test_it_holds_most_of_a_steady_stream(n: int) -> None:
    inside = 0
    for seed in range(200):
        rng = Random(seed)
        values = [rng.lognormvariate(8, 0.8) for _ in range(24 + n)]
        found = units_ahead(values[:24], n, GROWTH_OF_TURNS)
        inside += found.low <= sum(values[24:]) <= found.high
    assert inside >= 125, "a single unit of a stream that never changes; more of them are held more often"


def test_more_of_the_same_narrows_it() -> None:
    few, many = (units_ahead([1000.0] * k, 5, GROWTH_OF_TURNS) for k in (2, 80))
    assert many.high - many.low < (few.high - few.low) / 2
    assert many.low < 5000 < many.high


def test_a_first_unit_alone_is_mistrusted() -> None:
    found = units_ahead([60_000.0], 1, GROWTH_OF_TURNS)
    assert found.mid < 30_000 < found.high, "others bring a few thousand"


def test_it_keeps_its_order_through_what_is_made_of_it() -> None:
    assert Range(1, 2, 3).map(lambda value: 10 * value) == Range(10, 20, 30)
