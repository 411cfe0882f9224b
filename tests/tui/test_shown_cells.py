"""A frame says what is other than on the terminal, which then shows what all of the frame would have shown."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip

from ctxtui.tui.shown_cells import ChangedCells, ShownCells
from tests.cases.sessions import every_category
from tests.sampling import few
from tests.tui.cells import cells
from tests.tui.inspector.test_inspector import opened

_WIDTH, _HEIGHT = 12, 3
_CONSOLE = Console(color_system="truecolor")
_STYLES = [
    None,
    Style(color="red"),
    Style(bold=True),
    Style(bgcolor="blue"),
    Style(color="green", bgcolor="blue", bold=True, italic=True),
]


def _screen(sent: str) -> dict[tuple[int, int], object]:
    # What the last piece left behind in the way of style is no cell.
    return {place: cell for place, cell in cells(sent).items() if place != (0, 0)}


@st.composite
def _frames(draw: st.DrawFn) -> list[CompositorUpdate]:
    found: list[CompositorUpdate] = []
    for whole in draw(st.lists(st.sampled_from([False, False, False, True]), min_size=1, max_size=12)):
        lines, ends = [], []
        for _ in range(_HEIGHT):
            cuts = [0, *sorted(draw(st.sets(st.sampled_from([4, 5, 8]), max_size=2))), _WIDTH]
            strips: dict[int, Strip | None] = {}
            for x, end in pairwise(cuts):
                text = draw(st.sampled_from("ab")) * (end - x - 1) + draw(st.sampled_from("ab"))
                style = draw(st.sampled_from(_STYLES))
                strips[x] = Strip([Segment(text[:2], style), Segment(text[2:], style)], end - x)
            lines.append(strips)
            ends.append(cuts[1:])
        if whole or not found:
            found.append(LayoutUpdate([line.values() for line in lines], Region(0, 0, _WIDTH, _HEIGHT)))  # type: ignore[misc]
        else:
            rows = draw(st.sets(st.integers(0, _HEIGHT - 1), min_size=1))
            spans = []
            for y in sorted(rows):
                first = draw(st.integers(0, _WIDTH - 1))
                spans.append((y, first, draw(st.integers(first + 1, _WIDTH))))
            found.append(ChopsUpdate(lines, spans, ends))
    return found


@given(_frames())
def test_the_terminal_shows_what_whole_frames_would_show(frames: list[CompositorUpdate]) -> None:
    shown, whole, less, told = ShownCells(), "", "", ""
    for frame in frames:
        whole += frame.render_segments(_CONSOLE)
        sent = shown.limit_to_changes(frame).render_segments(_CONSOLE)
        less, told = less + sent, told + sent
        assert _screen(less) == _screen(told) == _screen(whole)
    assert len(less) <= len(whole)


def _line(*pieces: str) -> dict[int, Strip | None]:
    found: dict[int, Strip | None] = {}
    at = 0
    for piece in pieces:
        found[at] = Strip([Segment(piece)])
        at += found[at].cell_length  # type: ignore[union-attr]
    return found


def _frame(*pieces: str) -> ChopsUpdate:
    line = _line(*pieces)
    ends = [x + strip.cell_length for x, strip in line.items() if strip is not None]
    return ChopsUpdate([line], [(0, 0, ends[-1])], [ends])


def test_what_stands_there_is_not_written_again() -> None:
    shown = ShownCells()
    assert shown.limit_to_changes(_frame("left", "right")).render_segments(_CONSOLE) == "\x1b[1;1Hleft\x1b[1;5Hright"
    assert shown.limit_to_changes(_frame("left", "right")).render_segments(_CONSOLE) == ""
    assert shown.limit_to_changes(_frame("left", "other")).render_segments(_CONSOLE) == "\x1b[1;5Hother"
    shown.forget()
    assert shown.limit_to_changes(_frame("left", "other")).render_segments(_CONSOLE) == "\x1b[1;1Hleft\x1b[1;5Hother"


def test_what_a_wide_character_may_push_is_written_behind_it() -> None:
    shown = ShownCells()
    shown.limit_to_changes(_frame("ab", "right")).render_segments(_CONSOLE)
    assert shown.limit_to_changes(_frame("本", "right")).render_segments(_CONSOLE) == "\x1b[1;1H本\x1b[1;3Hright"


def _words(*words: str) -> ChopsUpdate:
    strip = Strip([Segment(word) for word in words])
    return ChopsUpdate([{0: strip}], [(0, 0, strip.cell_length)], [[strip.cell_length]])


def test_of_a_piece_what_it_begins_and_ends_with_is_not_written_again() -> None:
    shown = ShownCells()
    shown.limit_to_changes(_words("now ", "12", " tokens")).render_segments(_CONSOLE)
    assert shown.limit_to_changes(_words("now ", "13", " tokens")).render_segments(_CONSOLE) == "\x1b[1;5H13"
    assert shown.limit_to_changes(_words("now ", "1", "3 tokens")).render_segments(_CONSOLE) == "\x1b[1;5H13 tokens"
    # Where a terminal and we may differ on a width, nobody knows where the rest stands.
    wide = "\x1b[1;1Hnow 本 tokens"
    assert shown.limit_to_changes(_words("now ", "本", " tokens")).render_segments(_CONSOLE) == wide
    assert shown.limit_to_changes(_words("now ", "14", " tokens")).render_segments(_CONSOLE) == "\x1b[1;1Hnow 14 tokens"
    assert shown.limit_to_changes(_words("now ", "15", " tokens")).render_segments(_CONSOLE) == "\x1b[1;5H15"


def test_a_frame_that_is_dropped_is_not_taken_as_shown() -> None:
    shown = ShownCells()
    shown.limit_to_changes(_frame("one")).render_segments(_CONSOLE)
    shown.limit_to_changes(_frame("two"))
    assert shown.limit_to_changes(_frame("two")).render_segments(_CONSOLE) == "\x1b[1;1Htwo"


@pytest.mark.parametrize("size", few([(80, 24), (120, 40)]))
async def test_the_inspector_shows_what_whole_frames_would_show(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    frames: list[tuple[str, str]] = []

    def display(app: App[None], _screen: object, frame: Any) -> None:
        if isinstance(frame, ChangedCells):
            frames.append((frame.update.render_segments(_CONSOLE), frame.render_segments(_CONSOLE)))

    monkeypatch.setattr(App, "_display", display)
    keys = ["d", "up", "t", "u", "pageup", "d", "pagedown", "enter", "question_mark", "escape", "z", "d", "ctrl+r", "p"]
    async with opened(every_category(), size=size) as (_, pilot):
        for key in keys:
            await pilot.press(key)
        await pilot.resize_terminal(100, 30)
        await pilot.press("up", "d", "tab", "down")
        await pilot.pause(0.05)
    whole, less = ("".join(sent) for sent in zip(*frames, strict=True))
    assert _screen(less) == _screen(whole)
    assert len(frames) > len(keys) and len(less) < len(whole)
