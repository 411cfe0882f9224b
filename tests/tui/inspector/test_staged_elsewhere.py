"""An agent stages an edit while its session is open: the inspector shows it, and the user applies it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.cli.run import run
from ctxtui.services.config.config import load
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load as open_file
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.cases.claude_code_requests import parallel
from tests.tui.inspector.test_inspector import settled, text, until


async def test_what_an_agent_stages_is_seen_at_once_and_applied_by_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.setenv("CTXTUI_TIPS", "0")
    path = tmp_path / "0a1b2c3d-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(parallel().dump())
    config = load(())
    app = make_app(str(path), config)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        loaded = open_file(path)
        tip = next(thread.tip for thread in loaded.session.threads.values() if thread.tip)
        digest = next(
            loaded.session.tree[node].block.digest
            for node in reversed(loaded.session.tree.path(tip))
            if loaded.session.tree[node].block.kind == "tool_result"
        )
        assert run(["stage", str(path), "--drop", digest[:12], "--author", "agent"]) == 0
        await until(pilot, lambda: "agent staged drop of" in text(screen))
        overlay = screen.edits.overlay
        assert overlay is not None and [edit.author for edit in overlay.staged] == ["agent"]
        await pilot.press("a")
        await until(pilot, lambda: bool(overlay.applied) and not overlay.unsaved)
    again = SessionEdits(open_file(path), config.settings).of_thread("main")
    assert [(edit.kind, edit.author) for edit in again.applied] == [("drop", "agent")]
