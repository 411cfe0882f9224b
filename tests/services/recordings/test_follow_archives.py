"""An archive that a client still writes is followed: its directory is overwritten, and written again behind it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.services.recordings import recording
from ctxtui.services.recordings.open import load
from tests.cases import client_homes
from tests.cases.agents import mini_swe_agent
from tests.transcripts.formats import test_aider_llm_history as aider_llm_history
from tests.transcripts.formats.inspect_ai.test_inspect import sample
from tests.transcripts.reading import as_bytes


def test_samples_appear_as_they_end(tmp_path: Path) -> None:
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


def test_nor_does_what_a_half_written_file_beside_it_seemed_to_hold(tmp_path: Path) -> None:
    """The chat history has the counts of an answer in aider's record of its messages."""
    chat, path = aider_llm_history.CHAT.encode(), tmp_path / aider_llm_history.NAME
    beside = tmp_path / ".aider.chat.history.md"
    for cut in range(len(chat) // 3, len(chat), 5):
        path.write_text(aider_llm_history.SENT)
        beside.write_bytes(chat[:cut])
        loaded = load(path)
        with beside.open("ab") as file:
            file.write(chat[cut:])
        loaded.more()
        assert loaded.session.calls == load(path).session.calls


def test_a_large_file_that_must_be_read_anew_leaves_time_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_bytes(client_homes.aider())
    loaded = load(path)
    monkeypatch.setattr(recording, "_PAUSE_FACTOR", 5.0)
    # Of each look: its own time; if the file is read, its beginning and its end.
    clock: Iterator[float] = iter([0.0, 0.0, 2.0, 3.0, 3.0, 11.9, 11.9, 12.0, 12.0, 12.5])
    monkeypatch.setattr(recording.time, "monotonic", lambda: next(clock))
    with path.open("ab") as file:
        file.write(client_homes.aider())
    assert loaded.more(), "reading took 2 seconds"
    with path.open("ab") as file:
        file.write(client_homes.aider())
    assert not loaded.fetch() and not loaded.fetch(), "3 and 11.9 seconds: not yet"
    assert loaded.more(), "12 seconds"
    assert len(loaded.session.calls) == 3
