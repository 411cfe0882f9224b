from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.color import Color
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip

from ctxtui.tui.theme.theme import apply_theme
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.signs import DARK
from ctxtui.views.text.span import Span, Spans
from tests.tui.painting import Painted

HEIGHT = 10


class Numbers(Pane):
    count = 100
    heads: frozenset[int] = frozenset()
    sticky_heads = False

    def __init__(self) -> None:
        super().__init__(title="numbers")
        self.painted: list[int] = []

    @property
    def row_count(self) -> int:
        return self.count

    def render_row(self, index: int, line: int, width: int) -> Spans:
        return [Span("▸" if index == self.cursor else " "), Span(f"row {index}" + (f".{line}" if line else ""))]

    def row_height(self, index: int, width: int) -> int:
        return 4 if index != 50 else 30

    def selectable(self, index: int) -> bool:
        return index not in self.heads

    def sticky(self, index: int) -> int | None:
        return index - index % 10 if self.sticky_heads else None

    def render_sticky(self, index: int, width: int) -> Spans:
        return [Span("↑"), Span(f"row {index}")]

    def notes(self) -> Spans:
        return [Span(f"↑ {self.viewport.top}")]

    def empty(self) -> Spans:
        return [Span("Nothing here.")]

    def render_line(self, y: int) -> Strip:
        self.painted.append(y)
        return super().render_line(y)


class Figures(Board):
    drawn = 0

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        self.drawn += 1
        return [[Span(f"{width}x{height}", "accent")]]


class Screen(App[None]):
    CSS = "Numbers { height: 11; } Figures { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        apply_theme(self, {}, "dark", "unicode")
        self.said: list[tuple[str, int]] = []

    def compose(self) -> ComposeResult:
        yield Numbers()
        yield Figures(title="figures", join="├")
        yield KeyLine([Key("⏎", "open")])

    def on_mount(self) -> None:
        self.query_one(Numbers).focus()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        self.said.append(("moved", message.index))

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        self.said.append(("chosen", message.index))


def shown(pane: Pane) -> list[str]:
    lines = pane.render_lines(Region(0, 1, pane.size.width, pane.body_height))
    return [strip.text.strip() for strip in lines]


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


@pytest.mark.parametrize("count", [100, 100_000])
async def test_a_key_renders_no_more_than_its_rows(count: int) -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        painted = Painted(pane)
        pane.count = count
        pane.reload()
        await pilot.pause()
        for key in ("down", "down", "pagedown", "pagedown", "up", "end", "up", "pageup", "home"):
            painted.count = 0
            await press(pilot, key)
            assert painted.count <= HEIGHT + 2, key
        painted.count = 0
        await press(pilot, *["down"] * 8)
        assert painted.count <= 2 * 8


async def test_rows_are_there_in_the_first_frame() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        assert shown(app.query_one(Numbers))[:2] == ["▸row 0", "row 1"]


async def test_a_move_in_view_paints_two_lines() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        await press(pilot, "down", "down")
        pane.painted.clear()
        await press(pilot, "down")
        assert sorted(pane.painted) == [3, 4]
        assert shown(pane)[3] == "▸row 3"


async def test_moving_scrolls_and_says_so() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        await press(pilot, *["down"] * 12)
        assert (pane.cursor, pane.viewport.top) == (12, 3)
        assert shown(pane)[-1] == "▸row 12"
        assert pane.render_line(0).text.rstrip().endswith("↑ 3 ━")
        await press(pilot, "enter")
        assert app.said[-2:] == [("moved", 12), ("chosen", 12)]
        await press(pilot, "end")
        assert (pane.cursor, pane.viewport.top) == (99, 90)
        await press(pilot, "pageup")
        assert (pane.cursor, pane.viewport.top) == (90, 81)
        await press(pilot, "home", "up")
        assert (pane.cursor, pane.viewport.top) == (0, 0)


async def test_tall_rows_are_read_line_by_line() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        pane.open_rows({2, 50})
        await pilot.pause()
        assert shown(pane)[2:7] == ["row 2", "row 2.1", "row 2.2", "row 2.3", "row 3"]
        pane.move_to(50)
        assert pane.viewport.heights.row_at(pane.viewport.top) == (50, 0)
        await press(pilot, "down")
        assert pane.cursor == 50 and pane.viewport.heights.row_at(pane.viewport.top) == (50, 1)
        await press(pilot, *["down"] * 20)
        assert pane.cursor == 51
        await press(pilot, "up")
        assert pane.cursor == 50 and shown(pane)[-1] == "▸row 50.29"
        pane.open_rows({2})
        await pilot.pause()
        assert pane.opened == {2}
        assert pane.viewport.heights.total == 103


async def test_what_is_in_view_stays_when_a_row_above_grows() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        pane.move_to(60)
        before = shown(pane)
        pane.open_rows({2})
        await pilot.pause()
        assert shown(pane) == before


async def test_heads_are_skipped() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        pane.heads = frozenset({0, 3, 4})
        pane.reload(cursor=0)
        assert pane.cursor == 1
        await press(pilot, "down", "down")
        assert pane.cursor == 5
        await press(pilot, "up")
        assert pane.cursor == 2
        await press(pilot, "up", "up", "up")
        assert pane.cursor == 1


async def test_the_head_of_a_group_stays_in_view() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        pane.sticky_heads = True
        pane.move_to(15)
        await pilot.pause()
        assert shown(pane)[:2] == ["↑row 0", "row 7"]
        assert pane.row_under(1) == 0
        await press(pilot, *["up"] * 9)
        assert pane.cursor == 6
        assert "▸row 6" in shown(pane)


async def test_rows_before_a_change_are_not_rendered_again() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        await press(pilot, "down")
        assert len(shown(pane)) == HEIGHT
        painted = Painted(pane)
        pane.reload(start=8)
        await pilot.pause()
        assert painted.count == 2
        painted.count = 0
        pane.refresh_row(3)
        await pilot.pause()
        assert painted.count == 1


async def test_mouse() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        await pilot.click(pane, offset=(3, 5))
        assert pane.cursor == 4
        await pilot.click(pane, offset=(3, 0))
        assert pane.cursor == 4
        await pilot.click(pane, offset=(3, 6), times=2)
        assert app.said[-1] == ("chosen", 5)
        await pilot._post_mouse_events([events.MouseScrollDown], pane, offset=(3, 3))
        assert (pane.viewport.top, pane.cursor) == (3, 5)


async def test_the_cursor_has_its_ground_with_the_focus_only() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)

        def ground() -> Color | None:
            style = next(iter(pane.render_line(1))).style
            return style.bgcolor if style else None

        assert ground() == Color.parse(DARK["cur"])
        app.set_focus(None)
        await pilot.pause()
        assert ground() == Color.parse(DARK["bg"])
        assert shown(pane)[0] == "▸row 0"
        assert pane.render_line(0).text.startswith("─ numbers ─")


async def test_an_empty_list_says_so_and_a_shrunk_one_keeps_a_cursor() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(Numbers)
        pane.move_to(99)
        pane.count = 5
        pane.reload()
        assert (pane.cursor, pane.viewport.top) == (4, 0)
        pane.count = 0
        pane.reload()
        assert shown(pane)[0] == "Nothing here."
        await press(pilot, "down", "up", "pagedown", "home", "end", "enter")
        assert pane.cursor == 0


async def test_resize_and_theme_paint_anew() -> None:
    app = Screen()
    async with app.run_test(size=(40, 20)) as pilot:
        pane, board = app.query_one(Numbers), app.query_one(Figures)
        pane.move_to(30)
        await pilot.resize_terminal(30, 20)
        await pilot.pause()
        assert "▸row 30" in shown(pane)
        assert board.render_line(1).text == "│29x2".ljust(30)
        before = board.drawn
        board.render_line(2)
        assert board.drawn == before
        app.theme = "ctxtui-light"
        await pilot.pause()
        board.render_line(1)
        assert board.drawn == before + 1
        board.redraw()
        board.render_line(1)
        assert board.drawn == before + 2


async def test_ascii_at_the_edge() -> None:
    app = Screen()
    apply_theme(app, {}, "dark", "ascii")
    async with app.run_test(size=(40, 20)):
        assert app.query_one(Numbers).render_line(0).text.startswith("= numbers ===")
        assert app.query_one(Numbers).render_line(1).text.startswith(">row 0")
        assert app.query_one(Figures).render_line(0).text.startswith("+- figures -")
        assert app.query_one(KeyLine).render_line(0).text.startswith(" ret open")


@pytest.mark.parametrize("theme", ["16", "mono", "light", "dark"])
async def test_every_theme_runs(theme: str) -> None:
    app = Screen()
    apply_theme(app, {}, theme, "unicode")
    async with app.run_test(size=(40, 20)) as pilot:
        await press(pilot, "down")
        assert app.theme == f"ctxtui-{theme}"
