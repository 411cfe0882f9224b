"""Writing the context as the applied edits leave it, from the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit import LEAVE
from ctxtui.services.editing import edited_context
from ctxtui.services.editing.exporting import is_searched
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.messages import TalkFrom
from tests.cases.sessions import Story
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, until


async def dropped(screen: InspectorScreen, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: screen.edits.staging_area is not None)
    at(screen, "line of code")
    await pilot.press("d", "a")
    assert screen.edits.overlay is not None and screen.edits.overlay.applied


def said(screen: InspectorScreen) -> str:
    return "".join(span.text for span in screen.prompt.hint)


async def written(screen: InspectorScreen, pilot: Pilot[None], key: str, name: str = "") -> str:
    """Export as `key`, to the file `name`; what is said then."""
    await pilot.press("ctrl+e", key)
    if name:
        assert screen.line.is_asking and screen.prompt.text
        screen.prompt.set_text(name)
        await pilot.press("enter")
    await until(pilot, lambda: said(screen)[:1] in "✓✗" and "writing" not in said(screen))
    return said(screen)


async def test_a_request_leaves_without_what_was_dropped(tmp_path: Path) -> None:
    async with opened(session()) as (screen, pilot):
        await dropped(screen, pilot)
        at(screen, "second question")
        await pilot.press("d")
        made = tmp_path / "request.json"
        told = await written(screen, pilot, "a", str(made))
        assert told.startswith("✓") and str(made) in told and "staged edits are not included (1)" in told
        body = made.read_text()
        assert "line of code" not in body and "second question" in body
        assert json.loads(body)["messages"][0]["role"] == "user" and made.stat().st_mode & 0o777 == 0o600
        again = await written(screen, pilot, "a", str(made))
        assert again.startswith("✗") and "the file exists" in again


async def test_edits_can_be_used_again_and_curl_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(session()) as (screen, pilot):
        await dropped(screen, pilot)
        made = tmp_path / "edits.jsonl"
        assert (await written(screen, pilot, "e", str(made))).startswith("✓")
        assert [json.loads(line)["kind"] for line in made.read_text().splitlines()] == ["drop"]
        copied: list[str] = []
        monkeypatch.setattr(screen.app, "copy_to_clipboard", copied.append)
        at(screen, "second question")
        await pilot.press("d")
        told = await written(screen, pilot, "u")
        assert "curl" in told and "staged edits are not included (1)" in told
        assert copied[0].startswith("curl ") and "line of code" not in copied[0] and "second question" in copied[0]


async def test_what_does_not_fit_into_the_clipboard_can_be_written_with_the_keys_that_are_named(tmp_path: Path) -> None:
    story = Story(hidden_tokens=0)
    story.user("many words " * 8_000)
    story.call("Yes.")
    async with opened(story.session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        told = await written(screen, pilot, "u")
        assert "do not fit into the clipboard" in told
        named = re.search(r"(ctrl\+e), then (\w), writes a file", told)
        assert named is not None and named[1] == "ctrl+e"
        assert (await written(screen, pilot, named[2], str(tmp_path / "request.json"))).startswith("✓")


async def test_escape_writes_nothing(tmp_path: Path) -> None:
    async with opened(session()) as (screen, pilot):
        await dropped(screen, pilot)
        await pilot.press("ctrl+e", "escape")
        assert not screen.line.is_asking
        await pilot.press("ctrl+e", "c", "escape")
        assert not screen.line.is_asking and not list(tmp_path.iterdir())
        await pilot.press("u")
        assert screen.edits.overlay is not None and not screen.edits.overlay.applied, "keys mean what they meant"


async def test_while_something_is_typed_the_key_asks_nothing() -> None:
    async with opened(session()) as (screen, pilot):
        await dropped(screen, pilot)
        await pilot.press("g", "x", "ctrl+e", "ctrl+s")
        assert screen.line.is_asking and screen.prompt.text == "x" and not screen.prompt.keys


async def test_f_asks_where_to_go_on_copies_the_command_and_keeps_it_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("d", "f")
        assert "1 staged edit is not applied yet" in said(screen)
        await pilot.press("a", "f")
        asked = "".join(span.text for span in screen.prompt.lead)
        assert "h here  l claude --resume  x codex resume  c curl  w file" in asked
        copied: list[str] = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await pilot.press("c")
        await until(pilot, lambda: bool(copied))
        assert copied[0].startswith("curl ") and "line of code" not in copied[0]
        await until(pilot, lambda: "copied: curl request" in said(screen))
        await pilot.press("f", "w")
        made = tmp_path / "on.json"
        screen.prompt.set_text(str(made))
        await pilot.press("enter")
        await until(pilot, lambda: len(copied) == 2)
        assert copied[1] == str(made) and made.exists()
        overlay = screen.edits.overlay
        assert overlay is not None
        went = [edit.params for edit in overlay.log if edit.kind == LEAVE]
        assert [one["command"] for one in went] == ["curl", ""] and went[1]["place"] == str(made)
        assert len(overlay.applied) == 1 and overlay.last_done[0].kind == "apply", "it is no step of undo"
        sent: list[TalkFrom] = []
        monkeypatch.setattr(screen.access, "post", sent.append)
        await pilot.press("f", "h")
        assert [edit.kind for edit in sent[0].edits] == ["drop"], "a chat from here has the edits"


def test_a_tool_finds_what_stands_where_it_looks(tmp_path: Path) -> None:
    beside = tmp_path / ".claude" / "projects" / "-tmp-x" / "a.jsonl"
    beside.parent.mkdir(parents=True)
    beside.touch()
    env = {"HOME": str(tmp_path)}
    assert is_searched("claude-code", beside, env) and not is_searched("codex", beside, env)
    assert not is_searched("claude-code", tmp_path / "elsewhere.jsonl", env) and not is_searched(
        "anthropic", beside, env
    )


async def test_where_a_translation_would_be_refused_its_row_is_grey_and_its_key_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(session()) as (screen, pilot):
        await dropped(screen, pilot)
        monkeypatch.setattr(
            edited_context, "unfit_reason", lambda ready, form, source: "too large" if form == "codex" else ""
        )
        await pilot.press("f")
        grey = [span.text for span in screen.prompt.lead if span.style == "faint"]
        assert grey == [" x codex resume (too large) "]
        await pilot.press("x")
        assert said(screen) == "✗ not by codex resume: too large" and not screen.line.is_asking
