from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.text import braille
from ctxtui.views.text.span import plain, width


def test_a_rising_line() -> None:
    mask = braille.curve([(0, 0), (7, 7)], 4, 2, (0, 7), (0, 7))
    assert [plain(row) for row in braille.rows([(mask, "ink")])] == ["  ⡠⠊", "⡠⠊  "]


def test_a_fall_is_a_vertical_line() -> None:
    mask = braille.curve([(0, 7), (0, 0)], 1, 2, (0, 1), (0, 7))
    assert mask == [[0x47], [0x47]]


def test_nothing_is_drawn_over_an_earlier_layer() -> None:
    flat = braille.curve([(0, 0), (3, 0)], 2, 1, (0, 3), (0, 3))
    other = braille.curve([(0, 3), (1, 3)], 2, 1, (0, 3), (0, 3))
    assert [span.style for span in braille.rows([(flat, "accent"), (other, "dim")])[0]] == ["accent"]
    assert [span.style for span in braille.rows([(other, "dim"), (flat, "accent")])[0]] == ["dim", "accent"]


@given(
    st.lists(st.tuples(st.floats(-10, 200), st.floats(-10, 200)), max_size=20), st.integers(0, 20), st.integers(0, 5)
)
def test_every_curve_stays_inside(points: list[tuple[float, float]], width_: int, height: int) -> None:
    mask = braille.curve(points, width_, height, (0, 100), (0, 100))
    assert [width(row) for row in braille.rows([(mask, "ink")])] == [width_] * height
