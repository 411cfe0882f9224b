"""The reading mode on the screen: one key there and back, at any length, with the cursor on its block."""

from __future__ import annotations

from tests.cases.sessions import long_session
from tests.tui.inspector.test_inspector import opened, text


async def test_one_key_reads_another_shows_all_panes_again() -> None:
    async with opened(long_session(300), (100, 30)) as (screen, pilot):
        transcript = screen.panels.transcript
        await pilot.press("up", "up")
        node = transcript.node
        await pilot.press("semicolon")
        await pilot.pause()
        assert screen.panels.is_reading and not screen.panels.has_space_for("context")
        assert transcript.size.width == 100 and transcript.node == node
        assert "reading" in text(screen)
        # To the other end, where no height is known yet, and by pages.
        await pilot.press("ctrl+home")
        assert transcript.cursor == 0 and transcript.viewport.top == 0
        await pilot.press("pagedown", "pagedown")
        assert transcript.viewport.top > 0
        await pilot.press("ctrl+end")
        assert transcript.viewport.at_end and transcript.at_last
        node = transcript.node
        await pilot.press("escape")
        await pilot.pause(0.05)
        assert not screen.panels.is_reading and screen.panels.has_space_for("context") and transcript.node == node
