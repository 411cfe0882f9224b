from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.category import INDEX
from ctxtui.views.inspector.map import raster
from ctxtui.views.text import scale
from ctxtui.views.text.signs import NOT_RECORDED
from ctxtui.views.text.span import Span, plain, width

Blocks = Sequence[tuple[int, int]]


def _pixels(blocks: Blocks, count: int, scale: float) -> list[int | None]:
    """The category at the middle of each of `count` equal pixels over `scale` tokens; None after the last block."""
    ends = list(accumulate(tokens for _, tokens in blocks))
    positions = (bisect_right(ends, (pixel + 0.5) * scale / count) for pixel in range(count))
    return [blocks[at][0] if at < len(blocks) else None for at in positions]


def _rows(
    blocks: Blocks, width: int, height: int, scale: float, *, colour: bool = True, letters: bool = False
) -> list[list[Span]]:
    count = raster.pixel_count(width, height, colour=colour, letters=letters)
    return raster.rows_of(_pixels(blocks, count, scale), width, height, colour=colour, letters=letters)


blocks = st.lists(st.tuples(st.integers(0, NOT_RECORDED), st.integers(0, 5000)), max_size=60)
TOOLS, SYSTEM, USER, CALL, RESULT = (INDEX[n] for n in ("tools", "system", "user", "tool_call", "tool_result"))


@given(blocks, st.integers(1, 20), st.integers(1, 6), st.integers(1, 200_000))
def test_each_pixel_shows_the_block_at_its_token(
    given_: list[tuple[int, int]], width_: int, height: int, extent: int
) -> None:
    cells = raster.cells(_pixels(given_, width_ * height * 2, extent), width_, height)
    for x in range(width_):
        for p in range(2 * height):
            token = (x * 2 * height + p + 0.5) * extent / (width_ * 2 * height)
            end, expected = 0, None
            for category, size in given_:
                end += size
                if token < end:
                    expected = category
                    break
            cell = cells[p // 2][x]
            assert (cell.fg if p % 2 == 0 else cell.bg) == expected


def test_a_cell_of_one_block_is_full_and_of_two_is_halved() -> None:
    got = _rows([(TOOLS, 300), (SYSTEM, 100)], 2, 1, 400)
    assert got == [[Span("█", "cat-tools"), Span("▀", "cat-tools on-cat-system")]]


def test_the_end_is_half_a_cell_and_free_room_is_dotted_below() -> None:
    assert _rows([(USER, 50)], 2, 2, 400) == [
        [Span("▀", "cat-user"), Span(" ", "hair")],
        [Span("··", "hair")],
    ]


def test_not_recorded_is_hatched() -> None:
    assert _rows([(NOT_RECORDED, 10)], 1, 1, 10) == [[Span("░", "faint")]]


def test_without_colour_there_is_a_glyph_per_cell_and_conversation_is_bold() -> None:
    got = _rows([(TOOLS, 10), (RESULT, 10), (CALL, 10), (USER, 10)], 5, 1, 50, colour=False)
    assert plain(got[0]) == "ƒ░▒›·"
    assert got[0][3] == Span("›", "cat-user bold")


def test_letters() -> None:
    got = _rows([(TOOLS, 10), (RESULT, 10), (CALL, 10), (USER, 10)], 5, 2, 50, letters=True)
    assert [plain(row) for row in got] == ["FrcU ", "FrcU."]
    assert got[0][1] == Span("r", "cat-result quiet")


@given(blocks, st.integers(1, 40), st.integers(1, 6), st.integers(1, 100_000), st.booleans(), st.booleans())
def test_rows_are_full(
    given_: list[tuple[int, int]], width_: int, height: int, extent: int, colour: bool, letters: bool
) -> None:
    got = _rows(given_, width_, height, extent, colour=colour, letters=letters)
    assert [width(row) for row in got] == [width_] * height


def test_track_draws_states_breakpoints_and_the_break() -> None:
    segments = [("read", 40), ("write", 30), ("fresh", 10)]
    assert plain(raster.track(segments, 10, 100)) == "━━━━╍╍╍┄  "
    assert plain(raster.track(segments, 10, 100, [(0, False), (75, True)], 45)) == "◆━━━╳╍╍◇  "
    assert plain(raster.track([], 4, 100)) == "    "
    assert plain(raster.track(segments, 10, 100, [(15, True), (15, False)])) == "━◆━━╍╍╍┄  "


def test_points_and_columns_fit_together() -> None:
    assert raster.token_at(10, 2, 40, 4, 160_000) == 42_000
    assert raster.column_of(42_000, 40, 160_000) == 10
    assert raster.column_of(999_999, 40, 160_000) == 39


def test_scale_line() -> None:
    assert plain(scale.line(44, 150_000)) == "0             50k            100k       150k"
    assert plain(scale.line(44, 150_000, 120_000)).index("▲") == 35
    assert "  50k" not in plain(scale.line(44, 150_000, 52_000))


@given(st.integers(1, 120), st.integers(1, 10**8), st.none() | st.floats(0, 1))
def test_scale_line_is_full(width_: int, extent: int, part: float | None) -> None:
    line = scale.line(width_, extent, None if part is None else part * extent)
    assert width(line) == width_
    assert ("▲" in plain(line)) == (part is not None)


@given(st.floats(0.01, 1e12))
def test_ceiling_is_round_and_near(value: float) -> None:
    assert value * 0.999999 <= scale.ceiling(value) <= value * 1.34


def test_ceiling_and_short() -> None:
    assert [scale.ceiling(n) for n in (122_000, 150_000, 154_000, 200_000, 0)] == [
        160_000,
        160_000,
        160_000,
        200_000,
        1,
    ]
    assert [scale.short(n) for n in (0, 50_000, 1_500_000, 160_000, 200)] == ["0", "50k", "1.5M", "160k", "200"]
