from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.views.inspector import growth_chart, strip_columns
from ctxtui.views.inspector.growth_chart import GrowthChart
from ctxtui.views.inspector.strip_columns import StripColumn
from ctxtui.views.text.span import Span, plain, width

part = st.floats(0, 200_000)
columns = st.lists(st.builds(StripColumn, part, part, part), max_size=30)


def test_a_column_stands_read_write_fresh_from_the_bottom() -> None:
    got = strip_columns.rows([StripColumn(8, 8, 8)], 3, 24)
    assert got == [[Span("█", "fresh")], [Span("█", "write")], [Span("█", "read")]]


def test_two_parts_share_a_cell_as_colour_and_ground() -> None:
    assert strip_columns.rows([StripColumn(3, 5)], 1, 8) == [[Span("▃", "read on-write")]]
    assert strip_columns.rows([StripColumn(3)], 1, 8) == [[Span("▃", "read")]]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        (StripColumn(1, 4), Span("▅", "write")),  # read is the smallest, and the air above stays
        (StripColumn(4, 1), Span("▅", "read")),  # write is
        (StripColumn(3, 4, 0), Span("▃", "read on-write")),  # the air is
        (StripColumn(3, 1, 4), Span("▄", "read on-fresh")),
        (StripColumn(2, 2, 2), Span("▄", "write on-fresh")),
    ],
)
def test_of_three_parts_in_a_cell_the_smallest_goes(column: StripColumn, cell: Span) -> None:
    drawn = strip_columns.rows([column], 1, 8)
    if cell.text == "▄" and column.read == 2:  # four meet: two go, the height of the rest is kept
        assert drawn[0][0].style.split()[0] in {"read", "write", "fresh"}
    else:
        assert drawn == [[cell]]


@given(columns, st.integers(1, 8), st.integers(1, 2), st.booleans())
def test_strip_is_a_rectangle_whose_height_is_the_total(
    given_: list[StripColumn], height: int, per: int, colour: bool
) -> None:
    top = max([c.total for c in given_], default=1.0) or 1.0
    got = strip_columns.rows(given_, height, top, per=per, colour=colour)
    assert [width(row) for row in got] == [len(given_) * per] * height
    for number, column in enumerate(given_):
        filled = [plain(row)[number * per] != " " for row in reversed(got)]
        assert filled == sorted(filled, reverse=True)
        assert any(filled) == (column.total > 0)


def test_a_small_call_is_never_invisible() -> None:
    assert plain(strip_columns.rows([StripColumn(1)], 1, 200_000)[0]) == "▁"


def test_the_read_tokens_of_the_call_shown_are_accent() -> None:
    assert strip_columns.rows([StripColumn(8, 8, is_shown=True)], 2, 16) == [
        [Span("█", "write")],
        [Span("█", "accent")],
    ]


def test_without_colour_the_largest_part_names_the_cell() -> None:
    assert strip_columns.rows([StripColumn(1, 7)], 1, 8, colour=False) == [[Span("█", "write")]]


@pytest.mark.parametrize(
    ("count", "cursor", "room", "expected"),
    [
        (139, 138, 112, (27, 138, 1)),
        (139, 50, 112, (0, 111, 1)),
        (139, 120, 112, (9, 120, 1)),
        (50, 10, 112, (0, 49, 2)),
        (100, 99, 112, (0, 99, 1)),
        (0, 0, 112, (0, -1, 1)),
    ],
)
def test_window_ends_at_the_cursor(count: int, cursor: int, room: int, expected: tuple[int, int, int]) -> None:
    assert strip_columns.window(count, cursor, room) == expected


@given(st.integers(1, 500), st.integers(0, 499), st.integers(1, 200))
def test_window_holds_the_cursor_and_fits(count: int, cursor: int, room: int) -> None:
    cursor = min(cursor, count - 1)
    got = strip_columns.window(count, cursor, room)
    assert got.first <= cursor <= got.last < count
    assert (got.last - got.first + 1) * got.per <= room


def test_buckets_show_their_dearest_call_and_all_marks() -> None:
    calls = [
        StripColumn(1000),
        StripColumn(0, 100, marks=("miss",)),
        StripColumn(5, marks=("turn",)),
        StripColumn(0, 0, 1),
    ]
    got = strip_columns.bucket_columns(calls, 2)
    assert [c.total for c in got] == [100, 1]
    assert got[0].marks == ("miss",)
    assert strip_columns.bucket_columns(calls, 9) == calls


def test_marks_by_rank() -> None:
    calls = [
        StripColumn(1),
        StripColumn(1, marks=("turn", "miss")),
        StripColumn(1, marks=("compaction",)),
        StripColumn(1, marks=("turn",)),
    ]
    assert plain(strip_columns.marks(calls, here=3)) == " ▼Σ▲"
    assert plain(strip_columns.marks(calls, per=2)) == "  ▼ Σ ╵ "
    assert strip_columns.marks([StripColumn(1, marks=("ttl miss",))])[0].style == "warn"


def test_a_compaction_is_never_hidden() -> None:
    columns = [StripColumn(1, marks=("miss", "compaction", "turn")), StripColumn(1, marks=("error", "compaction"))]
    assert plain(strip_columns.marks(columns)) == "ΣΣ"
    assert plain(strip_columns.marks(columns, here=0)) == "ΣΣ"
    assert strip_columns.marks(columns, here=0)[0] == Span("Σ", "accent")
    assert plain(strip_columns.marks(columns, here=1, per=2)) == "Σ▼Σ▲"


def test_the_free_area_shows_the_limit_from_six_lines_on() -> None:
    assert all(plain(row).strip() == "" for row in strip_columns.limit_rows(6, 4, 160, 150))
    got = strip_columns.limit_rows(6, 8, 160, 150)
    assert [plain(row) for row in got] == ["┄" * 6, *[" " * 6] * 7]
    assert all(plain(row).strip() == "" for row in strip_columns.limit_rows(6, 8, 160, 0)), "no limit is known"


def test_axis() -> None:
    assert [plain(row) for row in strip_columns.axis(4, 160_000, 5)] == [" 160k ", "      ", "      ", "    0 "]
    assert plain(strip_columns.axis(8, 160_000, 5)[4]) == "  80k "
    assert plain(strip_columns.axis(1, 160_000, 5)[0]) == " 160k "


def test_the_growth_chart_marks_compactions_where_nothing_is_drawn() -> None:
    chart = GrowthChart((1, 50, 99, 100, 5, 20, 30), 90, compactions=(4 / 6,))
    with_mark, without = growth_chart.lines(chart, 40, 6), growth_chart.lines(replace(chart, compactions=()), 40, 6)
    assert [width(line) for line in with_mark] == [width(line) for line in without]
    assert sum(plain(line).count("Σ") for line in with_mark) == 1
    # Only a blank or the line of the limit gives way to it.
    gone = [b for a, b in zip("".join(map(plain, with_mark)), "".join(map(plain, without)), strict=True) if a != b]
    assert len(gone) == 1 and gone[0] in " ┄"


@pytest.mark.parametrize("height", [0, 1, 2, 3])
def test_a_low_growth_chart_draws_its_curve(height: int) -> None:
    chart = GrowthChart((1, 50, 99, 100, 5, 20, 30), 90, compactions=(4 / 6,))
    lines = [plain(line) for line in growth_chart.lines(chart, 40, height)]
    assert len(lines) == height and not any("Only one call" in line for line in lines)
    single = growth_chart.lines(replace(chart, tokens=(1,)), 40, height)
    assert [plain(line) for line in single] == [" A curve needs two calls."][:height]


def test_a_ghost_takes_no_height_with_or_without_colour() -> None:
    column = StripColumn(read=600, write=100, fresh=100)
    ghost = [row[0] for row in strip_columns.rows([replace(column, ghost=400)], 4, 800)]
    assert all(span.text == "█" or " on-" in span.style for span in ghost), "as high as before"
    assert [strip_columns.GHOST in span.style for span in ghost] == [True, True, False, False]
    mono = strip_columns.rows([replace(column, ghost=400)], 4, 800, colour=False)
    assert [row[0].text for row in mono] == ["░", "░", "█", "█"]
    ghost = [row[0] for row in strip_columns.rows([replace(column, ghost=650)], 8, 800)]
    assert [strip_columns.GHOST in span.style for span in ghost] == [True] * 7 + [False], (
        "of the read and half the write"
    )
    assert "write" in ghost[-1].style
    more = strip_columns.rows([StripColumn(read=200, ghost=500)], 4, 800)
    assert [row[0].text for row in more] == [" ", " ", " ", "█"], "no higher than the column"
    assert strip_columns.rows([StripColumn(read=0)], 2, 0) == [[Span(" ")]] * 2, "a call without tokens alone"


def test_the_growth_per_call_counts_every_call_of_a_long_thread() -> None:
    chart = GrowthChart(tuple(map(float, range(100, 120_100, 100))), 0)
    assert chart.per_call == 100 and "+100 per call" in plain(growth_chart.notes(chart))
    assert len(growth_chart.lines(chart, 60, 6)) == 6
