"""What would help, on the screen: ranked, staged by one key, copied as a command line."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from ctxtui.core.session import Session
from ctxtui.curation.policies.risk import Risk
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.advice import AdviceScreen
from ctxtui.tui.lists.costs.bill import BillScreen
from tests.cases.sessions import Story, use
from tests.tui.inspector.test_inspector import opened, until


def session() -> Session:
    story = Story(hidden_tokens=0)
    story.user("look through the shop")
    for n in range(12):
        story.call(use(f"t{n}", "Read", path=f"src/shop/part_{n}.py"))
        story.results((f"t{n}", f"line {n} of code\n" * 1500))
    story.call("All is fine.")
    return story.session


async def listed(screen: InspectorScreen, pilot: Pilot[None]) -> AdviceScreen:
    await until(pilot, lambda: screen.edits.desk is not None and screen.edits.ready())
    await pilot.press("H")
    await until(pilot, lambda: isinstance(pilot.app.screen, AdviceScreen))
    found = pilot.app.screen
    assert isinstance(found, AdviceScreen)
    await until(pilot, lambda: found.pane.rows is not None)
    return found


async def test_what_risks_least_then_what_saves_most_stands_first_and_enter_stages_it() -> None:
    async with opened(session()) as (screen, pilot):
        found = await listed(screen, pilot)
        order = [(one.risk, -one.saves) for one in found.rows if one.saves is not None]
        assert found.rows and order == sorted(order) and len(order) == len(found.rows)
        outside = next(n for n, one in enumerate(found.rows) if one.risk <= Risk.OUTSIDE)
        found.pane.move_to(outside)
        await pilot.pause()
        row = found.pane.row
        assert row is not None and row.names[-1] == "externalize_large"
        await pilot.press("enter")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        overlay = screen.edits.overlay
        assert overlay is not None and not overlay.applied
        assert [one.id for one in overlay.staged] == [one.id for one in row.edits]
        pane = screen.panels.staged.what
        assert pane is not None and row.moment is not None
        best = next(one for one in pane.moments if one.name == row.moment.name)
        assert best.once == pytest.approx(row.moment.once, abs=1e-9), "it costs what it was said to cost"
        await pilot.press("u")
        assert not overlay.staged, "one undo takes it back"


async def test_its_command_line_is_copied() -> None:
    async with opened(session()) as (screen, pilot):
        found = await listed(screen, pilot)
        row = found.pane.row
        assert row is not None
        await pilot.press("y")
        await pilot.pause()
        assert pilot.app.clipboard.startswith("ctxtui curate ") and pilot.app.clipboard.endswith(row.options())
        assert "--call" not in pilot.app.clipboard
        await pilot.press("escape", "[")
        found = await listed(screen, pilot)
        assert found.pane.row is not None
        await pilot.press("y")
        await pilot.pause()
        assert " --call 12 --after" in pilot.app.clipboard, "another call's context"


async def test_what_is_staged_already_is_not_advised_again() -> None:
    async with opened(session()) as (screen, pilot):
        found = await listed(screen, pilot)
        row = found.pane.row
        assert row is not None
        await pilot.press("enter")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        again = await listed(screen, pilot)
        assert all(set(one.names) != set(row.names) for one in again.rows)


async def test_the_bill_leads_to_it() -> None:
    async with opened(session()) as (screen, pilot):
        await until(
            pilot, lambda: screen.edits.desk is not None and screen.edits.ready() and BillScreen.ready(screen.state)
        )
        await pilot.press("dollar_sign")
        await until(pilot, lambda: isinstance(pilot.app.screen, BillScreen))
        await pilot.press("H")
        await until(pilot, lambda: isinstance(pilot.app.screen, AdviceScreen))


async def test_a_search_that_nobody_waits_for_ends() -> None:
    async with opened(session()) as (screen, pilot):
        await listed(screen, pilot)
        scene, desk = screen.panels.scene, screen.edits.desk
        assert scene is not None and desk is not None
        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, screen.state.feed.want))
        assert proposals.advice(20, lambda: True) == []
