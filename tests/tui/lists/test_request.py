"""The next request as text: whole, under staged edits, and its difference from that of the call shown."""

from __future__ import annotations

import json

import pytest

from ctxtui.tui.lists.request import Requests, RequestScreen
from ctxtui.views.blocks.request_text import diff_lines, lines, wrap
from ctxtui.views.text.span import plain, width
from ctxtui.wire.registry import DIALECTS
from tests.cases.sessions import session_in
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened
from tests.tui.waiting import until


async def test_the_request_under_staged_edits_stands_there_whole_and_as_difference() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("d", "O")
        shown = pilot.app.screen
        assert isinstance(shown, RequestScreen)
        await until(pilot, lambda: shown._texts is not None)
        assert shown._texts is not None
        body = shown._texts.body
        assert json.loads(body)["messages"] and b"line of code" not in body and b"second question" in body
        rows = [plain(row) for row in shown._pane._rows]
        assert "".join(rows[0].split()) == "{" and any("second question" in row for row in rows)
        await pilot.press("tab")
        await pilot.pause()
        rows = [plain(row) for row in shown._pane._rows]
        assert any(row.startswith("- ") and "line of code" in row for row in rows), "what the edit takes out"
        assert any(row.startswith("+ ") for row in rows), "what the answer and the edit bring"
        await pilot.press("escape")
        assert pilot.app.screen is screen


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_recording_of_every_dialect_has_a_next_request_and_a_difference(dialect: str) -> None:
    async with opened(session_in(dialect)[0]) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("O")
        shown = pilot.app.screen
        assert isinstance(shown, RequestScreen)
        await until(pilot, lambda: shown._pane.lines is not None)
        assert shown._texts is not None, [plain(row) for row in shown._pane._rows]
        await pilot.press("tab")
        assert any(plain(row).startswith("+ ") and "the answer" in plain(row) for row in shown._pane._rows)


@pytest.mark.parametrize(("recorded", "sentence"), [(None, "is not sent yet"), (b"{}", "the same as the request of")])
async def test_without_a_difference_the_reason_is_shown(recorded: bytes | None, sentence: str) -> None:
    async with opened(session()) as (_, pilot):
        shown = RequestScreen(lambda: Requests(b"{}", recorded), "")
        await pilot.app.push_screen(shown)
        await until(pilot, lambda: shown._texts is not None)
        await pilot.press("tab")
        assert sentence in plain(shown._pane._rows[0])


def test_only_what_differs_is_listed_with_what_stands_around_it() -> None:
    before = {"model": "m", "messages": [{"role": "user", "content": f"text {n} " * 20} for n in range(40)]}
    after = {**before, "messages": [*before["messages"][:20], *before["messages"][21:]]}
    told = [plain(line) for line in diff_lines(lines(json.dumps(before).encode()), lines(json.dumps(after).encode()))]
    assert [line for line in told if line.startswith("- ") and "text 20 " in line] and len(told) < 20
    assert not [line for line in told if line.startswith("+ ")]
    assert diff_lines(lines(b'{"a":1}'), lines(b'{"a":1}')) == []


def test_a_long_text_is_broken_behind_its_newlines_and_fits() -> None:
    text = "first line\nsecond \\n not a break\n" + "word " * 60
    (line,) = [row for row in lines(json.dumps({"text": text}).encode()) if "first" in plain(row)]
    rows = list(wrap(line, 60))
    assert plain(rows[0]).endswith("first line\\n") and plain(rows[1]).strip().startswith("second \\\\n not")
    assert all(width(row) <= 60 for row in rows)
