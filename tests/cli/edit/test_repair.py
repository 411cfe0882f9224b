"""`ctxtui repair`: from a fault, or a pasted error, to the block, the mend and the new file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxtui.curation.legality.provider_errors import refusal
from ctxtui.offline.anthropic import validate
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.editing.repair import diagnose
from ctxtui.services.recordings.open import load
from ctxtui.views.home.columns import row
from tests.cases.summaries import summarise
from tests.cli.conftest import Run
from tests.pty_app import plant
from tests.transcripts.resumable import claude_code_faults

USE = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"command": "ls"}}


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """A request whose call has no result, with an empty text before it."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "text", "text": " "}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, USE]},
        {"role": "user", "content": "and?"},
    ]
    tool = {"name": "run", "description": "runs", "input_schema": {"type": "object"}}
    path = tmp_path / "sick.json"
    path.write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "tools": [tool], "messages": messages}))
    return path


def test_a_sick_request_becomes_one_that_is_taken(ctxtui: Run, sick: Path) -> None:
    assert validate.refusals(json.loads(sick.read_text()))
    ran = ctxtui("repair", sick)
    assert ran.code == 0 and validate.refusals(ran.json) == []
    assert "wrong: text must not be empty @ $.messages[0].content[1].text, block 4 (text)" in ran.err
    assert "call 'toolu_1' has no result" in ran.err and "fix: drop 1 block" in ran.err


def test_json_names_faults_and_mends(ctxtui: Run, sick: Path) -> None:
    found = ctxtui("repair", sick, "--json", "--dry-run").json
    assert [(one["rule"], one["block"]) for one in found["faults"]] == [("empty", 4), ("pair", 7)]
    assert {edit["author"] for edit in found["edits"]} == {"repair"} and found["left"] == []


def test_with_json_the_named_file_is_written_too(ctxtui: Run, sick: Path, tmp_path: Path) -> None:
    made = tmp_path / "well.json"
    assert ctxtui("repair", sick, "--json", "--dry-run", "-o", made).json["edits"] and not made.exists()
    assert ctxtui("repair", sick, "--json", "-o", made).json["edits"]
    assert validate.refusals(json.loads(made.read_text())) == []
    assert ctxtui("repair", sick, "--json").json["edits"], "only the JSON"
    refused = ctxtui("repair", sick, "--json", "-o", made)
    assert refused.code == 7 and refused.json["error"]["message"] == "the file exists", "one document"


def test_a_fault_without_a_fix_is_said_once(ctxtui: Run, sick: Path) -> None:
    body = json.loads(sick.read_text())
    body["messages"].append({"role": "robot", "content": "beep"})
    sick.write_text(json.dumps(body))
    ran = ctxtui("repair", sick)
    assert (
        ran.json["messages"] and ran.err.count("not fixed: ") == ran.err.count("not fixed: no such role: 'robot'") == 1
    )


def test_a_pasted_error_names_its_block(ctxtui: Run, sick: Path) -> None:
    error = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
    found = ctxtui("repair", sick, "--error", error, "--json").json
    assert (found["faults"][0]["rule"], found["faults"][0]["block"]) == ("pair", 7)
    assert found["faults"][0]["message"].startswith("messages.1: `tool_use` ids")
    long = ctxtui("repair", sick, "--error", "prompt is too long: 9 > 8", "--json")
    assert long.json["too_long"] and "--policy budget" in long.err


def test_a_recording_becomes_a_file_that_its_tool_resumes(
    ctxtui: Run, home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = plant(home, tmp_path, messages=40)
    lines = recording.read_bytes().splitlines(keepends=True)
    used = next(n for n, line in enumerate(lines) if b'"tool_use"' in line)
    # Cut off behind a call: the client ended before the result was written.
    recording.write_bytes(b"".join(lines[: used + 1]))
    before = recording.read_bytes()
    out = tmp_path / "out"
    out.mkdir()
    ran = ctxtui("repair", recording, "-o", out)
    assert ran.code == 0 and "has no result" in ran.err
    (made,) = out.iterdir()
    assert recording.read_bytes() == before
    assert claude_code_faults(made.read_bytes(), before, made.stem) == []
    assert b'"tool_use"' not in made.read_bytes()
    assert "nothing to fix" in ctxtui("repair", made).err
    assert ctxtui("repair", made, "--to", "nothing").code == 2
    copy, body = tmp_path / "copy.jsonl", tmp_path / "body.json"
    assert ctxtui("export", recording, "--to", "ctxtui", "-o", copy).code == 0
    assert ctxtui("repair", copy, "-o", body).code == 0
    assert "messages" in json.loads(body.read_bytes()), "what no tool resumes becomes a request"


def test_the_error_that_a_recording_ends_with_is_taken_by_itself(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    recording = plant(home, tmp_path, messages=40)
    last = json.loads([line for line in recording.read_bytes().splitlines() if b'"assistant"' in line][-1])
    text = "API Error: 400 messages.1.content.0: Invalid `signature` in `thinking` block"
    said = {**last["message"], "id": "synthetic", "model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    ids = {"uuid": "5e551011-9999-4000-8000-000000000001", "parentUuid": last["uuid"]}
    refused = {**last, **ids, "isApiErrorMessage": True, "message": said}
    recording.write_bytes(recording.read_bytes().rstrip(b"\n") + b"\n" + json.dumps(refused).encode() + b"\n")
    found = ctxtui("repair", recording, "--json", "--dry-run").json
    assert found["faults"][0]["rule"] == "bound thinking"
    assert refusal(load(recording).session) == text
    shown = row(summarise(recording, Settings()), 100, 0.0)
    assert "✗ " in "".join(span.text for span in shown)


def test_the_rules_are_those_of_the_last_calls_model(tmp_path: Path) -> None:
    path = tmp_path / "changed.jsonl"
    talk = [{"role": role, "content": "hi"} for role in ("user", "assistant", "user", "assistant", "user")]
    models = {1: "claude-opus-4-5", 3: "claude-opus-4-5", 5: "claude-opus-5-5"}
    bodies = [{"model": model, "max_tokens": 9, "messages": talk[:n]} for n, model in models.items()]
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    session = load(path).session
    assert session.model == "claude-opus-4-5"
    assert diagnose(session, table_for(Settings())).rules.binds_thinking


def test_a_sound_session_needs_nothing(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    recording = plant(home, tmp_path, messages=40)
    ran = ctxtui("repair", recording)
    assert (ran.code, ran.out) == (0, "") and "nothing to fix" in ran.err


def test_what_a_client_encrypted_wrongly_is_refused_and_mended(ctxtui: Run, tmp_path: Path) -> None:
    say = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    path = tmp_path / "sealed.json"
    items = [say, {"type": "compaction", "id": "cmp_1", "encrypted_content": {"data": "gAAA"}}, say]
    path.write_text(json.dumps({"model": "gpt-5.5", "input": items}))
    refused = ctxtui("curate", path, "--to", "openai-responses")
    assert "encrypted content must be a string @ $.input[1].encrypted_content" in refused.err
    mended = ctxtui("repair", path)
    assert mended.json["input"] == [say, say] and "fix: drop 1 block" in mended.err


def test_a_half_of_a_pair_in_a_recording_is_replaced_where_its_tool_resumes_it(
    ctxtui: Run, home: Path, tmp_path: Path
) -> None:
    recording = plant(home, tmp_path, messages=40)
    name = json.loads(next(line for line in recording.read_bytes().splitlines() if b'"tool_use"' in line))
    given = next(part["input"] for part in name["message"]["content"] if part["type"] == "tool_use")
    key, value = next((key, value) for key, value in given.items() if isinstance(value, str))
    was, half = (f'"{key}": {json.dumps(value + more)}' for more in ("", "\ud83e"))
    data = recording.read_text()
    assert was in data or was.replace(": ", ":") in data
    recording.write_text(data.replace(was, half).replace(was.replace(": ", ":"), half))
    out = tmp_path / "mended.jsonl"
    ran = ctxtui("repair", recording, "-o", out)
    assert "half of a surrogate pair" in ran.err and "strip refused characters from" in ran.err
    assert f"{value}\ufffd" in out.read_text() and b"\\ud83e" not in out.read_bytes()
    assert out.read_text().count('"tool_use"') == recording.read_text().count('"tool_use"')


def test_the_way_out_on_a_terminal_fits_what_would_be_written(
    ctxtui: Run, sick: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = plant(home, tmp_path, messages=40)
    lines = recording.read_bytes().splitlines(keepends=True)
    used = next(n for n, line in enumerate(lines) if b'"tool_use"' in line)
    recording.write_bytes(b"".join(lines[: used + 1]))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    for arguments in ([sick], [recording, "--to", "anthropic"], [recording, "--to", "ctxtui"]):
        assert "use -o FILE to write the fixed context, or a pipe" in ctxtui("repair", *arguments).err
    assert "use -o . to write the fixed session here, or a pipe" in ctxtui("repair", recording).err
    assert ctxtui("repair", recording, "-o", ".").code == 0 and list(Path().iterdir())


def test_without_an_answer_no_session_is_written(ctxtui: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "first.json", tmp_path / "out.jsonl"
    messages = [{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "text", "text": " "}]}]
    path.write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}))
    for command in ("repair", "curate", "export"):
        for form in ("claude-code", "codex"):
            ran = ctxtui(command, path, "--to", form, "-o", out)
            assert ran.code == 7 and "without an answer, no session to resume can be written" in ran.err
            assert "to resume it" not in ran.err and not out.exists()


def test_what_is_repaired_of_a_context_that_is_too_long_is_listed(ctxtui: Run, sick: Path) -> None:
    ran = ctxtui("repair", sick, "--error", "prompt is too long: 9 > 8")
    assert (
        "--policy budget" in ran.err and "wrong: text must not be empty" in ran.err and "fix: drop 1 block" in ran.err
    )
    assert "wrong: prompt is too long" not in ran.err and validate.refusals(ran.json) == []


def test_no_fault_is_left_out_silently(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    texts = [{"type": "text", "text": text} for text in ["look", *[" "] * 25]]
    path.write_text(json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": texts}]}))
    err = ctxtui("repair", path, "--dry-run").err
    assert err.count("wrong: text must not be empty") == 20 and "wrong: 5 more" in err
