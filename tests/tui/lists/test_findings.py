"""Findings on the screen: ranked, staged by one key at the price that was told; a setting is said, not staged."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TypeVar

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import Report
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.findings import FindingsScreen
from ctxtui.views.lists import findings as views
from ctxtui.views.text.span import plain
from tests.analysis.lab.recordings import grown
from tests.cases.inspect import HandMade, app_of
from tests.cases.long_runs import long_run
from tests.sampling import few
from tests.services.library.test_findings import found, planted
from tests.tui.inspector.test_inspector import settled, until

T = TypeVar("T")


class WithFindings(HandMade):
    """A source whose findings are worked out here."""

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        assert kind.name == "findings"
        thread, number, log = kind.about.split("\n", 2)
        assert thread == "main" and log == ""
        return found(self.session, int(number))[0]  # type: ignore[return-value]


def source(session: Session) -> WithFindings:
    made = WithFindings(session)
    made.settings = Settings(data_dir=made.settings.data_dir)
    return made


def does(edits: Iterable[Edit]) -> list[tuple[str, str, str]]:
    """What edits do, whatever they are called: those of a user are named when they are staged."""
    return [(one.kind, str(one.targets), one.payload) for one in edits]


async def listed(screen: InspectorScreen, pilot: Pilot[None]) -> FindingsScreen:
    await settled(screen, pilot)
    await until(pilot, lambda: screen.edits.desk is not None and screen.edits.ready())
    await pilot.press("exclamation_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, FindingsScreen))
    shown = pilot.app.screen
    assert isinstance(shown, FindingsScreen)
    await until(pilot, lambda: shown.pane.rows is not None)
    return shown


async def test_a_finding_is_told_to_its_end_where_the_list_leaves_room() -> None:
    """Its last line is the command, which is of no use by half."""
    async with app_of(source(planted())).run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        shown = await listed(screen, pilot)
        await until(pilot, lambda: shown.pane.size.height == shown.pane.body_top + len(shown.rows))
        for row in shown.rows:
            assert shown.pane.row is row and shown.what is not None
            told = [plain(line).rstrip() for line in views.detail(row, shown.what, "a/long/folder/" * 6, 80)]
            shown.board.session = "a/long/folder/" * 6
            shown.board.redraw()
            await pilot.pause()
            seen = [strip.text.rstrip() for strip in shown._compositor.render_strips()]
            first = seen.index(told[0])
            assert seen[first : first + len(told)] == told
            await pilot.press("down")
        assert len(shown.rows) > 1
        await pilot.resize_terminal(80, 16)
        await until(pilot, lambda: shown.board.size.height >= 10)


@pytest.mark.parametrize("size", few([(80, 24), (120, 40), (200, 60)]))
async def test_enter_stages_the_cure_and_one_undo_takes_it_back(size: tuple[int, int]) -> None:
    async with app_of(source(planted())).run_test(size=size) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        shown = await listed(screen, pilot)
        row = shown.pane.row
        assert row is not None and row.finding.edits and row is shown.rows[0]
        await pilot.press("enter")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        assert does(overlay.staged) == does(row.finding.edits)
        await pilot.press("u")
        assert not overlay.staged


async def test_all_cures_are_staged_together() -> None:
    async with app_of(source(planted())).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        shown = await listed(screen, pilot)
        assert shown.what is not None
        wanted = does(shown.what.edits)
        await pilot.press("A")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: len(overlay.staged) == len(wanted))
        assert sorted(does(overlay.staged)) == sorted(wanted)


async def test_its_command_line_is_copied() -> None:
    async with app_of(source(planted())).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        shown = await listed(screen, pilot)
        at = next(n for n, one in enumerate(shown.rows) if one.finding.policy)
        shown.pane.move_to(at)
        await pilot.pause()
        await pilot.press("y")
        assert pilot.app.clipboard.startswith("ctxtui curate ")


class Again(WithFindings):
    """One whose findings are asked for again, over what is staged: its breakpoints are found again."""

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        return found(self.session, int(kind.about.split("\n", 2)[1]))[0]  # type: ignore[return-value]


async def test_breakpoints_that_are_staged_are_not_staged_again() -> None:
    session = grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)
    made = Again(session)
    made.settings = Settings(data_dir=made.settings.data_dir)
    async with app_of(made).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)

        async def staged_once_more() -> None:
            shown = await listed(screen, pilot)
            at = next(n for n, one in enumerate(shown.rows) if one.marks)
            shown.pane.move_to(at)
            await pilot.pause()
            await pilot.press("enter")
            await until(pilot, lambda: pilot.app.screen is screen)

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
