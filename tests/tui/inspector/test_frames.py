"""What another size of the terminal costs: frames, and lines that are painted, counted from outside."""

from __future__ import annotations

from collections import Counter

import pytest
from textual._compositor import Compositor
from textual.pilot import Pilot
from textual.strip import Strip

from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.widgets.board import Board
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened
from tests.tui.painting import Painted
from tests.tui.waiting import until


class Frames:
    """Counts what is painted from now on: frames that have anything in them, and lines of each pane."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.lines: Counter[str] = Counter()
        update, line = Compositor.render_update, Board.render_line

        def counted_update(compositor: Compositor, *args: object, **more: object) -> object:
            found = update(compositor, *args, **more)  # type: ignore[arg-type]
            self.count += found is not None
            return found

        def counted_line(board: Board, y: int) -> Strip:
            self.lines[str(board.id)] += 1
            return line(board, y)

        monkeypatch.setattr(Compositor, "render_update", counted_update)
        monkeypatch.setattr(Board, "render_line", counted_line)

    def begin(self) -> None:
        """Count anew."""
        self.count = 0
        self.lines.clear()

    async def rest(self, pilot: Pilot[None]) -> None:
        """Wait until what the workers found after the opening is painted: half a second without a frame."""
        while True:
            self.begin()
            await pilot.pause(0.5)
            if not self.count:
                return


async def test_another_width_is_one_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is found out a second later has a frame of its own.
    monkeypatch.setattr(WhyController, "_search", lambda self: None)
    async with opened(every_category(), (140, 40)) as (screen, pilot):
        frames = Frames(monkeypatch)
        await frames.rest(pilot)
        for width in (132, 140, 126, 150):
            frames.begin()
            await pilot.resize_terminal(width, 40)
            await until(pilot, lambda: frames.count > 0)
            await pilot.pause(0.1)
            heights = {str(pane.id): pane.size.height for pane in screen.query(Board)}
            assert screen.size.width == width
            assert frames.count == 1, width
            assert frames.lines["transcript"] == heights["transcript"]
            assert all(count <= heights[name] for name, count in frames.lines.items())


async def test_what_says_the_same_is_not_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(every_category(), (200, 60)) as (screen, pilot):
        assert screen.panels.has_space_for("heaviest")
        frames = Frames(monkeypatch)
        await frames.rest(pilot)
        screen.state.fit()
        await pilot.pause(0.1)
        assert frames.count == 0, frames.lines


async def test_the_map_has_its_scale_again_on_the_size_that_had_it() -> None:
    async with opened(every_category(), (120, 40)) as (screen, pilot):
        map_ = screen.panels.map

        def drawn() -> list[str]:
            return [map_.render_line(y).text for y in range(map_.size.height)]

        first = drawn()
        for width, height in ((80, 24), (100, 30), (120, 40)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda width=width: screen.size.width == width)  # type: ignore[misc]
            await pilot.pause(0.1)
        assert drawn() == first


async def test_a_cursor_key_paints_two_rows_and_lays_out_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(every_category(), (140, 40)) as (screen, pilot):
        await pilot.press("up")
        await pilot.pause(0.2)
        # A pane that has no place at this size wants to be painted: nothing of it can be.
        assert not screen.panels.has_space_for("growth")
        screen.panels.growth.refresh()
        painted, arranged = Painted(screen.panels.transcript), []
        arrange = Compositor._arrange_root

        def counted(compositor: Compositor, *args: object, **more: object) -> object:
            arranged.append(args)
            return arrange(compositor, *args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Compositor, "_arrange_root", counted)
        await pilot.press("up")
        await pilot.pause(0.2)
        assert 0 < painted.count <= 3 and not arranged


async def test_work_in_the_background_waits_until_the_frame_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(every_category(), (140, 40)) as (screen, pilot):
        await pilot.pause(0.2)
        feed, told = screen.state.loader, list[str]()
        hold, go_on, update = feed.pause_for_key, feed.resume, Compositor.render_update

        def painted(compositor: Compositor, *args: object, **more: object) -> object:
            found = update(compositor, *args, **more)  # type: ignore[arg-type]
            told.extend(["frame"] if found is not None else [])
            return found

        monkeypatch.setattr(feed, "pause_for_key", lambda: (told.append("hold"), hold()))
        monkeypatch.setattr(feed, "resume", lambda: (told.append("go on"), go_on()))
        monkeypatch.setattr(Compositor, "render_update", painted)
        await pilot.press("up")
        await until(pilot, lambda: "go on" in told)
        assert told[:3] == ["hold", "frame", "go on"]
        assert feed._paused_until == 0.0
