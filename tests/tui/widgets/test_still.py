"""Keys that come together act in their order, and what frames say of a change is what a whole one would show."""

from __future__ import annotations

import pytest
from rich.console import Console
from textual import events, on
from textual._compositor import CompositorUpdate
from textual.app import App

from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.still import Still, handles_keys
from tests.cases.sessions import every_category
from tests.tui.cells import cells
from tests.tui.inspector.test_inspector import opened
from tests.tui.waiting import until


async def test_keys_that_come_together_act_one_after_the_other() -> None:
    async with opened(every_category()) as (screen, pilot):
        for key, character in (("slash", "/"), ("a", "a"), ("b", "b")):
            screen.app.post_message(events.Key(key, character))
        await until(pilot, lambda: screen.prompt.text == "ab")


def test_which_widgets_hear_keys() -> None:
    class Decorated(Still):
        @on(events.Key)
        def _heard(self) -> None: ...

    class Named(Still):
        def key_x(self) -> None: ...

    class Below(Named):
        pass

    assert [*map(handles_keys, (Still, Pane, Transcript, LineEdit, Decorated, Named, Below))] == [False] * 3 + [
        True
    ] * 4


@pytest.mark.slow
async def test_on_the_terminal_stands_what_a_whole_frame_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[str] = []
    console = Console(color_system="truecolor")

    def display(app: App[None], _screen: object, frame: object) -> None:
        if isinstance(frame, CompositorUpdate):
            frames.append(frame.render_segments(console))

    monkeypatch.setattr(App, "_display", display)
    async with opened(every_category()) as (screen, pilot):
        for key in "up d up t u pageup p m s ctrl+r z z tab down g slash".split():
            await pilot.press(key)
            await pilot.pause(0.05)
            whole = screen._compositor.render_update(full=True)
            assert isinstance(whole, CompositorUpdate) and screen.is_current
            assert written("".join(frames)) == written(whole.render_segments(console)), key


def written(sent: str) -> dict[tuple[int, int], object]:
    return {place: cell for place, cell in cells(sent).items() if place != (0, 0)}
