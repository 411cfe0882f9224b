"""A session that ctxtui recorded as it went by and the client's own transcript of it are one row, each call once."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest

from ctxtui.attach.exchange_events import AnswerBegun, AnswerBytes, ExchangeEnded, RequestBegun, RequestBytes
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.cli.all_sessions import known_sessions
from ctxtui.core.call import Call
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.spending import total_sessions
from ctxtui.services.recordings.open import load
from tests.pty_app import environment, plant


def record(calls: list[Call], session: str, own_times: bool = False) -> Path:
    """What ctxtui writes of answers with these ids, at the calls' `own_times` or one a second."""
    recorder = Recorder(RecordedRun(attached_dir(), "r", session, program="claude"))
    for number, call in enumerate(calls):
        x = f"r.{number + 1}"
        said = [{"role": "user", "content": "hoi"}]
        asked = {"model": call.model, "max_tokens": 9, "messages": said}
        used = call.usage
        assert used is not None
        usage = {
            "input_tokens": used.fresh,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "output_tokens": used.output,
        }
        answer = {"id": call.id, "type": "message", "role": "assistant", "model": call.model, "usage": usage}
        answer |= {"content": [{"type": "text", "text": "hoi"}], "stop_reason": "end_turn"}
        url = "https://api.anthropic.com/v1/messages"
        began = call.ended if own_times and call.ended is not None else 1.0 + number
        recorder.put(RequestBegun(exchange_id=x, at=began, method="POST", url=url, fields=()))
        recorder.put(RequestBytes(x, json.dumps(asked).encode(), last=True))
        recorder.put(AnswerBegun(x, began + 0.1, 200, [("content-type", "application/json")]))
        recorder.put(AnswerBytes(x, began + 0.2, json.dumps(answer).encode()))
        recorder.put(ExchangeEnded(x, began + 0.3))
    recorder.close()
    assert not recorder.troubles
    (path,) = recorder.files
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "home"


@pytest.mark.parametrize("seen", ["all", "the last two", "two more"])
def test_one_row_and_each_call_once(home: Path, tmp_path: Path, seen: str) -> None:
    transcript = plant(home, tmp_path)
    calls = list(load(transcript).session.calls.values())
    strange = [
        Call(f"msg_other{n}", "main", provider="anthropic", model=calls[0].model, usage=calls[0].usage) for n in (1, 2)
    ]
    by = {"all": calls, "the last two": calls[-2:], "two more": [*calls, *strange]}[seen]
    settings = load_config(cwd=tmp_path).settings
    alone = SessionLibrary(settings, tmp_path)
    (before,) = alone.figures([one for one in alone.list_fast() if one.path == str(transcript)], Event())
    path = record(by, transcript.stem)
    library = SessionLibrary(settings, tmp_path)
    shown = [one for one in library.join_stored(library.list_with_directories()) if one.id == transcript.stem]
    (row,) = shown
    assert row.path == str(path) and row.source == "attached" and row.group == "here"
    (known,) = library.figures(shown, Event())
    ids = {call.id for call in by} | {call.id for call in calls}
    assert known.key == row.key and known.calls == len(ids) == len({call.id for call in known.spent})
    # So it is with what is remembered of both, and with neither read again.
    known_sessions(settings)
    (again,) = [one for one in known_sessions(settings) if one.id == transcript.stem]
    assert again.spent == known.spent and again.models == known.models
    assert library.load_cached(shown)[row.key].spent == known.spent
    sums = total_sessions([known]).total
    assert (sums.calls, sums.tokens) == (len(ids), known.total_tokens)
    if seen != "two more":
        assert known.total_tokens == before.total_tokens and known.cost_usd == pytest.approx(before.cost_usd)
    assert sum(usd for _, usd in known.by_category) == pytest.approx(known.known_usd, rel=0.02)
    assert sum(count for _, count in known.models) == len(ids)


def test_the_transcript_is_a_row_again_without_the_other_and_an_empty_one_is_no_loss(
    home: Path, tmp_path: Path
) -> None:
    transcript = plant(home, tmp_path)
    settings = load_config(cwd=tmp_path).settings
    path = attached_dir() / f"{transcript.stem}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"ctxtui_attached": 1, "run": "r", "session": transcript.stem}) + "\n")
    library = SessionLibrary(settings, tmp_path)
    (row,) = [one for one in library.list_fast() if one.id == transcript.stem]
    (known,) = library.figures([row], Event())
    # Nothing was asked through ctxtui: what the client wrote is what there is.
    assert known.key == row.key == str(path) and known.own == str(transcript) and known.calls and not known.error
    path.unlink()
    (row,) = [one for one in library.list_fast() if one.id == transcript.stem]
    assert row.path == str(transcript)
