"""Names as long as the system allows, and longer ones where a recording says an id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.exporting import write_private
from ctxtui.services.recordings.body_folder import find_body_session
from ctxtui.services.recordings.folder_scan import expand_names, find_in_folder
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.open_by_name import locate
from ctxtui.services.session_source import SessionSource

BODY = json.dumps({"model": "claude-x", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})
TOO_LONG = "x" * 300


@pytest.mark.parametrize("name", ["a" * 255, f"{'b' * 250}/c.json", f"{'d' * 250}.json"])
def test_a_recording_of_a_long_name_is_found_and_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(BODY)
    assert len(load(path).session.tree) > 1
    assert find_in_folder(tmp_path) == [path]


def test_an_id_that_is_no_file_name_names_no_transcript(tmp_path: Path) -> None:
    (tmp_path / "r.request.json").write_text(BODY)
    (tmp_path / "index.jsonl").write_text(json.dumps({"session_id": TOO_LONG, "request_file": "r.request.json"}) + "\n")
    assert find_in_folder(tmp_path) == [tmp_path]
    session = find_body_session(tmp_path)
    assert session is not None and session.id == TOO_LONG and session.transcript is None


def test_a_name_that_no_file_can_have_is_no_session(tmp_path: Path) -> None:
    for name in (TOO_LONG, f"{TOO_LONG}#y"):
        with pytest.raises(NotFound):
            locate(name, tmp_path, Settings(data_dir=str(tmp_path)))
        assert expand_names([name]) == [name]
        assert SessionSource(name, Settings(data_dir=str(tmp_path))).read_end() is None
    with pytest.raises(CtxtuiError, match="too long"):
        write_private(tmp_path / TOO_LONG, b"")
