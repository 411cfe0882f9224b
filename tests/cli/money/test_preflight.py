"""`ctxtui preflight`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cli.conftest import Run
from tests.pty_app import REPO
from tests.services.lookalike import ClaudeCode, lines


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(60, 3))
    return path


def test_for_people(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("preflight", recording, "--turns", "7")
    assert ran.code == 0
    for words in ("now", "a turn", "usable", "compacts", "7 turns", "A compaction now would replace"):
        assert words in ran.out


def test_for_scripts_what_is_eaten_adds_up(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("preflight", recording, "--json").json
    assert told["turns"] == 10 and told["compaction"]["how"] == "assumed"
    assert told["eaten"]["tokens"] == sum(told["eaten"]["categories"].values())
    assert told["cost_usd"]["low"] <= told["cost_usd"]["mid"] <= told["cost_usd"]["high"]
    assert (
        told["eaten"]["tokens"] < told["context_tokens"] == ctxtui("show", recording, "--json").json["context_tokens"]
    )


def test_answers_reported_in_part_cost_what_is_known_of_them_and_it_is_said(ctxtui: Run, tmp_path: Path) -> None:
    records = [json.loads(line) for line in lines(ClaudeCode().turns(4)).splitlines()]
    answers = [one["message"] for one in records if one["type"] == "assistant"]
    # The last answer is by far the longest: what others cost must not be taken from it.
    answers[-1]["content"] = [{"type": "text", "text": "word " * 5_000}]
    told = {}
    for name in ("whole", "part"):
        for one in answers:
            one["usage"]["output_tokens"] = 1 if name == "part" else len(json.dumps(one["content"]))
            one["stop_reason"] = None if name == "part" else "end_turn"
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in records))
        told[name] = ctxtui("preflight", path, "--json").json
    assert told["whole"]["partial_calls"] == 0 and told["part"]["partial_calls"] == len({one["id"] for one in answers})
    assert 0 < told["part"]["cost_usd"]["mid"] < told["whole"]["cost_usd"]["mid"]
    assert "only partly reported" in ctxtui("preflight", tmp_path / "part.jsonl").out
    assert "only partly reported" not in ctxtui("preflight", tmp_path / "whole.jsonl").out


def test_a_session_of_one_call(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}')
    ran = ctxtui("preflight", path)
    assert ran.code == 0 and "not known yet: too few rounds" in ran.out


def test_its_commands_change_the_thread_that_was_asked_for(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_USABLE_SHARE", "0.05")
    path = REPO / "sessions" / "3-lm-studio-bridge.jsonl"
    report = ctxtui("preflight", path, "--thread", "memory", "--json").json
    assert report["edits"] and report["advice"]
    for row in (report["edits"], *report["advice"]):
        words = shlex.split(row["command"])
        tokens = ctxtui(*words[1:], "--dry-run", "--json").json["tokens"]
        assert (tokens["before"], tokens["after"]) == (row["before_tokens"], row["after_tokens"])
        assert row["command"] in ctxtui("preflight", path, "--thread", "memory").out
