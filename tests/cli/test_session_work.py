"""Work over the sessions that a command names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxtui.cli.session_work import read_sessions
from ctxtui.core.errors import NotFound
from ctxtui.services.config.settings import Settings

WORKED_ON: list[Any] = []


def work(named: Any, request: Any, say: Any) -> int:
    WORKED_ON.append(named)
    return len(WORKED_ON)


def test_a_name_that_is_given_twice_is_read_once(home: Path, tmp_path: Path) -> None:
    WORKED_ON.clear()
    path = tmp_path / "a.jsonl"
    path.write_text("{}")
    names = [str(path), "nowhere", str(path)]
    first, missing, again = read_sessions(f"{__name__}:work", names, None, Settings(), "reading")
    assert first.result == again.result == len(WORKED_ON) == 1
    assert isinstance(missing.error, NotFound) and missing.name == "nowhere"
