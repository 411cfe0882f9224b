"""The stacked chart: heights are the tokens, the limit and cuts are marked, and it can be read without colour."""

from __future__ import annotations

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.views.inspector import stacked_chart
from ctxtui.views.inspector.stacked_chart import StackedChart
from ctxtui.views.text.span import plain, width

PARTS = [{"system": 1_000, "user": 100 * n} for n in range(1, 31)]


def test_every_line_fits_and_the_top_is_reached_by_the_largest() -> None:
    chart = StackedChart(PARTS, ContextWindow(5_000, 3_750, "model"), 29, (10,))
    for room, height in ((78, 8), (120, 20), (30, 3), (40, 6)):
        for colour in (True, False):
            drawn = stacked_chart.lines(chart, room, height, colour=colour)
            assert len(drawn) == height and all(width(line) <= room for line in drawn)
    drawn = stacked_chart.lines(chart, 78, 10)
    body = [plain(line) for line in drawn]
    assert "┄" in body[0] + body[1] and "Σ" in body[-1] and "▲" in body[-1]
    assert body[-2].count("§") > 20, "the system prompt lies at the bottom, as its glyph"
    assert any("›" in line for line in body), "the user on top of it"


def test_more_calls_than_columns_show_the_largest_of_each_group() -> None:
    parts = [{"user": 1_000_000 if n == 500 else 10_000} for n in range(1_000)]
    drawn = stacked_chart.lines(StackedChart(parts), 60, 10)
    assert "›" in plain(drawn[0]), "the one peak is not lost"


def test_without_a_call_or_room_a_sentence_says_so() -> None:
    assert "No call yet" in plain(stacked_chart.lines(StackedChart(()), 60, 10)[0])
    assert "Too little room" in plain(stacked_chart.lines(StackedChart(PARTS), 60, 2)[0])


def test_calls_of_which_nothing_is_known_are_empty_columns() -> None:
    for colour in (True, False):
        drawn = stacked_chart.lines(StackedChart([{}, {"user": 0}]), 60, 10, colour=colour)
        assert len(drawn) == 10 and "█" not in "".join(map(plain, drawn))
