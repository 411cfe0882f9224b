"""Copying blocks as text."""

from __future__ import annotations

import pytest

from tests.cases.sessions import PNG, every_category
from tests.tui.inspector.controllers.test_staging import at
from tests.tui.inspector.test_inspector import opened, until


@pytest.mark.parametrize("marked", [False, True])
async def test_an_image_is_copied_as_a_line_about_it(monkeypatch: pytest.MonkeyPatch, marked: bool) -> None:
    async with opened(every_category()) as (screen, pilot):
        copied: list[str] = []
        monkeypatch.setattr(screen.app, "copy_to_clipboard", copied.append)
        at(screen, '"type":"image"')
        transcript = screen.panels.transcript
        rows, node = transcript.data, transcript.node
        assert rows is not None and node is not None
        # The first row that says so is the tool's result, which has a text; the image itself is the next one.
        await pilot.press("y")
        assert copied == ["a page"]
        await pilot.press("down", *(["space"] if marked else []))
        node = transcript.node
        assert node is not None
        await until(pilot, lambda: rows.readings.ready(node))
        await pilot.press("y")
        assert copied[-1] == ("--- image\n[image/png, 70 B]" if marked else "[image/png, 70 B]")


async def test_the_json_of_an_image_is_copied_where_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(every_category()) as (screen, pilot):
        copied: list[str] = []
        monkeypatch.setattr(screen.app, "copy_to_clipboard", copied.append)
        at(screen, '"type":"image"')
        await pilot.press("down", "r", "y")
        assert PNG in copied[-1]
