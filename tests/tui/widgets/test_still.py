"""What is spared before the first frame of a screen leaves it as it would be."""

from __future__ import annotations

import pytest
from rich.console import Console
from textual import events, messages, on
from textual._compositor import CompositorUpdate
from textual._styles_cache import StylesCache
from textual.app import App
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.still import Still, hears_keys
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened
from tests.tui.test_frame_bytes import cells
from tests.tui.waiting import until

pytestmark = pytest.mark.slow


def _rules(app: App[None]) -> list[dict[str, object]]:
    nodes = [app, app.screen, *app.screen.query("*")]
    return [{**one.styles.base.get_rules(), **one.styles.inline.get_rules()} for one in nodes]


async def test_styles_that_were_worked_out_once_are_what_they_would_be_the_second_time() -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        for over in (False, True):
            if over:
                await app.push_screen(InspectorScreen(HandMade(every_category())))
                await pilot.pause()
            first = _rules(app)
            app.screen.update_node_styles(animate=False)
            assert len(first) > 15
            assert _rules(app) == first


async def test_each_size_is_laid_out_whether_anything_is_painted_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.state.complete)
        laid: list[Size] = []
        monkeypatch.setattr(screen, "_refresh_layout", laid.append)
        screen._screen_resized(Size(120, 40))
        with app.batch_update():
            screen._screen_resized(Size(120, 40))
            screen._screen_resized(Size(90, 30))
        assert laid == [Size(120, 40), Size(90, 30)]


async def test_the_ground_behind_the_panes_is_textuals_at_each_size_and_in_each_theme() -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        drawn = set()
        for theme in ("ctxtui-dark", "ctxtui-light"):
            app.theme = theme
            for width, height in ((120, 40), (80, 24), (200, 60)):
                await pilot.resize_terminal(width, height)
                await pilot.pause()
                screen, whole = app.screen, Size(width, height).region
                lines = screen._styles_cache.render_widget(screen, whole)
                assert lines == StylesCache().render_widget(screen, whole)
                assert [line.cell_length for line in lines] == [width] * height
                part = whole.shrink((1, 2, 3, 4))
                assert screen._styles_cache.render_widget(screen, part) == StylesCache().render_widget(screen, part)
                drawn.add((theme, str(lines[0])))
        assert len({strip for _, strip in drawn}) == 6


async def test_keys_are_bound_as_textual_has_it_whatever_has_the_focus() -> None:
    def bound(chain: list[tuple[DOMNode, BindingsMap]]) -> list[object]:
        return [(node, dict(bindings.key_to_bindings)) for node, bindings in chain]

    async with opened(every_category()) as (screen, _):
        screen.prompt.can_focus = True
        for pane in (screen.panels.transcript, screen.panels.map, screen.prompt, None):
            screen.set_focus(pane)
            assert screen.focused is pane
            theirs = Screen._binding_chain.fget
            assert theirs is not None
            assert bound(screen._binding_chain) == bound(theirs(screen))


async def test_a_key_goes_through_widgets_that_hear_it_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    forward = Widget._forward_event

    def noted(self: Widget, event: events.Event) -> None:
        sent.append(self)
        forward(self, event)

    monkeypatch.setattr(Widget, "_forward_event", noted)
    async with opened(every_category()) as (screen, pilot):
        at = screen.panels.transcript.cursor
        await pilot.press("up")
        assert (screen.panels.transcript.cursor, sent) == (at - 1, [])
        await pilot.press("f11")
        assert sent == [screen.panels.transcript], "nothing is bound to it"
        await pilot.press("slash", "a")
        assert sent[1:] == [screen.prompt] and screen.prompt.text == "a"


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

    assert [*map(hears_keys, (Still, Pane, Transcript, LineEdit, Decorated, Named, Below))] == [False] * 3 + [True] * 4


async def test_what_a_command_changes_is_painted_with_it_and_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    post = Screen.post_message

    def noted(self: Screen[None], message: Message) -> bool:
        told.extend([message.widget] if isinstance(message, messages.Update) else ())
        return post(self, message)

    monkeypatch.setattr(Screen, "post_message", noted)
    async with opened(every_category()) as (screen, pilot):
        # The first edits make room for their pane, and the prompt's line comes.
        for key in ("d", "up", "d", "up"):
            await pilot.press(key)
            await pilot.pause(0.1)
        for key in ("d", "u", "ctrl+r"):
            told.clear()
            await pilot.press(key)
            assert not [one for one in screen.children if one._repaint_regions or one._repaint_required]
            await pilot.pause(0.1)
            assert told == []


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
