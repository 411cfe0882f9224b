"""What ctxtui recorded of Kimi Code and the client's own session are one, whichever is opened; on a real capture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.attach.exchange_events import AnswerBegun, AnswerBytes, ExchangeEnded, RequestBegun, RequestBytes
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.core.call import Fidelity
from ctxtui.core.usage import Usage
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.recordings.joined_recording import JoinedRecording
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.fields import as_time
from tests.captures import capture
from tests.pty_app import environment


def _record(har: Path) -> list[Path]:
    """Record the exchanges of `har` as `ctxtui exec` does."""
    recorder = Recorder(RecordedRun(attached_dir(), "r", "run-r", program="kimi"))
    for number, entry in enumerate(json.loads(har.read_text())["log"]["entries"]):
        request, response, x = entry["request"], entry["response"], f"r.{number}"
        at = as_time(entry["startedDateTime"])
        assert at is not None
        fields, answered = (
            [(pair["name"], pair["value"]) for pair in side["headers"] if pair["name"].lower() != "content-encoding"]
            for side in (request, response)
        )
        recorder.put(RequestBegun(exchange_id=x, at=at, method=request["method"], url=request["url"], fields=fields))
        recorder.put(RequestBytes(x, request["postData"]["text"].encode(), last=True))
        recorder.put(AnswerBegun(x, at, response["status"], answered))
        recorder.put(AnswerBytes(x, at, response["content"]["text"].encode()))
        recorder.put(ExchangeEnded(x, at + entry["time"] / 1000))
    recorder.close()
    assert not recorder.troubles
    return recorder.files


@pytest.mark.parametrize("har", capture("kimi-code", "wire/*.har"))
def test_one_row_and_each_call_once(har: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(har.parent.parent / "sessions", tmp_path / "home" / ".kimi-code" / "sessions")
    (own,) = (tmp_path / "home" / ".kimi-code").glob("sessions/*/*/agents/main/wire.jsonl")
    alone = load(own).session
    (wire,) = _record(har)
    assert own.parts[-4] == f"session_{wire.stem}"
    library = SessionLibrary(load_config(cwd=tmp_path).settings, tmp_path)
    rows = [row.path for row in library.join_stored(library.list_with_directories()) if wire.stem in row.path]
    assert rows == [str(wire)]
    sent = json.loads(har.read_text())["log"]["entries"]
    for path in (own, wire):
        loaded = load(path)
        assert isinstance(loaded, JoinedRecording) and loaded.transcript == own
        calls = list(loaded.session.calls.values())
        assert len(calls) == len(alone.calls) > len(sent)
        # The client ended before it noted the third answer, which only ctxtui recorded.
        assert [n for n, call in enumerate(alone.calls.values(), 1) if call.usage is None] == [3]
        noted = {call.id: call.usage for call in alone.calls.values() if call.usage is not None}
        # Only the provider reports the tokens of thinking.
        plain = [replace(call.usage, reasoning=0) for call in calls if call.usage is not None]
        assert len(plain) == len(calls)
        assert {call.id: one for call, one in zip(calls, plain, strict=True) if call.id in noted} == noted
        assert plain[2] == Usage(cache_read=28025, write_5m=186, output=199)
        assert sum(call.fidelity == Fidelity.WIRE for call in calls) == len(sent)
