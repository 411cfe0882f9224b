"""Advice on the screen: findings and policies in one list, safe ones first; Enter shows what would go and stages it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import TypeVar

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from ctxtui.analysis.findings.suggestions import Suggestion
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.curation.policies.risk import Risk
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import Report
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.advice import AdviceScreen, ChangesScreen
from ctxtui.tui.lists.money import TotalScreen
from ctxtui.tui.lists.policies import PoliciesScreen
from ctxtui.views.lists import suggestions as views
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain
from tests.analysis.lab.recordings import grown
from tests.cases.inspect import HandMade, app_of
from tests.cases.long_runs import long_run
from tests.cases.sessions import Story, use
from tests.sampling import few
from tests.services.library.test_findings import found, planted
from tests.tui.inspector.test_inspector import opened, settled, text, until

T = TypeVar("T")


class WithFindings(HandMade):
    """A source whose findings are worked out here, of the context as it is without edits."""

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        assert kind.name == "findings"
        thread, number, _ = kind.about.split("\n", 2)
        assert thread == "main"
        return found(self.session, int(number))[0]  # type: ignore[return-value]


def source(session: Session) -> WithFindings:
    made = WithFindings(session)
    made.settings = Settings(data_dir=made.settings.data_dir)
    return made


@asynccontextmanager
async def advised(
    session: Session, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[InspectorScreen, Pilot[None]]]:
    """The inspector with a session whose findings are known."""
    async with app_of(source(session)).run_test(size=size) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        yield screen, pilot


def results() -> Session:
    """Results that no answer quotes: policies have much to do."""
    story = Story(hidden_tokens=0)
    story.user("look through the shop")
    for n in range(12):
        story.call(use(f"t{n}", "Read", path=f"src/shop/part_{n}.py"))
        story.results((f"t{n}", f"line {n} of code\n" * 1500))
    story.call("All is fine.")
    return story.session


def does(edits: Iterable[Edit]) -> list[tuple[str, str, str]]:
    """What edits do, whatever they are called: those of a user are named when they are staged."""
    return [(one.kind, str(one.targets), one.payload) for one in edits]


def seen(pilot: Pilot[None]) -> str:
    return text(pilot.app.screen)  # type: ignore[arg-type]


async def listed(screen: InspectorScreen, pilot: Pilot[None]) -> AdviceScreen:
    await until(pilot, lambda: screen.edits.staging_area is not None and screen.edits.check_ready())
    await pilot.press("exclamation_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, AdviceScreen))
    shown = pilot.app.screen
    assert isinstance(shown, AdviceScreen)
    await until(pilot, lambda: shown.is_complete)
    return shown


async def stage(shown: AdviceScreen, pilot: Pilot[None], at: int) -> None:
    """Stage row `at` by its blocks, where any would change."""
    shown.pane.move_to(at)
    await pilot.pause()
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is not shown)
    if isinstance(pilot.app.screen, ChangesScreen):
        await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))


async def test_findings_and_policies_stand_in_two_groups_and_none_twice() -> None:
    async with advised(planted()) as (screen, pilot):
        shown = await listed(screen, pilot)
        rows = shown.rows
        assert any(row.finding for row in rows) and any(row.advice for row in rows)
        assert [row.is_safe for row in rows] == sorted((row.is_safe for row in rows), reverse=True)
        for group in (True, False):
            worth = [row.worth for row in rows if row.is_safe == group]
            assert worth and worth == sorted(worth, reverse=True)
        assert all(row.freed > 0 or row.finding is not None for row in rows), "only what applies"
        policies = [row.finding.finding.policy for row in rows if row.finding is not None]
        assert not {(name,) for name in policies} & {row.advice.names for row in rows if row.advice is not None}
        assert "safe  removes no text" in seen(pilot) and "loses text  keeps what later" in seen(pilot)
        assert "what" in seen(pilot) and "frees  costs once  per call after  risk" in seen(pilot)


@pytest.mark.parametrize("staged", [False, True])
async def test_what_is_safe_loses_no_text_and_the_line_above_the_panes_names_nothing_else(staged: bool) -> None:
    async with advised(planted()) as (screen, pilot):
        if staged:  # the blocks that others are compared with are gone then
            await pilot.press("W", "d", "down", "d", "escape")
            await until(pilot, lambda: bool(screen.edits.overlay and screen.edits.overlay.staged))
        shown = await listed(screen, pilot)
        context = screen.edits.context_of(screen.panels.scene)  # type: ignore[arg-type]
        for row in shown.rows:
            places = [context.find(target) for edit in row.edits for target in edit.targets]
            tools = all(at is not None and context.items[at].place.section == "tools" for at in places)
            dropped = tools and {edit.kind for edit in row.edits} == {"drop"}
            assert row.is_safe == (row.what.risk is None or row.what.risk <= Risk.OUTSIDE or dropped), views.title(row)
        await pilot.press("escape")
        reasons = screen.panels.reasons
        await until(pilot, lambda: reasons.subject is not None)
        assert reasons.cut is None or any(
            (row.is_safe and row.advice is not None and row.advice.names == reasons.cut.names)
            or (row.finding is not None and row.is_safe and (row.finding.finding.policy,) == reasons.cut.names)
            for row in shown.rows
        )


@pytest.mark.parametrize("size", few([(80, 24), (120, 40), (200, 60)]))
async def test_enter_shows_what_would_go_then_stages_it_and_one_undo_takes_it_back(size: tuple[int, int]) -> None:
    async with advised(planted(), size) as (screen, pilot):
        shown = await listed(screen, pilot)
        at = next(n for n, row in enumerate(shown.rows) if row.finding is not None and row.finding.finding.edits)
        shown.pane.move_to(at)
        await pilot.pause()
        row = shown.pane.row
        assert row is not None
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChangesScreen))
        changes = pilot.app.screen
        assert isinstance(changes, ChangesScreen)
        await until(pilot, lambda: bool(changes.rows) and changes.is_final(changes.rows))
        about = {target.digest for edit in row.edits for target in edit.targets}
        tree = screen.state.scene.session.tree  # type: ignore[union-attr]
        assert {tree[block.node].block.digest for block in changes.rows if block.node} <= about
        assert f"frees {numbers.tokens(row.freed)}" in seen(pilot) and "⏎ stage" in seen(pilot)
        await pilot.press("escape")
        assert pilot.app.screen is shown, "nothing is staged by looking"
        await pilot.press("enter", "enter")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        assert does(overlay.staged) == does(row.edits)
        await pilot.press("u")
        assert not overlay.staged


async def test_what_is_staged_costs_and_frees_what_was_said() -> None:
    async with opened(results()) as (screen, pilot):
        shown = await listed(screen, pilot)
        row = next(row for row in shown.rows if row.advice is not None and row.is_safe)
        assert row.advice is not None and "externalize_large" in row.advice.names and row.what.moment is not None
        await stage(shown, pilot, shown.rows.index(row))
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        overlay, pane, staging = screen.edits.overlay, screen.panels.staged.content, screen.panels.staging
        assert overlay is not None and not overlay.applied and staging is not None and staging.freed == row.freed
        assert [one.id for one in overlay.staged] == [one.id for one in row.edits]
        assert pane is not None
        best = next(one for one in pane.moments if one.name == row.what.moment.name)
        assert best.once == pytest.approx(row.once, abs=1e-9), "it costs what it was said to cost"
        again = await listed(screen, pilot)
        names = {one.advice.names for one in again.rows if one.advice is not None}
        assert row.advice.names not in names, "what is staged already is not advised again"
        for one in again.rows:
            if one.advice is not None:
                assert one.freed == staging.after - one.advice.tag.after, "besides what is staged"


async def test_all_that_is_safe_is_staged_together() -> None:
    async with advised(planted()) as (screen, pilot):
        shown = await listed(screen, pilot)
        safe = [edit for row in shown.rows if row.is_safe and row.what.tag is not None for edit in row.edits]
        assert safe
        await pilot.press("A")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        staged = does(overlay.staged)
        assert set(staged) <= set(does(safe)) and len({target for _, target, _ in staged}) == len(staged)
        assert {target for _, target, _ in staged} == {target for _, target, _ in does(safe)}


async def test_its_command_line_is_copied() -> None:
    async with advised(planted()) as (screen, pilot):
        shown = await listed(screen, pilot)
        shown.pane.move_to(next(n for n, one in enumerate(shown.rows) if one.finding and one.finding.finding.policy))
        await pilot.pause()
        await pilot.press("y")
        assert pilot.app.clipboard.startswith("ctxtui curate ") and "--set" in pilot.app.clipboard
    async with opened(results()) as (screen, pilot):
        shown = await listed(screen, pilot)
        at = next(n for n, one in enumerate(shown.rows) if one.advice is not None)
        shown.pane.move_to(at)
        await pilot.pause()
        await pilot.press("y")
        advice = shown.rows[at].advice
        assert advice is not None and pilot.app.clipboard.endswith(advice.options())
        assert "--call" not in pilot.app.clipboard
        await pilot.press("escape", "[")
        shown = await listed(screen, pilot)
        shown.pane.move_to(next(n for n, one in enumerate(shown.rows) if one.advice is not None))
        await pilot.pause()
        await pilot.press("y")
        assert " --call 12 --after" in pilot.app.clipboard, "another call's context"


async def test_without_edits_neither_key_offers_to_stage_them() -> None:
    async with advised(planted()) as (screen, pilot):
        shown = await listed(screen, pilot)
        found_ = next(row.finding for row in shown.rows if row.finding is not None)
        by_hand = replace(found_.finding, edits=(), policy="", by_hand="shorten the prompt yourself")
        shown.rows = [Suggestion(what=replace(found_, finding=by_hand))]
        shown.draw_rows(0)
        for key in ("y", "enter"):
            shown.show_message(())
            await pilot.press(key)
            assert plain(shown.message_line.message) == "Nothing to stage: shorten the prompt yourself"


async def test_it_is_told_to_its_end_where_the_list_leaves_room() -> None:
    """Its last line is the command, which is of no use by half."""
    async with advised(planted(), (80, 40)) as (screen, pilot):
        shown = await listed(screen, pilot)
        await until(pilot, lambda: shown.pane.size.height == shown.pane.body_top + shown.pane.lines)
        assert len(shown.rows) > 2
        for row in shown.rows:
            assert shown.pane.row is row
            await pilot.pause()
            told = [plain(line).rstrip() for line in shown.board.shown(80)]
            drawn = [strip.text.rstrip() for strip in shown._compositor.render_strips()]
            first = drawn.index(told[0])
            assert drawn[first : first + len(told)] == told
            await pilot.press("down")


async def test_every_policy_is_one_key_away_with_its_settings() -> None:
    async with opened(results()) as (screen, pilot):
        shown = await listed(screen, pilot)
        assert "L policies" in seen(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, PoliciesScreen))
        assert len(pilot.app.screen.rows) >= 19  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert pilot.app.screen is shown


@pytest.mark.parametrize(
    ("word", "list_"),
    [
        *((word, AdviceScreen) for word in ("findings", "what would help", "stage the cheapest cut", "fixes")),
        ("policies", PoliciesScreen),
    ],
)
async def test_the_palette_finds_it_by_its_old_names(word: str, list_: type[object]) -> None:
    async with opened(results()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None and screen.edits.check_ready())
        await pilot.press("ctrl+p", *("space" if char == " " else char for char in word), "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, list_))


async def test_money_leads_to_it() -> None:
    async with opened(results()) as (screen, pilot):
        await until(
            pilot,
            lambda: (
                screen.edits.staging_area is not None and screen.edits.check_ready() and TotalScreen.ready(screen.state)
            ),
        )
        await pilot.press("dollar_sign")
        await until(pilot, lambda: isinstance(pilot.app.screen, TotalScreen))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, AdviceScreen))


async def test_a_search_that_nobody_waits_for_ends() -> None:
    async with opened(results()) as (screen, pilot):
        await listed(screen, pilot)
        scene, desk = screen.panels.scene, screen.edits.staging_area
        assert scene is not None and desk is not None
        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, screen.state.loader.request_load))
        assert proposals.advice(20, lambda: True) == []


async def test_breakpoints_that_are_staged_are_not_staged_again() -> None:
    async with advised(grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)) as (screen, pilot):

        async def staged_once_more() -> None:
            shown = await listed(screen, pilot)
            await stage(shown, pilot, next(n for n, one in enumerate(shown.rows) if one.finding and one.finding.marks))

        def said() -> str:
            return "".join(span.text for span in screen.prompt.hint)

        await staged_once_more()
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        before = list(overlay.staged)
        await staged_once_more()
        await until(pilot, lambda: "already staged" in said())
        assert list(overlay.staged) == before
        await until(pilot, lambda: screen.state.panels.staging is not None and screen.state.panels.staging.counted)
        await pilot.press("a")
        await until(pilot, lambda: "applied" in said())
        assert f"{len(before)} applied · " in said(), "no bare 0 behind it: they free nothing"
        await staged_once_more()
        await until(pilot, lambda: "already applied" in said())
