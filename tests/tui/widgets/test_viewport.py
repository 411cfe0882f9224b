from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.tui.widgets.rows import Heights, Viewport

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
    started = time.process_time()
    heights = Heights(10_000_000, {5_000_000: 30})
    for _ in range(1000):
        heights.set(7_000_000, 9)
        assert heights.row_at(heights.line_of(9_999_999)) == (9_999_999, 0)
    assert time.process_time() - started < 1


def standing(heights: list[int], room: int, top: int) -> Viewport:
    """A view of `room` lines on rows of these heights, with line `top` at its top as far as that goes."""
    view = Viewport()
    view.heights, view.height = Heights(len(heights), dict(enumerate(heights))), room
    view.scroll_to(top)
    view.mark_fitted()
    return view


def lines_of(heights: list[int]) -> list[int]:
    """The row of each line."""
    return [row for row, height in enumerate(heights) for _ in range(height)]


rows = st.lists(st.integers(0, 6), min_size=1, max_size=12)
views = st.builds(standing, rows, st.integers(1, 9), st.integers(0, 60))


@given(rows, st.integers(0, 9), st.integers(-5, 60))
def test_what_is_in_view_as_in_a_plain_list(heights: list[int], room: int, top: int) -> None:
    view, lines = standing(heights, room, top), lines_of(heights)
    assert view.top == max(0, min(top, len(lines) - room))
    assert list(view.visible_rows) == sorted(set(lines[view.top : view.top + room]))
    assert view.at_end == (view.top + room >= len(lines))
    for row, height in enumerate(heights):
        assert view.line_in_view(row) == sum(heights[:row]) - view.top
        if 0 < height <= room:
            out = height - len([line for line in lines[view.top : view.top + room] if line == row])
            assert max(0, view.lines_out_of_view(row, 1), view.lines_out_of_view(row, -1)) == out or out == height


@given(rows, st.integers(1, 9), st.integers(0, 60), st.integers(0, 11), st.booleans())
def test_a_row_comes_into_view_with_the_least_movement(
    heights: list[int], room: int, top: int, row: int, downwards: bool
) -> None:
    row, view = min(row, len(heights) - 1), standing(heights, room, top)
    first, height = sum(heights[:row]), heights[row]
    found = view.top_showing(row, downwards=downwards)
    if height < room:
        nearest = min(range(max(0, first + height - room), first + 1), key=lambda at: abs(at - view.top))
        assert found == nearest
    elif first <= view.top and first + height >= view.top + room:
        assert found == view.top, "it fills the view"
    else:
        assert found == (first if downwards else first + height - room)


@given(views, rows)
def test_the_row_at_the_top_stays_there_when_heights_change(view: Viewport, after: list[int]) -> None:
    row, inside = view.heights.row_at(view.top)
    view.set_heights(Heights(len(after), dict(enumerate(after))))
    row = min(row, len(after) - 1)
    inside = min(inside, max(0, after[row] - 1))
    assert view.top == max(0, min(sum(after[:row]) + inside, sum(after) - view.height))


@given(views, st.lists(st.integers(1, 5), max_size=9), st.integers(1, 9))
def test_who_stands_at_the_end_goes_along_whatever_grows_or_shrinks(
    view: Viewport, growth: list[int], room: int
) -> None:
    view.scroll_to_end()
    last = view.heights.count - 1
    assert view.is_following(last) and not view.is_following(last - 1)
    for lines in growth:
        follows = view.is_following(last)
        view.heights.set(last, view.heights.height(last) + lines)
        assert follows
        view.scroll_to_end()
        assert view.at_end and view.top + view.height >= view.heights.total
    # Another height of the pane takes the end out of view until the place is found anew.
    view.height = room
    assert view.is_following(last)
    view.scroll_to_end()
    view.mark_fitted()
    assert view.is_following(last) and view.top == max(0, view.heights.total - room)


def test_who_went_up_is_left_alone() -> None:
    view = standing([1, 1, 20], 10, 99)
    assert view.scroll_to(11) and not view.at_end and not view.is_following(2)
    view.heights.set(2, 40)
    view.height = 30
    assert not view.is_following(2) and not standing([], 10, 0).is_following(0), "nothing is there yet"


def test_a_row_is_put_on_a_line_as_far_as_the_rows_reach() -> None:
    view = standing([1] * 30, 10, 0)
    view.place_row(15, 4)
    assert view.line_in_view(15) == 4
    view.place_row(1, 4)
    assert view.top == 0 and view.line_in_view(1) == 1
    view.place_row(29, 4)
    assert view.line_in_view(29) == 9
