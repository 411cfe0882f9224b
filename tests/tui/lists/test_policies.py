"""Policies on the screen: what each would do, and staging one under its name."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit import USER
from ctxtui.core.session import Session
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.policies import PoliciesScreen
from tests.cases.sessions import Story, use
from tests.tui.inspector.controllers.test_staging import at
from tests.tui.inspector.test_inspector import opened, text, until


def session() -> Session:
    story = Story(hidden_tokens=0)
    story.user("look through the shop")
    for n in range(12):
        story.call(use(f"t{n}", "Read", path=f"src/shop/part_{n}.py"))
        story.results((f"t{n}", f"line {n} of code\n" * 500))
    story.call("All is fine.")
    return story.session


async def listed(screen: InspectorScreen, pilot: Pilot[None]) -> PoliciesScreen:
    await pilot.press("exclamation_mark", "L")
    await until(pilot, lambda: isinstance(pilot.app.screen, PoliciesScreen))
    policies = pilot.app.screen
    assert isinstance(policies, PoliciesScreen)
    await until(pilot, lambda: all(row.freed is not None or row.why for row in policies._rows))
    return policies


async def choose(policies: PoliciesScreen, pilot: Pilot[None], name: str) -> None:
    index = next(n for n, row in enumerate(policies.rows) if row.name == name)
    policies.pane.move_to(index)
    await pilot.pause()
    assert policies.pane.row is not None and policies.pane.row.name == name
    await pilot.press("enter")


async def test_what_a_policy_is_said_to_free_is_what_staging_it_frees() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        policies = await listed(screen, pilot)
        row = next(one for one in policies._rows if one.name == "truncate_results")
        assert len(row.edits) > 2 and row.freed is not None and row.freed > 1000 and row.once is not None
        await choose(policies, pilot, "truncate_results")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None and staging.freed == row.freed
        assert [edit.id for edit in overlay.staged] == [edit.id for edit in row.edits] and not overlay.applied
        assert {edit.author for edit in overlay.staged} == {"truncate_results"}
        pane = screen.panels.staged.content
        assert pane is not None and pane.moments
        best = next(one for one in pane.moments if one.name == row.moment)
        assert best.once == pytest.approx(row.once, abs=1e-9) and best.per_call == row.per_call
        assert " truncate_results" in text(screen), "the row says who did it"
        await pilot.press("u")
        assert not overlay.staged, "one undo takes the policy back"


async def test_a_second_policy_is_told_for_what_it_adds() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await choose(await listed(screen, pilot), pilot, "truncate_results")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None
        first = staging.freed
        policies = await listed(screen, pilot)
        more = next(one for one in policies._rows if one.edits and (one.freed or 0) > 500)
        assert more.name != "truncate_results" and more.freed is not None
        await choose(policies, pilot, more.name)
        await until(pilot, lambda: screen.panels.staging is not staging)
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None and staging.freed == first + more.freed


async def test_the_users_pin_and_the_users_revert_win() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        at(screen, "line 3 of code")
        await pilot.press("p")
        pinned = overlay.staged[0].targets[0]
        await choose(await listed(screen, pilot), pilot, "truncate_results")
        policy = [edit for edit in overlay.staged if edit.author != USER]
        assert policy and all(pinned not in edit.targets for edit in policy)
        policies = await listed(screen, pilot)
        stands = next(row for row in policies._rows if row.name == "truncate_results")
        assert not stands.edits and len(stands.active_ids) == len(policy)
        await choose(policies, pilot, "truncate_results")
        assert [edit.author for edit in overlay.in_force] == [USER], "enter takes back what stands"
        policies = await listed(screen, pilot)
        assert not next(row for row in policies._rows if row.name == "truncate_results").edits, "and it stays so"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 16)])
async def test_the_list_fits_and_says_what_is_under_the_cursor(size: tuple[int, int]) -> None:
    async with opened(session(), size) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await listed(screen, pilot)
        await pilot.press("down")
        await pilot.pause(0.05)
        shown = text(pilot.app.screen)  # type: ignore[arg-type]
        assert all(len(line) <= size[0] for line in shown.splitlines())
        assert "keep_rounds" in shown and "would gain" in shown and "what it does" in shown


async def test_externalized_content_is_kept_with_the_edits() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        await choose(await listed(screen, pilot), pilot, "externalize_large")
        names = [str(edit.params["name"]) for edit in overlay.staged if "name" in edit.params]
        assert names and all(overlay._artifacts[name] for name in names)


async def test_a_policy_is_set_otherwise_and_worked_out_anew() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        policies = await listed(screen, pilot)
        before = policies._rows[0]
        assert before.name == "sliding_window" and policies.pane.row == before
        await pilot.press("i", "ctrl+u", *"n=2 slack=0 q=", "enter")
        assert "has no setting" in text(policies) and policies._rows[0] == before  # type: ignore[arg-type]
        await pilot.press("i")
        await until(pilot, lambda: "⏎ accept  esc leave " in text(policies) and "f1 help" in text(policies))  # type: ignore[arg-type]
        await pilot.press("escape")
        assert pilot.app.screen is policies, "esc leaves the line, not the list"
        await pilot.press("i", "ctrl+u", *"n=2 slack=0", "enter")
        await until(pilot, lambda: policies._rows[0].freed is not None and policies._rows[0] != before)
        after = policies._rows[0]
        assert {one.name: one.value for one in after.settings} == {"n": "2", "keep_first": "1", "slack": "0"}
        assert len(after.edits) > len(before.edits) and "n = 2" in text(policies)  # type: ignore[arg-type]
        await pilot.press("enter")
        overlay = screen.edits.overlay
        assert overlay is not None and len(overlay.staged) == len(after.edits)
