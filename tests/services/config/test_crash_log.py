"""The log of a crash: for its user alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ctxtui.services.config.crash_log import write_crash


def test_the_log_and_its_folder_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    path = write_crash(ValueError("x"), ["show"], session="")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
