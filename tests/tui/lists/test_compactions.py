"""Compactions on the screen: from the rule, the call before, a better summary staged."""

from __future__ import annotations

from ctxtui.core.call import Epoch, EpochStart
from ctxtui.tui.lists.compactions import CompactionsScreen
from ctxtui.tui.lists.held_compaction import HeldCompactionScreen
from ctxtui.tui.messages import TalkFrom
from ctxtui.views.text.span import plain
from tests.analysis.content.test_compactions import forgetful
from tests.cases.sessions import Story
from tests.tui.inspector.test_inspector import opened, text, until
from tests.tui.waiting import do


async def test_from_the_rule_to_what_was_lost_and_a_better_summary() -> None:
    async with opened(forgetful()) as (screen, pilot):
        transcript = screen.panels.transcript
        await pilot.press("ctrl+home", "down")
        assert transcript.place.rule is not None and transcript.node is None
        at = transcript.cursor
        screen.state.show()
        assert transcript.cursor == at, "figures that come in do not move it"
        await pilot.press("enter")
        await until(
            pilot, lambda: isinstance(screen.app.screen, CompactionsScreen) and bool(screen.app.screen.compactions)
        )
        page = screen.app.screen
        assert isinstance(page, CompactionsScreen)
        await pilot.pause(0.05)
        drawn = "\n".join(strip.text for strip in page._compositor.render_strips())
        assert "before call 3" in drawn and "src/lost.py" in drawn and "read again at 3" in drawn
        await pilot.press("tab")
        assert {fact.text for fact in page.rows if fact.is_kept} and page.pane.title == "kept"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: screen.app.screen is screen and bool(screen.edits.overlay.staged))
        await pilot.pause(0.05)
        assert screen.state.index == 1, "the call before"
        [edit] = screen.edits.overlay.staged
        assert edit.kind == "summarize" and "src/lost.py" in edit.params["text"]
        assert transcript.place.new is not None and "staged" in text(screen)


async def test_one_key_goes_on_from_the_call_before_once_the_better_summary_is_read() -> None:
    async with opened(forgetful()) as (screen, pilot):
        sent: list[TalkFrom] = []
        screen.access.post = sent.append  # type: ignore[assignment,method-assign]
        await until(pilot, lambda: screen.edits.is_editable())
        await pilot.press("Z")
        await until(
            pilot, lambda: isinstance(screen.app.screen, CompactionsScreen) and bool(screen.app.screen.compactions)
        )
        await do(pilot, "GoOnBetter")
        await until(pilot, lambda: screen.line.is_asking and "read it" in text(screen))
        overlay, rows = screen.edits.overlay, screen.panels.transcript.data
        assert overlay is not None and rows is not None and not overlay.applied and not sent
        [edit] = overlay.staged
        assert edit.id in rows.read and "src/lost.py" in text(screen), "it is open to be read"
        await pilot.press("down", "pagedown", "up", "enter")
        await until(pilot, lambda: bool(sent))
        assert sent[0].number == 2 and [one.id for one in sent[0].edits] == [edit.id]
        assert not screen.line.is_asking


async def test_what_is_not_wanted_stays_staged() -> None:
    async with opened(forgetful()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.is_editable())
        await pilot.press("Z")
        await until(
            pilot, lambda: isinstance(screen.app.screen, CompactionsScreen) and bool(screen.app.screen.compactions)
        )
        await do(pilot, "GoOnBetter")
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press("escape")
        overlay = screen.edits.overlay
        assert overlay is not None and len(overlay.staged) == 1 and not overlay.applied and not screen.line.is_asking


async def test_a_key_used_before_does_not_close_the_list() -> None:
    """Enter on a rule is a command like the key that opens the list."""
    async with opened(forgetful()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.is_editable())
        await pilot.press("d", "u", "ctrl+home", "down", "enter")
        await until(
            pilot, lambda: isinstance(screen.app.screen, CompactionsScreen) and bool(screen.app.screen.compactions)
        )
        page = screen.app.screen
        assert isinstance(page, CompactionsScreen)
        await pilot.press("u")
        assert screen.app.screen is page and "undo edit: not in this list" in plain(page.message_line.message)
        await pilot.press("Z")
        assert screen.app.screen is screen


async def test_an_empty_list_says_what_there_is_none_of() -> None:
    """Neither before the comparison nor among the kept facts does it say that nothing was lost."""
    async with opened(forgetful()) as (screen, pilot):
        page = HeldCompactionScreen(screen.state, "main", "Nothing of it.")
        screen.app.push_screen(page)
        await until(pilot, lambda: page.compaction is not None and bool(page.rows))
        await pilot.press("tab")
        assert not page.rows and plain(page.pane.empty()) == "The summary kept no file or decision."
        page.compaction = None
        page.list_facts()
        assert "comparing the summary with the history" in plain(page.pane.empty())


async def test_results_that_the_client_took_out_are_gone_to() -> None:
    story = Story().user("go").call("one").user("more").call("two")
    story.epoch = Epoch(2, EpochStart.MICROCOMPACTION, "24.2k → 3.1k")
    story.user("again").call("three").user("last").call("four")
    async with opened(story.session) as (screen, pilot):
        await pilot.press("Z")
        await until(pilot, lambda: "removed earlier results" in text(screen))
        assert screen.state.index == 2
