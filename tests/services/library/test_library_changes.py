"""What the shelf notices between two looks: files that grow, files that come."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.session_actions import is_first_run, mark_welcomed


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder of one project in an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "own"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CTXTUI_DB"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    return folder


def _write(path: Path, age: float = 1000.0) -> None:
    path.write_text('{"type":"summary"}\n')
    then = time.time() - age
    os.utime(path, (then, then))


def test_a_file_that_grows_is_touched_once_and_live(projects: Path) -> None:
    _write(projects / "a.jsonl")
    shelf = SessionLibrary(Settings(), projects)
    (one,) = [s for s in shelf.list_fast() if s.group != "samples"]
    assert shelf.find_changed([one]) == [] and not one.live
    with (projects / "a.jsonl").open("a") as file:
        file.write("{}\n")
    (now,) = shelf.find_changed([one])
    assert now.live and now.size == one.size + 3 and now.mtime > one.mtime
    assert shelf.find_changed([now]) == []


def test_a_session_at_rest_is_no_longer_live(projects: Path) -> None:
    _write(projects / "a.jsonl", age=119)
    shelf = SessionLibrary(Settings(live_seconds=119.2), projects)
    (one,) = [s for s in shelf.list_fast() if s.group != "samples"]
    assert one.live
    time.sleep(0.3)
    assert [s.live for s in shelf.find_changed([one])] == [False]


def test_a_new_file_changes_its_folder(projects: Path) -> None:
    _write(projects / "a.jsonl")
    shelf = SessionLibrary(Settings(), projects)
    shelf.list_fast()
    assert not shelf.folders_changed()
    _write(projects / "b.jsonl")
    assert shelf.folders_changed()
    shelf.list_fast()
    assert not shelf.folders_changed()
    (projects.parent / "-another").mkdir()
    assert shelf.folders_changed()


def test_a_file_that_went_is_not_touched(projects: Path) -> None:
    _write(projects / "a.jsonl")
    shelf = SessionLibrary(Settings(), projects)
    found = shelf.list_fast()
    (projects / "a.jsonl").unlink()
    assert [s for s in shelf.find_changed(found) if s.group != "samples"] == []


def test_the_first_run_is_first_once(projects: Path) -> None:
    settings = Settings()
    assert is_first_run(settings)
    mark_welcomed(settings)
    assert not is_first_run(settings)


def test_a_home_that_cannot_be_written_is_no_error(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_HOME", "/proc/nowhere")
    mark_welcomed(Settings())
    assert is_first_run(Settings())
