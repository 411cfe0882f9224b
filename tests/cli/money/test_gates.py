"""`ctxtui check` on what a context should not hold: loops, secrets, facts that compactions lost."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ctxtui.cli.run import run

KEY = "sk-ant-api03-Zk3vQ9xLw2Rt7Yp1Nm8Bc5Df0Gh4Js6Kl"


def session(tmp_path: Path, repeats: int, secret: str) -> str:
    """A Claude Code session that runs the same command so often; the last answer holds `secret`."""
    records, parent = [], None

    def add(kind: str, message: object) -> None:
        nonlocal parent
        uuid = f"u{len(records)}"
        about = {"parentUuid": parent, "uuid": uuid, "sessionId": "s", "version": "2.1.300", "isSidechain": False}
        time = f"2026-11-01T10:00:{len(records):02}Z"
        records.append(json.dumps({**about, "type": kind, "message": message, "cwd": "/w", "timestamp": time}))
        parent = uuid

    add("user", {"role": "user", "content": "test it"})
    for n in range(repeats):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "npm test"}}
        answer = {"id": f"m{n}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [use]}
        add("assistant", {**answer, "usage": {"input_tokens": 100, "output_tokens": 9}, "stop_reason": "tool_use"})
        add("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "FAIL"}]})
    last = {"id": "end", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    text = [{"type": "text", "text": f"done {secret}"}]
    add("assistant", {**last, "content": text, "usage": {"input_tokens": 100, "output_tokens": 9}})
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(records) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("repeats", "secret", "options", "code"),
    [
        (4, "", ["--max-repeats", "4"], 0),
        (5, "", ["--max-repeats", "4"], 8),
        (1, "", ["--no-secrets"], 0),
        (1, KEY, ["--no-secrets"], 8),
        (1, KEY, ["--max-repeats", "3", "--max-lost", "0"], 0),
    ],
)
def test_gates(
    tmp_path: Path, repeats: int, secret: str, options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", session(tmp_path, repeats, secret), *options, "--json"]) == code
    printed = capsys.readouterr().out
    assert KEY not in printed
    figures = json.loads(printed)["files"][0]["figures"]
    assert figures["repeats"] == (repeats if "--max-repeats" in options else None)
    assert figures["secrets"] == (bool(secret) if "--no-secrets" in options else None)


def test_the_fixture_has_the_same_gates(tmp_path: Path) -> None:
    from ctxtui.pytest_plugin import _check

    with pytest.raises(pytest.fail.Exception, match="blocks with secrets: 1"):
        _check(session(tmp_path, 1, KEY), no_secrets=True)
    assert _check(session(tmp_path, 2, ""), no_secrets=True, max_repeats=2, max_lost=0).repeats == 2


def test_an_unreadable_recording_hides_no_other_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(tmp_path, 1, "")
    bad = tmp_path / "broken.json"
    bad.write_text("no recording")
    junit = tmp_path / "report.xml"
    names = [str(tmp_path / "s.jsonl"), str(bad)]
    assert run(["check", *names, "--max-context", "100k", "--json", "--junit", str(junit)]) == 9
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["passed"] is None
    assert [file["passed"] for file in answer["files"]] == [True]
    assert [file["file"] for file in answer["failed"]] == [str(bad)]
    assert answer["failed"][0]["error"] in printed.err
    suites = {suite.get("name"): suite for suite in ElementTree.parse(junit).getroot()}
    assert suites[str(bad)].get("errors") == "1"
    assert suites[str(bad)].find("testcase/error") is not None
    assert run(["check", *names, "--max-context", "10"]) == 8, "a broken limit counts more"
    assert run(["check", str(bad), "--max-context", "100k"]) not in (0, 8, 9), "alone: its error"
