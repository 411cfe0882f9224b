"""`ctxtui preflight`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cli.conftest import Run


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(60, 3))
    return path


def test_for_people(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("preflight", recording, "--turns", "7")
    assert ran.code == 0
    for words in ("now", "a turn", "usable", "compacts", "7 turns", "A compaction now would put"):
        assert words in ran.out


def test_for_scripts_what_is_eaten_adds_up(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("preflight", recording, "--json").json
    assert told["turns"] == 10 and told["compaction"]["how"] == "assumed"
    assert told["eaten"]["tokens"] == sum(told["eaten"]["categories"].values())
    assert told["cost_usd"]["low"] <= told["cost_usd"]["mid"] <= told["cost_usd"]["high"]
    assert (
        told["eaten"]["tokens"] < told["context_tokens"] == ctxtui("show", recording, "--json").json["context_tokens"]
    )


def test_a_session_of_one_call(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}')
    ran = ctxtui("preflight", path)
    assert ran.code == 0 and "no turn tells yet" in ran.out
