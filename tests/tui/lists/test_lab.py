"""The lab on the screen: variants and their curves, a further policy, a variant staged, or opened as a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.services.worker import Worker
from ctxtui.services.workers.lab_worker import OpenLab
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.lab import LabScreen
from ctxtui.views.lists.lab import LabLine
from ctxtui.views.text.span import plain
from tests.cases.inspect import HandMade
from tests.cli.lab.test_lab import script
from tests.tui.inspector.test_inspector import until


def from_file(path: str | Path) -> HandMade:
    """A source of the recording at `path`."""
    settings = Settings(data_dir=os.devnull)
    made = HandMade(open_named(locate(str(path), Path.cwd(), settings), settings).session)
    made.name, made.settings = str(path), settings
    return made


@pytest.fixture
def source(tmp_path: Path) -> HandMade:
    path = tmp_path / "one.jsonl"
    path.write_bytes(script(16))
    return from_file(path)


def app_of(source: HandMade) -> CtxtuiApp:
    """The app on `source`; other sessions are opened by their paths."""
    return CtxtuiApp(
        lambda: InspectorScreen(source),
        lambda target: InspectorScreen(from_file(target)),
        source.name,
        theme="dark",
        glyphs="unicode",
    )


async def opened(pilot: Pilot[None]) -> tuple[InspectorScreen, LabScreen]:
    screen = pilot.app.screen
    assert isinstance(screen, InspectorScreen)
    await until(pilot, lambda: screen.state.complete and screen.panels.scene is not None)
    await until(pilot, lambda: screen.edits.staging_area is not None and screen.edits.check_ready())
    await pilot.press("percent_sign")
    await until(pilot, lambda: isinstance(pilot.app.screen, LabScreen))
    shown = pilot.app.screen
    assert isinstance(shown, LabScreen)
    await until(pilot, lambda: shown.lab is not None)
    return screen, shown


async def to_row(pilot: Pilot[None], shown: LabScreen, wanted: Callable[[LabLine], bool]) -> None:
    await pilot.press("home")
    for _ in shown.rows:
        if shown.pane.row is not None and wanted(shown.pane.row):
            return
        await pilot.press("down")


def policies(shown: LabScreen) -> list[str]:
    return [line.row.policy for line in shown.rows]


async def test_variants_are_tried_added_and_staged(source: HandMade) -> None:
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen, shown = await opened(pilot)
        assert len(shown.rows) == 10
        costs = [line.row.usd or 0.0 for line in shown.rows]
        assert costs == sorted(costs)
        await pilot.press("plus", *"sliding_window", "space", *"n=4", "enter")
        await until(pilot, lambda: len(shown.rows) == 11)
        assert policies(shown).count("sliding_window") == 2
        await pilot.press("C", *"1h", "enter")
        await until(pilot, lambda: len(shown.rows) == 12)
        assert any(line.row.cache == "1h" for line in shown.rows)
        await pilot.press("C", *"never", "enter")
        await until(pilot, lambda: "no cache strategy" in plain(shown.message_line.message))
        drawn = [line.letter for line in shown.rows if line.letter]
        assert len(drawn) == len(set(drawn)) == 6
        await pilot.press("space")
        assert shown.rows[0].letter == ""
        await to_row(pilot, shown, lambda line: line.row.given_settings == {"n": 4})
        await pilot.press("A")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))


async def test_one_key_stages_the_breakpoints_of_the_row(source: HandMade) -> None:
    async with app_of(source).run_test(size=(80, 24)) as pilot:
        screen, shown = await opened(pilot)
        await pilot.press("C", *"1h", "enter")
        await until(pilot, lambda: any(line.row.cache == "1h" for line in shown.rows))
        await to_row(pilot, shown, lambda line: line.row.cache == "1h")
        await pilot.press("b")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        assert {(edit.kind, edit.payload) for edit in overlay.staged} == {("breakpoint", '{"ttl":"1h"}')}


async def test_enter_opens_a_variant_as_a_session(source: HandMade) -> None:
    async with app_of(source).run_test(size=(80, 24)) as pilot:
        screen, shown = await opened(pilot)
        await to_row(pilot, shown, lambda line: line.row.policy == "sliding_window")
        assert shown.pane.row is not None
        wanted = shown.pane.row.row
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen) and pilot.app.screen is not screen)
        made = pilot.app.screen
        assert isinstance(made, InspectorScreen)
        await until(pilot, lambda: made.state.complete)
        assert made.state.loaded is not None
        session = made.state.loaded.session
        calls = [call.usage.input for call in session.calls.values() if call.usage is not None]
        assert tuple(calls) == wanted.curve
        assert "what if: sliding_window" in session.about.title
        # The source of the test has no data folder: where the variant stands instead is said.
        await until(pilot, lambda: "temporary file" in plain(made.line.edit.hint))


def test_the_child_says_what_is_wrong(tmp_path: Path) -> None:
    from ctxtui.core.errors import CtxtuiError

    worker = Worker(OpenLab, str(tmp_path / "nothing.jsonl"), tmp_path, Settings())
    try:
        with pytest.raises(CtxtuiError, match="no such file"):
            list(worker.steps(OpenLab.try_variants))
    finally:
        worker.close()
