"""What is painted of panes side by side is what Textual would paint, and no more is asked for."""

from __future__ import annotations

import pytest
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

from ctxtui.tui.widgets.side_by_side import SideBySide
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened

pytestmark = pytest.mark.slow

_KEYS = "up d up t u pageup p tab down enter question_mark escape i x escape".split()


def _painted(update: ChopsUpdate) -> list[tuple[int, int, Strip]]:
    found = []
    for y, first, behind in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
            if strip is not None and x < behind and end > first:
                found.append((y, x, strip))
    return found


@pytest.mark.parametrize("size", [(30, 6), (80, 24), (120, 40), (200, 60)])
async def test_the_lines_are_those_that_textual_would_paint(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    ours, frames = SideBySide.render_partial_update, list[int]()

    def both(self: SideBySide) -> ChopsUpdate | None:
        dirty = set(self._dirty_regions)
        found = ours(self)
        self._dirty_regions |= dirty
        other = Compositor.render_partial_update(self)
        assert (found is None) is (other is None)
        if found is not None and other is not None:
            assert found.spans == other.spans
            assert _painted(found) == _painted(other)
            frames.append(sum(map(len, found.chops)))
        return found

    monkeypatch.setattr(SideBySide, "render_partial_update", both)
    async with opened(every_category(), size=size) as (screen, pilot):
        for key in _KEYS:
            await pilot.press(key)
            # A part of one line, and lines of two panes.
            screen.panels.transcript.refresh(Region(2, 1, 3, 1))
            screen.panels.context.refresh(Region(0, 0, 5, 2), Region(1, 3, 2, 1))
            await pilot.pause(0.03)
        screen.refresh(Region(0, 0, 4, 2))
        await pilot.pause(0.05)
    assert len(frames) > len(_KEYS)


async def test_a_key_that_moves_the_cursor_asks_for_no_other_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Region] = []
    async with opened(every_category()) as (screen, pilot):
        panes = [one for one in screen.children if one is not screen.panels.transcript]
        for one in panes:
            monkeypatch.setattr(one, "render_lines", lambda crop: pytest.fail(f"asked for {crop}"))
        render = screen.panels.transcript.render_lines
        monkeypatch.setattr(screen.panels.transcript, "render_lines", lambda crop: asked.append(crop) or render(crop))
        with screen.app.batch_update():
            screen.panels.transcript.move_to(screen.panels.transcript.cursor - 1)
            assert screen.panels.transcript._repaint_regions
        screen._compositor.update_widgets({screen.panels.transcript})
        assert screen._compositor.render_partial_update() is not None
        monkeypatch.undo()
        await pilot.pause()
    assert sum(crop.height for crop in asked) == 2
