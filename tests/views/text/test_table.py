"""Tables: heads over their figures, what a narrow line leaves out, orders."""

from __future__ import annotations

import pytest

from ctxtui.views.lists import misses
from ctxtui.views.text.span import Span, plain, width
from ctxtui.views.text.table import Column, Table
from tests.tui.lists.test_misses import FOUND

Row = tuple[str, int]
TABLE: Table[Row] = Table(
    (
        Column("name", 0, lambda row, _: [Span(row[0])], "left"),
        Column("size", 6, lambda row, _: Span(str(row[1])), wider=((60, 9),), sort=lambda row: row[1]),
        Column("twice", 8, lambda row, _: Span(str(2 * row[1])), gap=1, from_width=40),
        Column("small", 5, lambda row, _: Span("s"), below=40),
    )
)


@pytest.mark.parametrize("room", [20, 39, 40, 59, 60, 100])
def test_a_row_fills_its_line_and_heads_end_where_their_figures_end(room: int) -> None:
    line, heads = TABLE.draw(("a long name indeed", 12345), room), TABLE.heads(room)
    assert width(line) == room and width(heads) == room - 1
    for name, figure in (("size", "12345"), ("twice", "24690")):
        if name in plain(heads):
            assert plain(heads).index(name) + len(name) == plain(line).index(figure) + len(figure)
    assert ("twice" in plain(heads)) == (room >= 40) and ("small" in plain(heads)) == (room < 40)


def test_what_is_too_long_is_cut_and_the_cursor_has_its_mark() -> None:
    line = plain(TABLE.draw(("登录测试不稳定" * 9, 1), 30, here=True))
    assert line.startswith("▸登") and "…" in line


def test_rows_are_ordered_by_a_column_and_its_head_says_so() -> None:
    rows = [("a", 1), ("b", 3), ("c", 3), ("d", 2)]
    assert [name for name, _ in TABLE.sort_rows(rows, "size")] == ["b", "c", "d", "a"]
    assert TABLE.sortable_names == ["size"]
    heads = TABLE.heads(50, "size")
    assert "size ↓" in plain(heads) and next(s.style for s in heads if "size" in s.text) == "ink"


def test_the_head_at_a_cell_is_found() -> None:
    assert TABLE.head_at(20, 3) == "name" and TABLE.head_at(50, 34) == "size"
    assert not TABLE.head_at(50, 0) and not TABLE.head_at(50, 49)


def test_words_may_stand_in_place_of_figures() -> None:
    table = Table(TABLE.columns, instead=lambda row: [Span("none")] if not row[1] else ())
    assert "none" in plain(table.draw(("a", 0), 40)) and "none" not in plain(table.draw(("a", 1), 40))


@pytest.mark.parametrize("room", [60, 80, 99, 100, 120, 200])
def test_the_heads_of_the_misses_stand_over_their_figures(room: int) -> None:
    table = misses.table(FOUND.misses)
    line, heads = plain(table.draw(FOUND.misses[0], room)), plain(table.heads(room))
    for head, figure in (("again", "87.5k"), ("lost", "$1.86")):
        assert heads.index(head) + len(head) == line.index(figure) + len(figure)
    assert room < misses.NARROW or heads.index("foreseen") == line.index("✓")
