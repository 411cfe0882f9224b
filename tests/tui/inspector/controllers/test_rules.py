"""Rules between rows: the cursor stands on each, and Enter opens something, or says what it stands for."""

from __future__ import annotations

from tests.cases.sessions import compacted, every_category
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, text, until


def kinds(rows: object) -> dict[str, int]:
    """The rules by kind, each with its row."""
    found = {}
    for index in range(rows.count):  # type: ignore[attr-defined]
        rule = rows.rule_at(index)  # type: ignore[attr-defined]
        if rule is not None:
            found[rule.kind] = index
    return found


async def test_an_answer_opens_as_a_whole_and_folds_again() -> None:
    async with opened(every_category()) as (screen, pilot):
        pane = screen.panels.transcript
        assert pane.data is not None
        row = kinds(pane.data)["answer"]
        pane.move_to(row)
        assert pane.cursor == row and pane.node is None
        before = pane.viewport.heights.total
        assert "opens its blocks" in text(screen)
        await pilot.press("enter")
        await pilot.pause()
        assert pane.viewport.heights.total > before and "answer of call" in text(screen) and "opened" in text(screen)
        await pilot.press("enter")
        await pilot.pause()
        assert pane.viewport.heights.total == before and pane.cursor == row


async def test_an_epoch_leads_to_its_first_call() -> None:
    async with opened(compacted()) as (screen, pilot):
        pane = screen.panels.transcript
        assert pane.data is not None
        row = kinds(pane.data)["resume"]
        pane.move_to(row)
        await pilot.press("enter")
        await pilot.pause()
        scene = screen.panels.scene
        assert scene is not None and str(scene.call.epoch.start) == "resume"
        assert f"call {scene.number:,} is the first call after it" in text(screen)


async def test_a_broken_prefix_says_what_it_costs() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("d")
        pane = screen.panels.transcript

        def breakage() -> bool:
            staged = screen.panels.staged.content
            return bool(pane.data and "break" in kinds(pane.data) and staged and staged.moments)

        await until(pilot, breakage)
        assert pane.data is not None
        pane.move_to(kinds(pane.data)["break"])
        await pilot.press("enter")
        await pilot.pause()
        assert "The request differs from here on" in text(screen) and "cached" in text(screen)
