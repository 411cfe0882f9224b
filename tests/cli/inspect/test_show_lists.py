"""The lists that `ctxtui show` adds when asked, for people and for scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.services.lookalike import ClaudeCode, claude_code, lines, subagent


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    session = ClaudeCode()
    path = tmp_path / f"{session.session}.jsonl"
    path.write_bytes(lines(session.turns(3)))
    agents = tmp_path / session.session / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-abc123.jsonl").write_bytes(subagent(session))
    return path


def test_each_list_is_a_member_of_its_own(ctxtui: Run, recording: Path) -> None:
    plain = ctxtui("show", recording, "--json").json
    names = ["threads", "tools", "heaviest", "repeats"]
    found = ctxtui("show", recording, "--json", *(f"--{name}" for name in names)).json
    assert list(found) == [*plain, *names]
    assert all(found[name] == plain[name] for name in plain)


def test_threads_and_their_figures(ctxtui: Run, recording: Path) -> None:
    found = ctxtui("show", recording, "--threads", "--json").json["threads"]
    main, agent = found
    assert (main["id"], main["parent"], main["depth"]) == ("main", None, 0)
    assert (agent["parent"], agent["depth"]) == ("main", 1) and agent["calls"] > 0
    assert main["peak_tokens"] >= main["context_tokens"] > 0
    text = ctxtui("show", recording, "--threads").out
    assert "● main" in text and "└ ○ " in text and "peak" in text


def test_tools_by_server(ctxtui: Run, recording: Path) -> None:
    [server] = ctxtui("show", recording, "--tools", "--json").json["tools"]
    assert server["server"] is None and server["tokens"] is None
    assert all(tool["state"] == "unknown" and tool["calls"] > 0 for tool in server["tools"])
    text = ctxtui("show", recording, "--tools").out
    assert "definitions not recorded" in text and "built-in" in text


def test_what_blocks_carried(ctxtui: Run, recording: Path) -> None:
    found = ctxtui("show", recording, "--heaviest", "--json").json
    rows = found["heaviest"]
    assert all(row["carry"] == row["tokens"] * row["calls"] for row in rows)
    assert [row["carry"] for row in rows] == sorted((row["carry"] for row in rows), reverse=True)
    assert sum(row["tokens"] for row in rows) == sum(b["tokens"] for b in found["blocks"] if b["method"] != "inferred")
    assert {row["since_call"] for row in rows} <= set(range(1, found["call"] + 1))
    assert "cacheable" in ctxtui("show", recording, "--heaviest").out


def test_what_stands_there_twice(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(claude_code(4))
    found = ctxtui("show", path, "--repeats", "--json").json["repeats"]
    assert found["tokens"] == sum(block["tokens"] for block in found["blocks"])
    assert all(block["why"] for block in found["blocks"])
    assert "repeats" in ctxtui("show", path, "--repeats").out


def test_phases_by_rule_by_setting_and_by_a_note(ctxtui: Run, recording: Path) -> None:
    found = ctxtui("show", recording, "--phases", "--json").json["phases"]
    assert found["rule"] is None and [row["name"] for row in found["phases"]] == ["turn 1", "turn 2", "turn 3"]
    by_call = ctxtui("show", recording, "--phase-rule", "call", "--json").json
    assert by_call["phases"]["rule"] == "call" and len(by_call["phases"]["phases"]) == by_call["call"]
    assert sum(row["growth"] for row in by_call["phases"]["phases"]) == by_call["context_tokens"]
    assert ctxtui("--set", "phases=epoch", "show", recording, "--phases", "--json").json["phases"]["rule"] == "epoch"
    assert "typical" not in ctxtui("show", recording, "--phases").out
    assert ctxtui("show", recording, "--phase-rule", "(").code == 2


def test_lists_of_a_context_that_is_not_sent_yet(ctxtui: Run, recording: Path) -> None:
    ended = recording.read_bytes().splitlines(keepends=True)
    while b'"type":"user"' not in ended[-1].replace(b" ", b""):
        ended.pop()
    recording.write_bytes(b"".join(ended))
    lists = ("--heaviest", "--tools", "--json")
    last, after = ctxtui("show", recording, *lists).json, ctxtui("show", recording, "--after", *lists).json
    assert after["call"] == 0 and last["call"] > 1
    carried = {row["at"]: row["carry"] for row in after["heaviest"]}
    assert all(carried[row["at"]] >= row["carry"] > 0 for row in last["heaviest"])
    assert [server["calls"] for server in after["tools"]] == [server["calls"] for server in last["tools"]]
