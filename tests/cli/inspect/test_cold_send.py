"""`ctxtui cache --hook`: Claude Code tells the price of a message that comes after the cache has expired."""

from __future__ import annotations

import io
import json
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cases.claude_code import Script, text
from tests.cli.conftest import Run

NOW = 1_795_426_600.0
USED = {
    "input_tokens": 0,
    "output_tokens": 120,
    "cache_creation_input_tokens": 1_000,
    "cache_read_input_tokens": 99_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 0},
}
BOUNDARY = {"type": "system", "subtype": "compact_boundary"}


def answer(age: float, **used: Any) -> dict[str, Any]:
    """The record of an answer that is `age` seconds old."""
    message = {"id": "m", "model": "claude-opus-5-5", "usage": USED | used}
    stamp = datetime.fromtimestamp(NOW - age).astimezone().isoformat()
    return {"type": "assistant", "timestamp": stamp, "message": message}


@pytest.fixture
def hook(ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the hook prints before a message to the session with these records."""

    def printed(*records: dict[str, Any]) -> str:
        transcript = tmp_path / "t.jsonl"
        transcript.write_text("".join(json.dumps(record) + "\n" for record in records))
        given = {"hook_event_name": "UserPromptSubmit", "transcript_path": str(transcript), "prompt": "go on"}
        monkeypatch.setattr(time, "time", lambda: NOW)
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(given)))
        ran = ctxtui("cache", "--hook-input")
        assert ran.code == 0, ran.err
        return str(ran.out)

    return printed


def test_a_cold_send_has_its_price(hook: Any) -> None:
    # By the prices of Opus 5.5: all is written instead of read, and an answer like the last one.
    cold, warm = ((100_120 * 5 + 120 * 20) / 1e6, (100_000 * 0.2 + 120 * 5 + 120 * 20) / 1e6)
    assert json.loads(hook(answer(300 + 120))) == {
        "systemMessage": "The prompt cache expired 2:00 ago: this message writes 100.1k tokens again, "
        f"about ${cold:.3f} instead of ${warm:.3f}. Esc stops it."
    }


HOUR = {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1_000}}
UNCACHED = {"input_tokens": 100_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@pytest.mark.parametrize(
    "records",
    [
        [answer(299)],
        [answer(3_000, **HOUR)],
        [answer(9_000, **UNCACHED)],
        [answer(9_000), BOUNDARY],
        [answer(9_000) | {"isSidechain": True}],
        [],
    ],
    ids=["warm", "warm for an hour", "nothing cached", "compacted", "subagent", "new"],
)
def test_nothing_is_said_where_nothing_is_lost_or_known(hook: Any, records: list[dict[str, Any]]) -> None:
    assert hook(*records) == ""


def test_an_hour_s_entry_expires_after_an_hour(hook: Any) -> None:
    assert "expired 1:00 ago" in hook(answer(3_660, **HOUR))


def test_an_unknown_price_is_left_out(hook: Any) -> None:
    record = answer(400)
    record["message"]["model"] = "someone-elses-model"
    said = json.loads(hook(record))["systemMessage"]
    assert said == "The prompt cache expired 1:40 ago: this message writes 100.1k tokens again. Esc stops it."


def test_bad_input_does_not_refuse_the_message(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # Claude Code refuses a message if its hook ends with 2.
    monkeypatch.setattr(sys, "stdin", io.StringIO("no JSON"))
    ran = ctxtui("cache", "--hook-input")
    assert ran.code == 4 and "no JSON of a hook" in ran.err


def test_the_hook_is_installed_once_beside_others(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    settings = project / ".claude" / "settings.local.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": []}]}}))
    script = Script(cwd=str(project))
    script.user("hello")
    script.assistant(text("Hello."), id="msg_1", stop="end_turn")
    (tmp_path / "one.jsonl").write_bytes(script.dump())
    for _ in range(2):
        assert ctxtui("cache", tmp_path / "one.jsonl", "--hook", "--yes").code == 0
    other, own = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
    assert other == {"hooks": []}
    assert own["hooks"][0]["command"].endswith("-P -m ctxtui cache --hook-input || exit 1")
