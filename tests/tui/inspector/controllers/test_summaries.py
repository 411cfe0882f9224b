"""A summary by a model, from the screen: asked first, staged when it is there."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.services.chat import offline_provider
from ctxtui.tui.inspector.controllers.summaries import SummariesController
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.tui.inspector.controllers.test_export import said
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, until


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offline provider answers at once: how long a summary takes to come is not the point."""
    monkeypatch.setattr(offline_provider, "TOKENS_PER_SECOND", 0.0)


async def asked(screen: InspectorScreen, pilot: Pilot[None], name: str) -> None:
    """Mark two turns and name the model."""
    await until(pilot, lambda: screen.edits.staging_area is not None)
    at(screen, "first question")
    await pilot.press("space")
    at(screen, "The cart is fine")
    await pilot.press("v", "ctrl+s", "m")
    screen.prompt.set_text(name)
    await pilot.press("enter")


def question(screen: InspectorScreen) -> str:
    return "".join(span.text for span in screen.prompt.lead)


async def test_it_is_asked_before_anything_leaves_and_staged_when_it_is_there() -> None:
    async with opened(session()) as (screen, pilot):
        await asked(screen, pilot, "offline:offline")
        await until(pilot, lambda: "send" in question(screen))
        assert "tokens to offline (offline)" in question(screen)
        overlay = screen.edits.overlay
        assert overlay is not None and not overlay.staged
        await pilot.press("y")
        await until(pilot, lambda: bool(overlay.staged))
        (edit,) = overlay.staged
        assert edit.kind == SUMMARIZE and edit.params["by"] == "offline" and "no model" in str(edit.params["text"])
        assert "wrote it" in said(screen)
        assert screen.panels.staging is not None and screen.panels.staging.inserted


async def test_a_summary_that_is_refused_is_copied() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("p")
        await asked(screen, pilot, "offline:offline")
        await until(pilot, lambda: "send" in question(screen))
        await pilot.press("y")
        await until(pilot, lambda: "the text is copied" in said(screen))
        assert "✗" in said(screen) and "wrote it" not in said(screen)
        assert "no model" in pilot.app.clipboard
        overlay = screen.edits.overlay
        assert overlay is not None and [edit.kind for edit in overlay.staged] == ["pin"]


async def test_no_means_no() -> None:
    async with opened(session()) as (screen, pilot):
        await asked(screen, pilot, "offline:offline")
        await until(pilot, lambda: "send" in question(screen))
        await pilot.press("n")
        assert screen.edits.overlay is not None and not screen.edits.overlay.staged and not screen.line.is_asking


async def test_a_provider_that_is_not_there_is_said() -> None:
    async with opened(session()) as (screen, pilot):
        await asked(screen, pilot, "vllm:nothing")
        await until(pilot, lambda: said(screen).startswith("✗"))
        assert screen.edits.overlay is not None and not screen.edits.overlay.staged


async def test_a_summary_from_the_record_has_the_length_that_is_asked_for() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v", "s")
        overlay, long = screen.edits.overlay, ""
        assert overlay is not None
        long = str(overlay.staged[0].params["text"])
        await pilot.press("s")
        assert "tokens of this summary" in question(screen)
        screen.prompt.set_text("40")
        await pilot.press("enter")
        short = str(overlay.in_force[-1].params["text"])
        assert len(short) < len(long) and short.splitlines()[0] == long.splitlines()[0]
        assert screen.panels.transcript.place.new is not None, "the cursor stays on it"
        await pilot.press("s")
        screen.prompt.set_text("much")
        await pilot.press("enter")
        assert "Type a number" in said(screen)
        await pilot.press("s")
        screen.prompt.set_text("3")
        await pilot.press("enter")
        assert "No summary fits" in said(screen) and overlay.in_force[-1].params["text"] == short


@pytest.mark.parametrize("key", ["", "k"])
async def test_a_model_is_offered_first_where_a_key_is_set(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v")
        keys = [one.key for one in screen.keys.keys]
        assert (keys.index("^s") < keys.index("s")) == bool(key)
        await pilot.press("s")
        await until(pilot, lambda: "summarized" in said(screen))
        assert ("^s lets a model write it; s sets its length" if key else "no model; s sets its length") in said(screen)


async def test_a_remark_is_kept_with_the_summary() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v", "s")
        at(screen, "first question")
        screen.owner(SummariesController).remark()
        screen.prompt.set_text("too short")
        await pilot.press("enter")
        assert screen.edits.overlay is not None
        edit = screen.edits.overlay.staged[-1]
        assert (edit.kind, edit.params["text"]) == ("annotate", "too short") and "remark saved" in said(screen)


async def test_an_answer_that_comes_late_stands_in_the_thread_that_asked() -> None:
    async with opened(session()) as (screen, pilot):
        await asked(screen, pilot, "offline:offline")
        await until(pilot, lambda: "send" in question(screen))
        desk = screen.edits.staging_area
        assert desk is not None
        mine, screen.state.thread = screen.state.thread, "elsewhere"
        await pilot.press("y")
        await until(pilot, lambda: bool(desk.overlay(mine).staged))
        await until(pilot, lambda: "it is staged in the thread that it summarizes" in said(screen))
        screen.state.thread = mine
        assert not desk.overlay("elsewhere").staged
