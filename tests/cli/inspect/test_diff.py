"""`ctxtui diff`: exit codes as diff has them, the promised shape, and names of calls."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.cli.inspect.diff import NamedContext, named_context
from ctxtui.core.canonical import Json
from tests.cli.conftest import Run
from tests.cli.edit.test_edits import ANSWER, REQUEST, record_call
from tests.services.lookalike import claude_code

TOP = ["schema_version", "a", "b", "same", "shared", "kept", "entered", "left", "changed", "respelled", "first"]
TOP += ["changes", "unsteady"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(claude_code(4))
    return path


def test_the_exit_code_says_whether_the_model_reads_the_same(ctxtui: Run, recording: Path) -> None:
    assert ctxtui("diff", recording, recording).code == 0
    assert ctxtui("diff", f"{recording}@3", f"{recording}#3").code == 0
    assert ctxtui("diff", f"{recording}@3", "@4").code == 1
    assert ctxtui("diff", f"{recording}@99", "@4").code == 5
    assert ctxtui("diff", f"{recording}@3", "nowhere.jsonl").code == 5
    assert ctxtui("diff", "@3", recording).code == 2


def test_a_call_that_goes_on_from_another_entered_blocks(ctxtui: Run, recording: Path) -> None:
    found = ctxtui("diff", f"{recording}@3", "@4", "--json").json
    assert list(found) == TOP
    assert (found["a"]["call"], found["b"]["call"], found["same"]) == (3, 4, False)
    assert found["left"]["blocks"] == found["changed"]["blocks"] == 0 < found["entered"]["blocks"]
    assert found["first"]["kind"] == "entered" and found["first"]["at"] == found["shared"]["blocks"] + 1
    assert found["first"]["since_call"] == [None, 4]
    assert [change["kind"] for change in found["changes"]] == ["entered"] * found["entered"]["blocks"]
    assert sum(change["tokens"][1] for change in found["changes"]) == found["entered"]["tokens_after"]
    text = ctxtui("diff", f"{recording}@3", "@4").out
    assert "first difference" in text and f"{found['entered']['blocks']} entered" in text


def test_two_sessions_are_compared_by_what_they_say(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    made = ctxtui("export", recording, "--to", "anthropic", "-o", request)
    assert made.code == 0
    said = json.loads(request.read_text())
    other = tmp_path / "other.json"
    for path, day in ((request, "Monday"), (other, "Friday")):
        path.write_text(json.dumps({**said, "system": f"Be brief. Today is {day}."}))
    assert ctxtui("diff", request, request).code == 0
    found = ctxtui("diff", request, other, "--json").json
    assert found["changed"]["blocks"] == 1 and found["entered"]["blocks"] == found["left"]["blocks"] == 0
    assert ["removed", "Monday"] in found["first"]["words"] and found["first"]["category"] == "system"
    assert "Today is [-Monday-]{+Friday+}." in ctxtui("diff", request, other).out


def test_whole_prints_the_lines_of_every_block_with_another_id(ctxtui: Run, tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        messages: list[Json] = [{"role": "user", "content": "go"}]
        for number in (1, 2):
            use = {"type": "tool_use", "id": f"{path.stem}{number}", "name": "ls", "input": {}}
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": "nothing"}
            messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        path.write_text(json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}))
    found, whole = ctxtui("diff", *paths), ctxtui("diff", *paths, "--whole")
    assert found.code == whole.code == 1
    assert [text.count("[-a1-]{+b1+}") for text in (found.out, whole.out)] == [1, 2]
    assert [text.count("[-a2-]{+b2+}") for text in (found.out, whole.out)] == [0, 2]


def test_blocks_that_change_within_a_run_are_not_left_out_silently(
    ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxtui.cli.inspect.diff.MAX_LISTED_CHANGES", 1)
    recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
    messages = [{"role": "user", "content": "hoi"}]
    for number, day in enumerate(("Monday", "Tuesday"), 1):
        system = [{"type": "text", "text": f"{text} Today is {day}."} for text in ("Be brief.", "Read the notes.")]
        request: Json = {**REQUEST, "system": system, "messages": [*messages]}
        record_call(recorder, f"r.{number}", request, {**ANSWER, "id": f"msg_{number}"})
        messages += [{"role": "assistant", "content": "hoi"}, {"role": "user", "content": "more"}]
    recorder.close()
    found, whole = (ctxtui("diff", f"{tmp_path / 's.jsonl'}@1", "@2", *more).out for more in ((), ("--whole",)))
    assert "1 of 2, --whole prints all" in found.partition("changing within the run")[2]
    assert found.count("1× last at call 2") == 1 and whole.count("1× last at call 2") == 2


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a.jsonl", NamedContext("a.jsonl")),
        ("a.jsonl@12", NamedContext("a.jsonl", "", 12)),
        ("0f3a#7", NamedContext("0f3a", "", 7)),
        ("a@b.jsonl@agent-1:3", NamedContext("a@b.jsonl", "agent-1", 3)),
        ("a.jsonl@agent-1:", NamedContext("a.jsonl", "agent-1", 0)),
        ("@4", NamedContext("", "", 4)),
        ("me@home.jsonl", NamedContext("me@home.jsonl")),
    ],
)
def test_a_name_may_carry_its_call(text: str, meant: NamedContext) -> None:
    assert named_context(text) == meant


def test_a_file_of_that_very_name_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "odd@3"
    path.write_text("{}")
    assert named_context(str(path)) == NamedContext(str(path))


def test_a_session_in_a_database_may_have_a_number_for_its_id(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    sqlite3.connect(path).execute("CREATE TABLE session (id)").connection.close()
    assert named_context(f"{path}#123") == NamedContext(f"{path}#123")
    assert named_context(f"{path}#123@4") == NamedContext(f"{path}#123", "", 4)
    assert named_context(f"{path}@4") == NamedContext(str(path), "", 4)


def test_a_number_of_thousands_of_digits_names_no_call(ctxtui: Run, recording: Path) -> None:
    assert ctxtui("diff", f"{recording}@{'9' * 5000}", recording).code == 4


def test_a_fault_is_not_mistaken_for_a_difference(
    ctxtui: Run, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(a: object, b: object) -> None:
        raise ZeroDivisionError("out of the blue")

    monkeypatch.setattr("ctxtui.cli.inspect.diff.compare_contexts", broken)
    ran = ctxtui("diff", recording, recording)
    assert ran.code == 70 and "ZeroDivisionError" in ran.err
