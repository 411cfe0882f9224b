"""Notes and bookmarks as one sets them, goes to them, and finds them again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from ctxtui.core.session import Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.store import Store
from ctxtui.tui.inspector.controllers.notes import NotesController
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.notes import NotesScreen
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import Story, every_category
from tests.tui.inspector.test_inspector import settled, text, until
from tests.tui.waiting import do


@asynccontextmanager
async def opened(session: Session, folder: Path) -> AsyncIterator[tuple[InspectorScreen, Pilot[None]]]:
    source = HandMade(session)
    source.settings = Settings(data_dir=str(folder))
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await until(pilot, lambda: screen.owner(NotesController).notebook is not None)
        yield screen, pilot


def stars(screen: InspectorScreen) -> int:
    pane = screen.panels.transcript
    return "".join(pane.render_line(y).text for y in range(1, pane.size.height)).count("★")


async def kept(screen: InspectorScreen, pilot: Pilot[None], count: int) -> None:
    await until(
        pilot,
        lambda: (
            screen.owner(NotesController).session_notes is not None
            and len(screen.owner(NotesController).session_notes.order) == count
        ),
    )
    await pilot.pause(0.05)


async def test_a_bookmark_is_seen_at_once_and_found_again(tmp_path: Path) -> None:
    async with opened(every_category(), tmp_path) as (screen, pilot):
        await pilot.press("up", "up", "up")
        node = screen.panels.transcript.node
        await pilot.press("asterisk")
        assert stars(screen) == 1
        await kept(screen, pilot, 1)
        assert "★" in "".join(screen.panels.calls.render_line(y).text for y in range(screen.panels.calls.size.height))
    async with opened(every_category(), tmp_path) as (screen, pilot):
        await kept(screen, pilot, 1)
        assert stars(screen) == 1
        await pilot.press("home")
        await do(pilot, "NextMarked")
        assert screen.panels.transcript.node == node
        await pilot.press("asterisk")
        assert stars(screen) == 0
        await kept(screen, pilot, 0)
    with Store.open(database(str(tmp_path))) as store:
        assert store.notes.all() == []


async def test_going_on_to_the_only_bookmark_from_where_it_stands_says_so(tmp_path: Path) -> None:
    async with opened(every_category(), tmp_path) as (screen, pilot):
        await pilot.press("up", "up", "up", "asterisk")
        await kept(screen, pilot, 1)
        for name in ("NextMarked", "PreviousMarked"):
            screen.line.show_message(())
            await do(pilot, name)
            assert "This is the only note or bookmark" in text(screen)
        screen.line.show_message(())
        await pilot.press("home")
        await do(pilot, "NextMarked")
        assert "This is the only" not in text(screen), "it went there"


async def test_a_thread_without_an_answer_has_notes_to_go_to(tmp_path: Path) -> None:
    """A session that only has the user's first message has no thread in its order yet."""
    source = HandMade(Story().user("hello").tip().session)
    source.settings = Settings(data_dir=str(tmp_path))
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.owner(NotesController).notebook is not None)
        await pilot.press("asterisk")
        await kept(screen, pilot, 1)
        for name in ("NextMarked", "PreviousMarked"):
            await do(pilot, name)
            assert "This is the only note or bookmark" in text(screen)


async def test_notes_are_written_listed_and_gone_to(tmp_path: Path) -> None:
    async with opened(every_category(), tmp_path) as (screen, pilot):
        node = screen.panels.transcript.node
        await do(pilot, "WriteNote")
        await pilot.press(*"why", "enter")
        await kept(screen, pilot, 1)
        await pilot.press("home")
        await do(pilot, "WriteOnCall")
        await pilot.press(*"cheap", "enter")
        await kept(screen, pilot, 2)
        await do(pilot, "ListNotes")
        assert isinstance(pilot.app.screen, NotesScreen)
        shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        assert "✎" in shown and "why" in shown and "cheap" in shown
        await pilot.press("down", "enter")
        await pilot.pause(0.05)
        assert pilot.app.screen is screen
        assert screen.panels.transcript.node == node
        assert "why" in text(screen)
        await do(pilot, "WriteNote")
        await pilot.press("ctrl+u", "enter")
        await kept(screen, pilot, 1)


async def test_esc_keeps_the_note_as_it_was(tmp_path: Path) -> None:
    async with opened(every_category(), tmp_path) as (screen, pilot):
        await do(pilot, "WriteNote")
        await pilot.press(*"draft", "escape")
        await pilot.pause(0.05)
        assert not screen.owner(NotesController).facts()
        await pilot.press("g", *"2", "enter")
        assert screen.state.index == 1


async def test_marks_go_round_in_the_order_of_calls(tmp_path: Path) -> None:
    async with opened(every_category(), tmp_path) as (screen, pilot):
        await do(pilot, "BookmarkCall")
        await pilot.press("home")
        await do(pilot, "BookmarkCall")
        await kept(screen, pilot, 2)
        seen = []
        for name in ("NextMarked", "NextMarked", "NextMarked", "PreviousMarked"):
            await do(pilot, name)
            seen.append(screen.state.index)
        last = screen.state.count - 1
        assert seen == [last, 0, last, 0]
