"""`ctxtui findings`: for people and scripts; edits and commands do what is said."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cli.conftest import Run


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(60, 3))
    return path


def test_the_command_of_a_finding_frees_what_it_says(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("findings", recording, "--json").json
    assert told["findings"] and told["call"] == told["calls"]
    saves = [one["saves_usd"] for one in told["findings"]]
    assert saves == sorted(saves, reverse=True)
    for one in [one for one in told["findings"] if one["command"]][:2]:
        log = recording.parent / "edits.jsonl"
        log.write_text("".join(json.dumps(edit) + "\n" for edit in one["edits"]), encoding="utf-8")
        ran = ctxtui("curate", recording, "--after", "--edits", log, "--json")
        tokens = ran.json["tokens"]
        assert tokens["freed"] == one["freed_tokens"]
        once = {moment["name"]: moment["once_usd"] for moment in ran.json["moments"]}
        assert once[one["when"]] == pytest.approx(one["once_usd"])
        same = ctxtui(*shlex.split(one["command"])[1:], "--json")
        assert same.json["tokens"] == tokens, one["command"]


def test_earlier_calls_tell_what_the_rest_would_have_saved(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("findings", recording, "--call", "6", "--json").json
    for one in told["findings"]:
        if one["edits"]:
            assert len(one["rest"]["saved_tokens"]) == told["calls"] - 6


def test_for_people(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("findings", recording, "--horizon", "7")
    assert ran.code == 0 and "saved over the next 7 calls" in ran.out and "→" in ran.out


def test_a_redaction_tells_how_much_of_it_is_quoted_later(ctxtui: Run, tmp_path: Path) -> None:
    said = "HOST=db-main-4711.example.net\nCONFIG=/srv/data/app/config.yaml\n"
    messages = [
        {"role": "user", "content": "read it"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "/w/.env"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": said}]},
        {"role": "assistant", "content": "It is db-main-4711.example.net, set in /srv/data/app/config.yaml."},
        {"role": "user", "content": "go on"},
    ]
    path = tmp_path / "env.json"
    path.write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}), encoding="utf-8")
    (finding,) = ctxtui("findings", path, "--json").json["findings"]
    assert finding["kind"] == "sensitive file read" and finding["quoted_later"] == 2


def test_a_session_of_one_call_says_why_there_is_nothing(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    value = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    path.write_text(json.dumps(value), encoding="utf-8")
    ran = ctxtui("findings", path)
    assert ran.code == 0 and "Nothing found" in ran.out and "left out" in ran.out
