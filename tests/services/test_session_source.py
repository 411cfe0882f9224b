"""What an open session's source says of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ctxtui.services import session_source
from ctxtui.services.config import package_data
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from ctxtui.services.session_source import SessionSource


def test_a_sample_is_not_live_though_a_clone_has_just_written_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, other = tmp_path / "sample.jsonl", tmp_path / "other.jsonl"
    for path in (sample, other):
        shutil.copyfile(package_data.sample_paths()[0], path)
        os.utime(path)
    monkeypatch.setattr(session_source, "sample_paths", lambda: (sample,))
    live = [SessionSource(str(path), Settings()).is_live(load(path)) for path in (sample, other)]
    assert live == [False, True]
