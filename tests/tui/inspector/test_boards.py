"""A board that time passes for paints what says something else, and nothing else."""

from __future__ import annotations

from typing import Any

from textual.app import App, ComposeResult
from textual.geometry import Region

from ctxtui.tui.inspector.boards import ViewBoard
from ctxtui.views.text.span import Span, Spans


def drawn(lines: list[str], width: int, height: int) -> list[Spans]:
    return [[Span(line, "ink")] for line in lines]


class Clock(ViewBoard[list[str]]):
    def __init__(self) -> None:
        super().__init__("clock", "", drawn, lambda lines, width: ())
        self.content = ["expires in", "0:05"]
        self.asked: list[tuple[Region, ...]] = []

    def refresh(self, *regions: Region, **rest: Any) -> Any:
        self.asked.append(regions)
        return super().refresh(*regions, **rest)


class Shows(App[None]):
    def compose(self) -> ComposeResult:
        yield Clock()


async def test_only_lines_that_changed_are_painted() -> None:
    app = Shows()
    async with app.run_test(size=(40, 10)) as pilot:
        clock = app.query_one(Clock)
        await pilot.pause()
        clock.asked.clear()
        clock.redraw_changed()
        assert clock.asked == []
        clock.content = ["expires in", "0:04", "soon"]
        clock.redraw_changed()
        await pilot.pause()
        assert clock.asked == [(Region(0, 2, 40, 1),), (Region(0, 3, 40, 1),)]
        assert [clock.render_line(y).text.strip() for y in (1, 2, 3)] == ["expires in", "0:04", "soon"]
        clock.content = ["expired"]
        clock.redraw_changed()
        await pilot.pause()
        assert [clock.render_line(y).text.strip() for y in (1, 2, 3)] == ["expired", "", ""]
