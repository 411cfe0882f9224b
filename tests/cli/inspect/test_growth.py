"""`ctxtui growth`: what is told adds up, for people and scripts, and short recordings say what they lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cli.conftest import Run


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(60, 3))
    return path


def test_for_scripts_everything_adds_up(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("growth", recording, "--json").json
    shown = ctxtui("show", recording, "--json", "--phases").json
    assert [call["context_tokens"] for call in told["calls"]] == [one["context_tokens"] for one in shown["growth"]]
    for call in told["calls"]:
        assert sum(call["categories"].values()) == call["context_tokens"]
    assert [row["growth"] for row in told["phases"]] == [row["growth"] for row in shown["phases"]["phases"]]
    for row in told["phases"]:
        assert sum(row["grew"].values()) == row["growth"]
    assert told["carry"] == sum(call["context_tokens"] for call in told["calls"])
    first, last = told["stretch"]["first_call"], told["stretch"]["last_call"]
    ends = {part["name"]: part["end_tokens"] for part in told["categories"] if part["end_tokens"]}
    assert ends == told["calls"][last - 1]["categories"]
    assert sum(part["carry"] for part in told["categories"]) == sum(
        call["context_tokens"] for call in told["calls"][first - 1 : last]
    )
    assert told["sent_again"]["sent_before_tokens"] <= told["sent_again"]["input_tokens"]


def test_what_lies_ahead_is_what_preflight_says(ctxtui: Run, recording: Path) -> None:
    ahead = ctxtui("growth", recording, "--phases", "7", "--json").json["ahead"]
    told = ctxtui("preflight", recording, "--turns", "7", "--json").json
    assert ahead["after_tokens"] == told["after_tokens"] and ahead["usable"] == told["usable"]
    assert ahead["compaction"] == told["compaction"] and ahead["unit"] == told["unit"]


def test_for_people(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("growth", recording)
    assert ran.code == 0
    for words in ("growth", "not recorded", "context", "sent", "what grew", "usable", "feasible", "phases"):
        assert words in ran.out


def test_a_session_of_one_call_says_what_it_lacks(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(
        json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
    )
    told = ctxtui("growth", path, "--json").json
    assert told["shape"] is None and told["lacks"]
    assert ctxtui("growth", path).code == 0


def test_an_expression_that_is_none_is_named(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("growth", recording, "--phase-rule", "(")
    assert ran.code == 2 and "phase rule '(': not a regular expression" in ran.err and "Traceback" not in ran.err
