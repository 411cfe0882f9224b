"""The shape of growth: lines, bends and steps are called what they are."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.analysis.growth import growth as shapes
from ctxtui.analysis.growth.growth import fit_shape


def test_a_line_is_linear_and_what_is_sent_nearly_quadratic() -> None:
    found = fit_shape([1_000 + 424 * n for n in range(100)])
    assert found is not None and found.kind == shapes.LINEAR and found.r2 == pytest.approx(1.0)
    assert found.per_call == pytest.approx(424) == pytest.approx(found.begins) == pytest.approx(found.ends)
    once = sum(1_000 + 424 * n for n in range(100))
    assert found.doubled == pytest.approx(sum(1_000 + 424 * n for n in range(200)) / once)
    assert found.sent == shapes.FASTER


def test_a_line_on_a_large_base_sends_nearly_in_proportion() -> None:
    found = fit_shape([100_000 + 100 * n for n in range(60)])
    assert found is not None and found.kind == shapes.LINEAR and found.sent == shapes.LINEAR and found.doubled < 2.1


def test_a_square_is_quadratic_and_a_root_slows_down() -> None:
    square = fit_shape([500 + 30 * n * n for n in range(40)])
    root = fit_shape([round(9_000 * n**0.5) for n in range(60)])
    assert square is not None and square.kind == shapes.FASTER and square.ends > 2 * max(square.begins, 0)
    assert square.r2_bent == pytest.approx(1.0, abs=1e-6) and square.r2 < square.r2_bent
    assert root is not None and root.kind == shapes.SLOWING and root.begins > 2 * root.ends


def test_flat_shrinking_and_uneven() -> None:
    flat, shrinking = fit_shape([50_000 + n % 3 for n in range(30)]), fit_shape([50_000 - 900 * n for n in range(30)])
    uneven = fit_shape([90_000 if n % 2 else 1_000 + 900 * n for n in range(30)])
    assert (flat and flat.kind, shrinking and shrinking.kind) == (shapes.FLAT, shapes.SHRINKING)
    assert uneven is not None and uneven.kind == shapes.UNEVEN and uneven.r2 < 0.5


def test_too_few_calls_have_no_shape() -> None:
    assert fit_shape([1, 2, 3]) is None and fit_shape([1, 2, 3, 4]) is not None


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=60), st.integers(1, 50))
@example([1, 1, 1, 1, 0], 3)
def test_shares_lie_between_nothing_and_all_and_the_unit_does_not_matter(sizes: list[int], times: int) -> None:
    one, other = fit_shape(sizes), fit_shape([times * size for size in sizes])
    assert one is not None and other is not None
    assert -1e-9 <= one.r2 <= one.r2_bent <= 1 + 1e-9
    assert other.kind == one.kind and other.per_call == pytest.approx(times * one.per_call, abs=1e-6)
    assert one.doubled >= 1
