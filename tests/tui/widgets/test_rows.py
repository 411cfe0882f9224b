from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.tui.widgets.rows import Heights

others = st.dictionaries(st.integers(0, 40), st.integers(0, 6), max_size=12)


@given(st.integers(0, 40), others, st.lists(st.tuples(st.integers(0, 39), st.integers(0, 5)), max_size=8))
def test_rows_and_lines_as_in_a_plain_list(count: int, other: dict[int, int], changes: list[tuple[int, int]]) -> None:
    heights = Heights(count, other)
    plain = [other.get(row, 1) for row in range(count)]
    for row, height in changes:
        if row < count:
            heights.set(row, height)
            plain[row] = height
    lines = [(row, inside) for row in range(count) for inside in range(plain[row])]
    assert heights.total == len(lines)
    assert [heights.row_at(line) for line in range(len(lines))] == lines
    assert [heights.height(row) for row in range(count)] == plain
    for row in range(count):
        assert heights.line_of(row) == sum(plain[:row])


def test_behind_the_end_is_the_last_row() -> None:
    assert Heights(3).row_at(99) == (2, 0)
    assert Heights(0).row_at(0) == (0, 0)


def test_many_rows_cost_nothing() -> None:
    started = time.perf_counter()
    heights = Heights(10_000_000, {5_000_000: 30})
    for _ in range(1000):
        heights.set(7_000_000, 9)
        assert heights.row_at(heights.line_of(9_999_999)) == (9_999_999, 0)
    assert time.perf_counter() - started < 1
