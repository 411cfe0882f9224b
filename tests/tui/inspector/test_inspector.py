"""The Inspector as one uses it: travel, opening, filters, prompt, threads, following, sizes."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ctxtui.core.category import INDEX
from ctxtui.core.session import CallSeen, Session, Skipped
from ctxtui.services.config.config import Config
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import RecordingNews
from ctxtui.services.study.study import Study
from ctxtui.tui.inspector.loader import Brought
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lists.registry import SkippedLines
from ctxtui.tui.start import make_app
from tests.cases.inspect import HandMade, app_of, app_on
from tests.cases.sessions import Story, compacted, every_category, hostile, long_session, use, with_subagents
from tests.cases.unsaid import Unsaid
from tests.sampling import few
from tests.tui.painting import Painted
from tests.tui.waiting import do, until

Opened = tuple[InspectorScreen, Pilot[None]]


@asynccontextmanager
async def opened(session: Session, size: tuple[int, int] = (120, 40), **more: Any) -> AsyncIterator[Opened]:
    app = app_on(session, **more)
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        yield screen, pilot


async def settled(screen: InspectorScreen, pilot: Pilot[None]) -> None:
    """Wait until everything is worked out and shown."""

    def done() -> bool:
        study = screen.state.study
        scene = screen.panels.scene
        return bool(
            study
            and scene
            and scene.counted
            and study.thread(screen.state.thread).priced == len(scene.calls)
            and study.thread(screen.state.thread).is_searched
            and scene.events
            and screen.state.complete
        )

    await until(pilot, done)
    await pilot.pause(0.05)


def text(screen: InspectorScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


async def test_it_opens_on_the_last_call_at_its_end() -> None:
    async with opened(every_category()) as (screen, _):
        shown = text(screen)
        assert "call 6" in shown and "\u25cb recorded" in shown and "handy-cli" in shown
        assert screen.panels.transcript.at_last
        for title in ("transcript", "context", "map", "this call", "calls"):
            assert f" {title} " in shown


async def test_travel_by_call_keeps_the_block_under_the_cursor() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press(*["up"] * 8)
        node = screen.panels.transcript.node
        for key in ("left_square_bracket", "comma", "full_stop", "right_square_bracket"):
            await pilot.press(key)
            assert screen.panels.transcript.node == node
        assert screen.state.index == 5
        await pilot.press("home")
        assert screen.state.index == 0
        await pilot.press("left_square_bracket")
        assert screen.state.index == 0
        await pilot.press("end")
        assert screen.state.index == 5 and screen.panels.transcript.at_last


async def test_a_number_and_events() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("g", "2", "enter")
        assert screen.state.index == 1 and "call 2" in text(screen)
        await pilot.press("right_curly_bracket")
        assert screen.state.index == 3 and "17k rewritten after a 52-minute pause" in text(screen)
        await pilot.press("left_curly_bracket")
        assert screen.state.index == 0
        await do(pilot, "NextTurn")
        assert screen.state.index == 3
        node = screen.panels.transcript.node
        assert node and screen.state.study and screen.state.study.session.tree[node].opens_turn
        await do(pilot, "NextMiss")
        assert "no further miss" in text(screen)


async def test_opening_raw_more_and_the_turn() -> None:
    async with opened(every_category()) as (screen, pilot):
        pane = screen.panels.transcript
        pane.move_to(next(i for i in range(pane.row_count) if "import {Command}" in line_of(screen, i)))
        await pilot.press("enter")
        assert "\u2570 17 more lines" in text(screen)
        await pilot.press("e")
        assert "so far  \u23ce fold" in text(screen) and "more lines" not in text(screen)
        await pilot.press("r")
        assert '{"tool_use_id":"t2"' in text(screen)
        await pilot.press("r")
        assert '{"tool_use_id":"t2"' not in text(screen)
        await pilot.press("enter")
        assert "\u2570" not in text(screen)
        await do(pilot, "OpenTurn")
        assert len(pane.opened) > 3
        await do(pilot, "OpenTurn")
        assert not pane.opened


def line_of(screen: InspectorScreen, index: int) -> str:
    pane = screen.panels.transcript
    return "".join(part for part, _ in pane.render_row(index, 0, pane.body_width))


async def test_categories_are_filtered_by_their_digit() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("8")
        assert screen.state.shown[INDEX["tool_result"]] == "full" and "\u2570" in text(screen)
        await pilot.press("8")
        assert "hidden \u2190" in text(screen) and "\u2190 Bash" not in transcript(screen)
        await pilot.press("8")
        assert "hidden" not in text(screen)
        await pilot.press("6", "6", "underscore")
        assert set(screen.state.shown) == {"line"}
        await pilot.click("#context", offset=(6, 1))
        assert screen.state.shown[INDEX["system"]] == "full"


def transcript(screen: InspectorScreen) -> str:
    width = screen.panels.transcript.size.width
    return "\n".join(line[:width] for line in text(screen).splitlines())


async def test_the_prompt_is_entered_and_left() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("g", "q", "h", "1")
        assert screen.prompt.text == "qh1" and screen.state.index == 5
        await pilot.press("escape")
        assert screen.focused is screen.panels.transcript
        await pilot.press("g", *"-thinking", "enter")
        assert screen.state.shown[INDEX["thinking"]] == "hidden"
        await pilot.press("g", *"nonsense", "enter")
        assert "'nonsense' is not one of" in text(screen)
        await pilot.press("escape")
        assert "nonsense" not in text(screen)


async def test_typing_ahead_reaches_the_prompt() -> None:
    async with opened(every_category()) as (screen, pilot):
        from textual import events

        for key in ("g", "3"):
            screen.app.post_message(events.Key(key, key))
        screen.app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: screen.state.index == 2)


async def test_threads() -> None:
    async with opened(with_subagents(), (200, 60)) as (screen, pilot):
        assert "Find server t…" in text(screen)
        await pilot.press("ctrl+t")
        assert screen.state.thread == "find" and "Find server types and socket messages \u2039" in text(screen)
        await pilot.press("ctrl+t")
        assert screen.state.thread == "upda"
        screen.panels.threads.focus()
        await pilot.press("up", "up", "enter")
        assert screen.state.thread == "main"


async def test_pointing_at_map_strip_and_heavy_blocks() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.click("#calls", offset=(7, 2))
        assert screen.state.index == 0
        await pilot.click("#map", offset=(2, 1))
        assert screen.panels.transcript.node == 0
        screen.panels.map.focus()
        await pilot.press("right")
        screen.panels.calls.focus()
        await pilot.press("right", "right")
        assert screen.state.index == 2
        # The pane may still have the order of the call before; its cursor stays on its block.
        await settled(screen, pilot)
        screen.panels.heaviest.focus()
        listed = screen.panels.heaviest.node
        await pilot.press("enter")
        assert screen.panels.transcript.node in (listed, screen.panels.heaviest.node)
        assert screen.focused is screen.panels.transcript


async def test_a_cursor_key_paints_the_rows_that_changed() -> None:
    async with opened(long_session(400)) as (screen, pilot):
        pane = screen.panels.transcript
        await pilot.pause(0.3)  # what was worked out last is on the screen
        painted = Painted(pane)
        for keys, most in (
            (["up"], 2),
            (["pageup"], pane.body_height + 2),
            (["left_square_bracket"], pane.body_height + 2),
        ):
            painted.count = 0
            await pilot.press(*keys)
            assert painted.count <= most, keys


async def test_a_row_is_made_only_when_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(long_session(400)) as (screen, pilot):
        rows, made = screen.panels.transcript.data, []
        assert rows is not None
        monkeypatch.setattr(type(rows), "row", counted(type(rows).row, made))
        await pilot.press("up", "up", "left_square_bracket", "right_square_bracket")
        assert len(made) < 10 * screen.panels.transcript.body_height, len(made)


def counted(function: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        return function(*arguments, **named)

    return wrapper


async def test_new_blocks_come_into_view_and_moving_up_holds_it() -> None:
    story = Story()
    story.user("go").call("one", use("a", "Bash", command="ls")).tip()
    async with opened(story.session, live=True) as (screen, pilot):
        assert "\u25cf live" in text(screen)
        await grown(story, screen, pilot, "a", "first result")
        await until(pilot, lambda: screen.state.index == 1)
        assert screen.panels.transcript.at_last
        await until(pilot, lambda: "answer to first result" in text(screen))
        await pilot.press("up", "up", "up")
        node = screen.panels.transcript.node
        await grown(story, screen, pilot, "b", "second result")
        assert screen.state.index == 1 and screen.panels.transcript.node == node
        await pilot.press("end")
        await until(pilot, lambda: screen.state.index == 2)
        await grown(story, screen, pilot, "c", "third result")
        await until(pilot, lambda: screen.state.index == 3)
        await pilot.press("up", "up", "F")
        assert "following: the view" in text(screen) and screen.state.at_end, "F goes back to the end that was left"
        await pilot.press("F")
        assert "paused: the view" in text(screen)


async def test_a_resize_before_figures_are_shown_leaves_the_cursor_on_its_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held, take = [True], InspectorState.take_figures
    monkeypatch.setattr(InspectorState, "take_figures", lambda self, *, done: None if held else take(self, done=done))
    may, work = threading.Event(), Study.work
    monkeypatch.setattr(Study, "work", lambda self: may.wait(20) and work(self))
    story = Story()
    story.user("go").call("one", use("a", "Bash", command="ls")).tip()
    app = app_on(story.session, live=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.state.complete and screen.state.at_end)
        node, rows = screen.panels.transcript.node, screen.panels.transcript.row_count
        may.set()
        await until(pilot, lambda: bool(screen.state.study and screen.state.study.thread("main").events))
        screen.state.fit()
        assert screen.panels.transcript.row_count > rows and screen.panels.transcript.node == node
        held.clear()
        await settled(screen, pilot)
        screen.state.take_figures(done=True)
        assert screen.panels.transcript.node == node and screen.state.at_end


async def grown(story: Story, screen: InspectorScreen, pilot: Pilot[None], id_: str, result: str) -> None:
    """The recording goes on by a result and another call."""
    calls = len(story.session.calls)
    story.results((id_, result)).call(f"answer to {result}", use(id_ + "x", "Bash", command=id_)).tip()
    came = [CallSeen(call) for call in story.session.thread_calls()[calls:]]
    screen.state.on.loader.emit(Brought(RecordingNews(came)))
    await until(pilot, lambda: screen.state.study is not None and len(screen.state.study.thread("main").calls) > calls)
    await settled(screen, pilot)


@pytest.mark.parametrize(
    "size", few([(80, 24), (99, 30), (100, 29), (160, 49), (200, 60), (59, 20), (60, 16), (30, 6), (29, 5)], 6)
)
@pytest.mark.parametrize("make", few([hostile, every_category, compacted]))
async def test_every_size_shows_whole_lines(size: tuple[int, int], make: Callable[[], Session]) -> None:
    async with opened(make(), size) as (screen, _):
        lines = text(screen).splitlines()
        assert len(lines) == size[1]
        assert all("\x1b" not in line and "\u202e" not in line for line in lines)
        if size[0] >= 60 and size[1] >= 16:
            assert "this call" in text(screen) and "context" in text(screen)
        if size == (29, 5):
            assert "ctxtui needs 30 x 6 cells" in text(screen)


async def test_resizing_shows_the_other_layout() -> None:
    async with opened(every_category(), (80, 24)) as (screen, pilot):
        assert "heaviest" not in text(screen)
        await pilot.resize_terminal(200, 60)
        await pilot.pause(0.2)
        assert "heaviest" in text(screen) and "growth" in text(screen) and "so far" in text(screen)
        await pilot.resize_terminal(80, 24)
        await pilot.pause(0.2)
        assert "growth" not in text(screen)


async def test_help_and_palette_come_from_the_commands() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("question_mark", *"open or fold")
        await pilot.pause(0.1)
        assert "Open the block in place" in text(screen.app.screen)  # type: ignore[arg-type]
        await pilot.press("escape", "escape", "ctrl+p")
        await pilot.pause(0.1)
        await pilot.press(*"first call", "enter")
        await pilot.pause(0.1)
        assert screen.app.screen is screen and screen.state.index == 0


async def test_ascii_and_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(every_category(), glyphs="ascii") as (screen, _):
        assert text(screen).isascii()
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(every_category()) as (screen, _):
        colours = {
            segment.style.color
            for strip in screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.color
        }
        assert {colour.name for colour in colours} <= {"default"}


async def test_copy_and_pager(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    async with opened(hostile()) as (screen, pilot):
        copied: list[str] = []
        monkeypatch.setattr(screen.app, "copy_to_clipboard", copied.append)
        await pilot.press("y")
        assert copied and copied[0].startswith("\u767b\u5f55")
        assert "copied" in text(screen)


def test_the_pager_gets_safe_text(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxtui.services.external_editor import NoPager, show_in_pager
    from ctxtui.views.text import safe_text
    from tests.cases.sessions import HOSTILE

    out = tmp_path / "out"
    monkeypatch.setenv("LESS", "-R")
    show_in_pager(safe_text.lines(HOSTILE), f'sh -c \'cp "$1" {out}; printf %s "$LESS" >> {out}\' x')
    seen = out.read_text()
    assert "\x1b" not in seen and "\u202e" not in seen and "-R" not in seen and "[31mred" in seen
    with pytest.raises(NoPager):
        show_in_pager([], "/no/such/pager")
    with pytest.raises(NoPager):
        show_in_pager([], "'unbalanced")


async def test_what_cannot_be_opened_is_said_where_it_was_named() -> None:
    from ctxtui.core.errors import NoContext

    class Broken(HandMade):
        def open(self) -> Any:
            raise NoContext("no model context: this is a HAR file")

    app = app_of(Broken(every_category()))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.refused is not None)
    assert isinstance(app.refused, NoContext) and app.return_code == 1


async def test_what_was_skipped_is_marked_and_listed() -> None:
    session = every_category()
    session.apply(Skipped(812, "not JSON: \x1b[31m"))
    async with opened(session) as (screen, pilot):
        assert "\u25b2 1 skipped" in text(screen)
        await screen.run_action(SkippedLines.binding())
        await pilot.pause(0.1)
        assert "line      812  not JSON: \u241b[31m" in text(screen.app.screen)  # type: ignore[arg-type]
        await pilot.press("escape")
        assert screen.app.screen is screen


async def test_a_click_enters_the_prompt() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.click("#prompt", offset=(5, 0))
        assert screen.line.is_asking and screen.focused is screen.prompt


async def test_home_is_a_key_away_where_the_app_began_with_a_session() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("h")
        await until(pilot, lambda: pilot.app.screen is not screen)
        await pilot.press("h")
        assert pilot.app.is_running


async def test_a_recording_whose_provider_reports_no_input_opens(tmp_path: Path) -> None:
    """Mocks and some proxies report zero tokens."""
    said = {"role": "assistant", "content": "hi"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    answer = {"id": "x", "object": "chat.completion", "model": "gpt-4o", "usage": usage}
    answer["choices"] = [{"index": 0, "message": said, "finish_reason": "stop"}]
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    path = tmp_path / "zero.json"
    path.write_text(json.dumps({"request": request, "response": answer}))
    app = make_app(str(path), Config(Settings(data_dir=str(tmp_path / "own")), {}))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        shown = text(screen)
        assert "hello" in shown and " map " in shown and "call 1" in shown
        await pilot.press("up", "up", "d")
        assert screen.panels.scene is not None and app.is_running


async def test_enter_on_the_context_pane_opens_the_residual() -> None:
    made = Unsaid()
    made.hear()
    made.work(4)
    made.added = 3_000
    made.work(2)
    async with opened(made.script.session, size=(120, 40)) as (screen, pilot):
        assert "since call 5" not in text(screen)
        screen.panels.context.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "since call 5" in text(screen))
        await pilot.press("enter")
        await until(pilot, lambda: "since call 5" not in text(screen))
