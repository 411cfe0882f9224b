"""An archive that a client still writes is followed: its directory is overwritten, and written again behind it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ctxtui.services.recordings import recording
from ctxtui.services.recordings.open import load
from tests.cases import client_homes
from tests.cases.agents import mini_swe_agent
from tests.transcripts.formats.inspect_ai.test_inspect import sample
from tests.transcripts.reading import as_bytes


def test_samples_appear_as_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_PAUSE_FACTOR", 0.0)
    path = tmp_path / "run.eval"
    start = {"eval": {"task": "look", "run_id": "r"}, "plan": {}}
    for name, value in (("_journal/start.json", start), ("samples/1_epoch_1.json", sample())):
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, json.dumps(value))
    loaded = load(path)
    assert loaded.follows and not loaded.fetch()
    before = dict(loaded.session.calls)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/2_epoch_1.json", json.dumps({**sample(), "id": "second"}))
    assert loaded.more()
    assert "sample second epoch 1" in loaded.session.threads and len(loaded.session.calls) == 2 * len(before)
    assert loaded.session.calls == load(path).session.calls and not loaded.session.skipped
    path.write_bytes(path.read_bytes()[:100])
    assert not loaded.fetch(), "half written, it says nothing"
    assert "sample second epoch 1" in loaded.session.threads


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.traj.json", as_bytes(mini_swe_agent())), (".aider.chat.history.md", client_homes.aider() * 2)],
)
def test_what_a_half_written_file_seemed_to_hold_does_not_stay(tmp_path: Path, name: str, data: bytes) -> None:
    """A last answer that is cut, or whose counts are not written yet, looked like another call."""
    path = tmp_path / name
    for cut in range(len(data) // 2, len(data), 10):
        path.write_bytes(data[:cut])
        loaded = load(path)
        with path.open("ab") as file:
            file.write(data[cut:])
        loaded.more()
        assert loaded.session.calls == load(path).session.calls
