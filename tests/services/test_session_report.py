"""Reports of a screen say what the commands say."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ctxtui.core.session import MAIN
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.recordings.open import load
from ctxtui.services.workers.session_report import GROWTH, report
from tests.services.lookalike import claude_code


def test_growth_is_by_the_users_phases(tmp_path: Path) -> None:
    path, settings = tmp_path / "a.jsonl", Settings(data_dir=str(tmp_path / "data"))
    path.write_bytes(claude_code(4))
    loaded = load(path)
    turns = report(GROWTH, str(path), loaded, settings)
    assert turns.growth.rule == "turn" and turns.feasible is not None and turns.feasible.unit != "phase"
    notebook, calls = Notebook(loaded, settings), loaded.session.thread_calls(MAIN)
    for call, name in ((calls[0], "plan"), (calls[len(calls) // 2], "build")):
        notebook.store(replace(notebook.on_call(call.id, ""), text=f"phase: {name}"))
    phases = report(GROWTH, str(path), loaded, settings)
    assert [phase.name for phase in phases.growth.phases] == ["plan", "build"]
