"""Marks are seen, cleared by one key, and change nothing that one is not looking at; jumps land on their target."""

from __future__ import annotations

from textual.pilot import Pilot

from ctxtui.tui.inspector.controllers.edit_log import OnlyEdits
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.cases.sessions import long_session
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, text, until


def said(screen: InspectorScreen) -> str:
    return "".join(span.text for span in (*screen.prompt.lead, *screen.prompt.hint))


def kinds(screen: InspectorScreen) -> list[str]:
    assert screen.edits.overlay is not None
    return [edit.kind for edit in screen.edits.overlay.staged]


async def ready(screen: InspectorScreen, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: screen.edits.staging_area is not None)


async def test_marks_stand_in_the_rule_cost_no_layout_and_esc_clears_them() -> None:
    async with opened(session()) as (screen, pilot):
        await ready(screen, pilot)
        boxes = dict(screen.panels.layout.boxes)
        at(screen, "line of code")
        await pilot.press("space")
        rule = next((line for line in text(screen).splitlines() if " marked · " in line), text(screen))
        assert "■ 1 marked · 1." in rule, "as many tokens as its row says"
        assert screen.panels.staging is None and dict(screen.panels.layout.boxes) == boxes
        assert "1 marked" in said(screen) and text(screen).count("■") >= 2, "on its row too"
        await pilot.press("escape")
        assert screen.state.marks == () and "1 mark cleared" in said(screen) and "■" not in text(screen)
        await pilot.press("escape")
        assert "cleared" not in said(screen)


async def test_a_key_for_marks_out_of_view_asks_which_blocks_are_meant() -> None:
    async with opened(long_session(40)) as (screen, pilot):
        await ready(screen, pilot)
        rows = screen.panels.transcript.data
        assert rows is not None
        screen.panels.transcript.move_to(1)
        marked = screen.panels.transcript.node
        await pilot.press("space")
        screen.panels.transcript.move_to(rows.count - 1)
        await pilot.press("d")
        assert not kinds(screen) and "out of view" in said(screen)
        await pilot.press("escape")
        assert not kinds(screen) and screen.state.marks == (marked,)
        await pilot.press("d", "o")
        await until(pilot, lambda: bool(kinds(screen)))
        staging, here = screen.panels.staging, screen.panels.transcript.node
        assert staging is not None and here in staging.fates and marked not in staging.fates
        assert screen.state.marks == ()


async def test_a_key_in_the_list_of_heavy_blocks_acts_on_the_block_there() -> None:
    async with opened(session()) as (screen, pilot):
        await ready(screen, pilot)
        at(screen, "second question")
        heavy = screen.panels.heaviest
        heavy.focus()
        await pilot.pause()
        target = heavy.node
        assert target is not None and target != screen.panels.transcript.node
        await pilot.press("p")
        assert screen.panels.transcript.node == target and kinds(screen) == ["pin"]
        assert screen.panels.staging is not None and screen.panels.staging.mark(target) == "pinned"


async def test_rows_and_place_stay_at_the_first_edit_and_a_jump_unfolds_its_target() -> None:
    async with opened(long_session(40)) as (screen, pilot):
        await ready(screen, pilot)
        pane, rows = screen.panels.transcript, screen.panels.transcript.data
        assert rows is not None
        pane.move_to(rows.count // 2)
        await pilot.pause()
        before, top, node = [entry for entry in rows.entries if entry >= 0], pane.viewport.top, pane.node
        await pilot.press("d")
        stood = [rows.entry(index) for index in range(rows.count)]
        assert [entry for entry in stood if entry >= 0] == before and pane.node == node
        assert abs(pane.viewport.top - top) <= 2, "a line says where the prefix ends"
        await pilot.press("z")
        assert rows.count < 20 and "edits only" in text(screen) and pane.node == node
        target = before[-5]
        assert target not in [rows.entry(index) for index in range(rows.count)]
        screen.state.to_block(target)
        assert pane.node == target and rows.count < 30
        category = rows.readings.tree[target].category
        await pilot.press("z")
        await pilot.press("a")
        assert screen.edits.overlay is not None and not screen.edits.overlay.staged
        assert OnlyEdits in screen.commands_now(), "also while all edits are applied"
        pane.move_to(0)
        for _ in range(2):
            screen.owner(NavigationController).next_filter(category)
        screen.state.to_block(target)
        assert pane.node == target, "its category is shown again"
        screen.state.go(0)
        screen.state.to_block(target)
        assert pane.node != target and "not in the context of this call" in said(screen)
