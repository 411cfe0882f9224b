"""Compactions on the screen: from the rule, the call before, a better summary staged."""

from __future__ import annotations

from ctxtui.tui.lists.compactions import CompactionsScreen
from tests.analysis.content.test_compactions import forgetful
from tests.tui.inspector.test_inspector import opened, text, until


async def test_from_the_rule_to_what_was_lost_and_a_better_summary() -> None:
    async with opened(forgetful()) as (screen, pilot):
        transcript = screen.panels.transcript
        await pilot.press("less_than_sign", "down")
        assert transcript.rule is not None and transcript.node is None
        at = transcript.cursor
        screen.state.show()
        assert transcript.cursor == at, "figures that come in do not move it"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.app.screen, CompactionsScreen) and bool(screen.app.screen.every))
        page = screen.app.screen
        assert isinstance(page, CompactionsScreen)
        await pilot.pause(0.05)
        drawn = "\n".join(strip.text for strip in page._compositor.render_strips())
        assert "before call 3" in drawn and "src/lost.py" in drawn and "read again at 3" in drawn
        await pilot.press("w")
        assert {fact.text for fact in page.rows if fact.kept} and page.pane.title == "kept"
        await pilot.press("s")
        await until(pilot, lambda: screen.app.screen is screen and bool(screen.edits.overlay.staged))
        await pilot.pause(0.05)
        assert screen.state.index == 1, "the call before"
        [edit] = screen.edits.overlay.staged
        assert edit.kind == "summarize" and "src/lost.py" in edit.given["text"]
        assert transcript.new is not None and "staged" in text(screen)
