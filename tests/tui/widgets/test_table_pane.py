"""Tables: their heads stay in view, and nothing lies beneath them."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from ctxtui.tui.theme.theme import apply_theme
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table
from tests.tui.painting import Painted

ROOM = 10
"""Lines of the pane, with its rule."""
TABLE = Table(
    (
        Column[int]("number", 8, lambda row, _: Span(f"{row}"), sort=lambda row: row),
        Column[int]("square", 8, lambda row, _: Span(f"{row * row}"), sort=lambda row: row * row),
    )
)
HEADS = ["number", "square"]


class Tables(App[None]):
    CSS = f"TablePane {{ height: {ROOM}; }}"

    def __init__(self) -> None:
        super().__init__()
        apply_theme(self, {}, "dark", "unicode")
        self.pane = TablePane[int]("numbers", "none")
        self.said: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.show(range(100), TABLE, cursor=0)
        self.pane.focus()

    def on_table_pane_head_clicked(self, message: TablePane.HeadClicked) -> None:
        self.said.append(message.name)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        self.said.append(self.pane.row)


def lines(app: Tables) -> list[list[str]]:
    """What stands below the rule, word by word, as the terminal has it."""
    return [strip.text.split() for strip in app.screen._compositor.render_strips()[1:ROOM]]


def numbers(app: Tables) -> list[int]:
    heads, *rows = lines(app)
    assert heads == HEADS, "the heads stay"
    return [int(row[-2]) for row in rows]


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("", range(8)),
        ("down " * 7, range(8)),
        ("down " * 8, range(1, 9)),
        ("pagedown", range(7, 15)),
        ("pagedown pageup", range(8)),
        ("end", range(92, 100)),
        ("end " + "up " * 8, range(91, 99)),
        ("end home", range(8)),
    ],
)
async def test_heads_stay_and_pages_go_by_the_rows_that_are_seen(keys: str, shown: range) -> None:
    app = Tables()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press(*keys.split())
        await pilot.pause()
        assert numbers(app) == list(shown)
        assert app.pane.row in shown and 0 <= app.pane.viewport.line_in_view(app.pane.cursor) < 8


async def test_clicks_below_the_heads_mean_the_row_that_is_there() -> None:
    app = Tables()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("end")
        await pilot.click(app.pane, offset=(3, 2))
        assert app.pane.row == 92
        await pilot.click(app.pane, offset=(3, 5), times=2)
        await pilot.pause()
        assert app.said == [95] and app.pane.row_in(1) is None and app.pane.row_in(2) == 92
        await pilot.click(app.pane, offset=(16, 1))
        await pilot.pause()
        assert app.said == [95, "square"] and app.pane.row == 95, "the heads are in reach at the end of the list, too"


async def test_heads_come_and_go_with_the_rows() -> None:
    app = Tables()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("end")
        app.pane.show((), TABLE)
        await pilot.pause()
        assert lines(app)[0] == ["none"]
        app.pane.show(range(3), TABLE, "square")
        await pilot.pause()
        assert [line[-2:] for line in lines(app)[1:4]] == [["0", "0"], ["1", "1"], ["2", "4"]]


async def test_a_step_paints_two_rows_at_most_and_no_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Tables()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("down")
        monkeypatch.setattr(Table, "heads", lambda *_: pytest.fail("drawn again"))
        painted = Painted(app.pane)
        for _ in range(30):
            await pilot.press("down")
        await pilot.pause()
        assert app.pane.row == 31 and painted.count <= 2 * 30
