"""The diff of two calls as one uses it."""

from __future__ import annotations

from ctxtui.tui.inspector.controllers.diff import DiffController
from ctxtui.tui.lists.diff import DiffScreen
from tests.cases.sessions import Story, compacted, every_category, hostile, use
from tests.tui.inspector.test_inspector import opened, until
from tests.tui.waiting import do


def text(screen: DiffScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


async def compared(screen, pilot):  # type: ignore[no-untyped-def]
    await until(pilot, lambda: isinstance(screen.app.screen, DiffScreen) and screen.app.screen.pane.data is not None)
    await pilot.pause(0.05)
    return screen.app.screen


async def test_the_call_before_is_compared_with_one_key_and_a_block_is_shown_in_its_context() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("P")
        diff = await compared(screen, pilot)
        assert "call 5 → 6" in text(diff) and "Both begin with" in text(diff) and "entered" in text(diff)
        row = diff.pane.cursor
        await pilot.press("n")
        assert diff.pane.cursor > row or len(diff.pane.data.found.changes) == 1
        await pilot.press("N", "enter")
        assert "│" in text(diff)
        node = diff.pane.data.change(diff.pane.cursor).after
        await pilot.press("o")
        await pilot.pause(0.1)
        assert screen.app.screen is screen and screen.panels.transcript.node == node


async def test_a_marked_call_is_held_against_another() -> None:
    async with opened(compacted()) as (screen, pilot):
        last = screen.state.index
        await pilot.press("home")
        await do(pilot, "DiffMarked")
        assert "call 1 is marked" in screen._compositor.render_strips()[-2].text
        await pilot.press("end")
        await do(pilot, "DiffMarked")
        diff = await compared(screen, pilot)
        assert f"call 1 → {last + 1}" in text(diff) and "left" in text(diff)
        await pilot.press("escape")
        await do(pilot, "DiffMarked")
        await do(pilot, "DiffMarked")
        await pilot.pause(0.1)
        assert screen.app.screen is screen and screen.owner(DiffController).marked is None


async def test_a_result_that_was_cleared_is_shown_word_by_word() -> None:
    story = Story()
    for result in ("alpha beta gamma\n" * 3, "[cleared]"):
        story.head = 0
        story.user("go").call(use("t1", "Bash", command="ls")).results(("t1", result)).user("on").call("ok")
    async with opened(story.session, size=(80, 24)) as (screen, pilot):
        await pilot.press("home", "right_square_bracket")
        await do(pilot, "DiffMarked")
        await pilot.press("end")
        await do(pilot, "DiffMarked")
        diff = await compared(screen, pilot)
        assert "≠" in text(diff) and "[cleared]" in text(diff) and "beta" in text(diff)


async def test_hostile_text_is_shown_and_not_obeyed() -> None:
    async with opened(hostile()) as (screen, pilot):
        await pilot.press("home")
        await do(pilot, "DiffMarked")
        await pilot.press("end")
        await do(pilot, "DiffMarked")
        diff = await compared(screen, pilot)
        for _ in range(len(diff.pane.data.rows)):
            await pilot.press("enter", "n")
        assert not set(text(diff)) & {"\x1b", "\x07", "\u202e"}
