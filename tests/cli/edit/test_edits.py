"""`ctxtui edits`: what became of the edits in each call that a relay recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    RequestBegun,
    RequestBytes,
    RequestDecided,
)
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.core.canonical import Json
from tests.cli.conftest import Run

REQUEST = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hoi"}]}
ANSWER = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "hoi"}], "usage": {"input_tokens": 9, "output_tokens": 1},
}  # fmt: skip


def record_call(
    recorder: Recorder, x: str, request: Json, answer: Json, decision: dict[str, Json] | None = None
) -> None:
    url = "https://api.anthropic.com/v1/messages"
    recorder.put(RequestBegun(exchange_id=x, at=1.0, method="POST", url=url, fields=[("x-api-key", "k")]))
    recorder.put(RequestBytes(x, json.dumps(request).encode(), last=True))
    if decision is not None:
        recorder.put(RequestDecided(x, 1.0, None, decision))
    recorder.put(AnswerBegun(x, 2.0, 200, [("content-type", "application/json")]))
    recorder.put(AnswerBytes(x, 2.0, json.dumps(answer).encode()))
    recorder.put(ExchangeEnded(x, 2.0))


@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        ({"applied": ["a", "b"], "refused": {"c": "it is pinned"}}, "2 applied · 1 refused: it is pinned"),
        ({"applied": ["a"], "refused": {"a": "in part: pinned"}}, "1 applied: in part: pinned"),
        ({"refused": {"": "larger than 64 MiB"}}, "larger than 64 MiB"),
        ({"released": "release"}, "decision: release"),
        ({"asleep": ["a"], "done": ["masked 1 secret"], "trouble": "no price"}, "1 asleep; masked 1 secret; no price"),
    ],
)
def test_the_outcome_of_a_call(ctxtui: Run, tmp_path: Path, record: dict[str, Json], outcome: str) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
    record_call(recorder, "r.1", REQUEST, ANSWER, record)
    recorder.close()
    assert ctxtui("edits", tmp_path / "s.jsonl").out == f"main call 1: {outcome}\n"
