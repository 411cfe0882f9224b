"""A ratio over sessions and how certain it is."""

from __future__ import annotations

import random

import pytest

from ctxtui.analysis.money.usage_stats import estimate_change, estimate_ratio


def test_the_ratio_is_that_of_the_sums() -> None:
    found = estimate_ratio([(1.0, 2.0), (3.0, 4.0), (5.0, 4.0)])
    assert found is not None and found.value == pytest.approx(0.9)
    assert found.low is not None and found.high is not None and found.low < 0.9 < found.high


def test_of_too_few_sessions_nothing_is_said_of_how_certain_it_is() -> None:
    found = estimate_ratio([(1.0, 2.0), (3.0, 4.0)])
    assert found is not None and found.low is None
    assert estimate_ratio([(1.0, 2.0), (3.0, 4.0), (0.0, 0.0)]) == found, "a session without calls is none"
    assert estimate_ratio([(1.0, 0.0)]) is None and estimate_ratio([]) is None


def test_sessions_that_are_alike_leave_no_doubt() -> None:
    found = estimate_ratio([(1.0, 2.0)] * 10)
    assert found is not None and found.error == pytest.approx(0.0)


def test_means_have_the_error_that_everyone_knows() -> None:
    values = [3.0, 5.0, 4.0, 8.0, 1.0]
    found = estimate_ratio([(value, 1.0) for value in values])
    mean = sum(values) / 5
    error = (sum((value - mean) ** 2 for value in values) / 4 / 5) ** 0.5
    assert found is not None and found.error == pytest.approx(error)


def test_95_of_100_intervals_hold_the_truth() -> None:
    chance = random.Random(7)
    held = 0
    for _ in range(400):
        drawn = [(chance.gauss(0.6, 0.2) * size, size) for size in (chance.uniform(1, 3) for _ in range(30))]
        found = estimate_ratio(drawn)
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= 0.6 <= found.high
    assert 0.90 <= held / 400 <= 0.98


def test_a_difference_is_as_uncertain_as_both_sides() -> None:
    before, after = (
        estimate_ratio([(value, 1.0) for value in values]) for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    )
    assert before is not None and after is not None
    found = estimate_change(before, after)
    assert found.value == pytest.approx(3.0) and found.error == pytest.approx((2 * 1 / 3) ** 0.5)
    alone = estimate_ratio([(1.0, 1.0)])
    assert alone is not None and estimate_change(before, alone).low is None
