"""Keys of the inspector answer, in every state; docs/keys.md is their table, made from the commands themselves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from ctxtui.cli.commands import OLD_NAMES
from ctxtui.tui.inspector.screen import RECORDED, InspectorScreen
from ctxtui.tui.key_page import page
from ctxtui.tui.widgets.keyline import keyline
from ctxtui.views.text.span import plain
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, until

DOC = Path(__file__).parents[3] / "docs" / "keys.md"


def test_the_page_of_keys_is_made_from_the_commands() -> None:
    assert DOC.read_text(encoding="utf-8") == page(OLD_NAMES)


SILENT = {"escape"}
"""With nothing open there is nothing to close."""
KEYS = sorted({key for command in RECORDED for key in command.keys} - SILENT)
EDITING = sorted(
    {
        key
        for command in RECORDED
        for key in command.keys
        if command.group in ("editing the context", "the block under the cursor", "attached program")
    }
)
TOGGLES = {";", "z", "F", "K", "greater_than_sign"}
"""Keys that show something else until they are pressed again."""
STATES = ("nothing to do", "on a block", "edited")


def seen(screen: InspectorScreen) -> tuple[object, ...]:
    """What a key may change without a word on the prompt's line: another screen, a question, the line of the cursor,
    rows that open, all that is drawn."""
    pane, drawn = screen.panels.transcript, screen.app.screen._compositor.render_strips()
    lines = tuple(strip.text for strip in drawn)
    return (
        len(screen.app.screen_stack),
        screen.line.is_asking,
        pane.viewport.heights.total,
        pane.cursor,
        pane.opened,
        lines,
    )


async def walked(keys: Sequence[str], state: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those of the keys that say and change nothing, nor leave for another screen or program."""
    monkeypatch.setenv("PAGER", "true")
    monkeypatch.setenv("EDITOR", "true")
    silent, words = [], "second question" if state == "nothing to do" else "line of code"
    async with opened(session()) as (screen, pilot):
        left: list[object] = []
        monkeypatch.setattr(screen.access, "post", left.append)

        def suspend() -> AbstractContextManager[None]:
            left.append("another program")
            return nullcontext()

        monkeypatch.setattr(screen.app, "suspend", suspend)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, words)
        if state == "edited":
            await pilot.press("d", "a")
        for key in keys:
            screen.line.show_message(())
            left.clear()
            before = seen(screen)
            await pilot.press(key)
            await pilot.pause(0.02)
            if not screen.line.has_message and not left and seen(screen) == before:
                silent.append(key)
            while len(screen.app.screen_stack) > before[0]:  # type: ignore[operator]
                screen.app.pop_screen()
            if screen.line.is_asking:
                screen.line.cancel()
            if key in TOGGLES:
                await pilot.press(key)
            screen.state.go(screen.state.count - 1)
            await pilot.pause()
            at(screen, words)
    return silent


@pytest.mark.parametrize("state", STATES[:2])
async def test_every_key_that_edits_or_opens_answers(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await walked(EDITING, state, monkeypatch) == []


async def test_what_is_asked_in_a_recorded_session_is_not_sent() -> None:
    """The keys below say what those on the prompt's line do."""
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("g")
        assert plain(keyline(80, screen.keys.keys)).startswith(" ⏎ accept  esc leave ")
        await pilot.press("escape", "ctrl+e")
        assert plain(keyline(80, screen.keys.keys)).startswith(" esc leave ")


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
async def test_every_key_of_the_table_answers(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await walked(KEYS, state, monkeypatch) == []
