"""Sessions written for a tool to resume, from the command line: their size, where they end, what is said of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cases import cline, kimi_code
from tests.cases.claude_code import generate
from tests.cases.opencode import shop as opencode_shop
from tests.cases.pi import shop as pi_shop
from tests.cli.conftest import Run
from tests.services.recordings.test_database import database, opencode
from tests.transcripts.resumable import claude_code_context, unmarked


@pytest.fixture
def recording(home: Path, tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(40, 3, bytes_per_message=4000))
    return path


def curated(ctxtui: Run, recording: Path, *more: str | Path) -> tuple[Path, Any]:
    """The file that is written, and what is said about it."""
    folder = recording.parent / "resumed"
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    told = ctxtui("curate", recording, "--to", "claude-code", "--json", *more)
    assert told.code == 0, told.err
    written = ctxtui("curate", recording, "--to", "claude-code", "-o", folder, *more)
    assert written.code == 0, written.err
    (made,) = set(folder.iterdir()) - before
    return made, told.json


@pytest.mark.parametrize("command", ["curate", "export"])
def test_what_a_rewind_restores_goes_with_the_session(ctxtui: Run, recording: Path, command: str) -> None:
    folder, kept = recording.parent / "projects" / "shop", recording.parent / "file-history"
    folder.mkdir(parents=True)
    (kept / "old").mkdir(parents=True)
    (kept / "old" / "a1b2@v1").write_text("before")
    source = recording.rename(folder / "old.jsonl")
    assert ctxtui("curate", source, "--to", "claude-code", "-o", folder, "--dry-run").code == 0
    assert [one.name for one in kept.iterdir()] == ["old"]
    (folder / "mine.jsonl").write_text("mine")
    assert ctxtui(command, source, "--to", "claude-code", "-o", folder / "mine.jsonl").code != 0
    assert [one.name for one in kept.iterdir()] == ["old"]
    assert ctxtui(command, source, "--to", "claude-code", "-o", folder).code == 0
    (made,) = set(folder.iterdir()) - {source, folder / "mine.jsonl"}
    assert (kept / made.stem / "a1b2@v1").read_text() == "before"


def test_its_size_is_the_one_that_was_said_before(ctxtui: Run, recording: Path) -> None:
    made, told = curated(ctxtui, recording, "--policy", "truncate_results", "--set", "limit=200")
    tokens = told["tokens"]
    assert tokens["after"] < tokens["before"] * 0.8
    last = [json.loads(line) for line in made.read_bytes().splitlines() if b'"type":"assistant"' in line][-1]
    meter = last["message"]["usage"]
    assert abs(meter["input_tokens"] + meter["output_tokens"] - tokens["after"]) <= tokens["after"] * 0.02
    shown = ctxtui("show", made, "--json").json
    assert shown["context_tokens"] == meter["input_tokens"] and shown["method"] != "reported"
    assert abs(shown["residual"]) < tokens["after"] * 0.03


def test_as_it_is_every_report_stays(ctxtui: Run, recording: Path) -> None:
    made, told = curated(ctxtui, recording)
    assert told["tokens"]["freed"] == 0
    usages = [line.split(b'"usage"')[1] for line in recording.read_bytes().splitlines() if b'"usage"' in line]
    assert [
        line.split(b'"usage"')[1] for line in unmarked(made.read_bytes()).splitlines() if b'"usage"' in line
    ] == usages


def test_it_goes_on_behind_an_answer_and_not_with_the_next_prompt(ctxtui: Run, recording: Path) -> None:
    ended = [json.loads(line) for line in recording.read_bytes().splitlines()]
    stops = [n for n, one in enumerate(ended) if one.get("message", {}).get("stop_reason") == "end_turn"]
    calls = [one["message"]["id"] for one in ended[: stops[0] + 1] if one["type"] == "assistant"]
    made, told = curated(ctxtui, recording, "--call", str(len(dict.fromkeys(calls))))
    role, part = claude_code_context(made.read_bytes())[-1]
    assert role == "assistant" and part == ended[stops[0]]["message"]["content"][-1]
    assert told["after"] is True


def test_an_answer_with_tool_calls_is_followed_by_their_results(ctxtui: Run, recording: Path) -> None:
    made, _ = curated(ctxtui, recording, "--call", "1")
    said = claude_code_context(made.read_bytes())
    asked = {part["id"] for _, part in said if part["type"] == "tool_use"}
    assert asked and {part["tool_use_id"] for _, part in said if part["type"] == "tool_result"} == asked


def test_a_prompt_that_waits_is_left_out_and_named(ctxtui: Run, recording: Path) -> None:
    last = json.loads(recording.read_bytes().splitlines()[-1])
    prompt = {**last, "type": "user", "uuid": "waiting", "parentUuid": last["uuid"]}
    prompt["message"] = {"role": "user", "content": "and what of the harbour?"}
    recording.write_bytes(recording.read_bytes() + json.dumps(prompt).encode() + b"\n")
    made, told = curated(ctxtui, recording)
    assert b"the harbour?" not in made.read_bytes()
    assert any("after the last answer" in line for line in told["lost"])


def test_who_asks_for_the_prompt_too_is_told_why_not(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("curate", recording, "--to", "claude-code", "--no-after")
    assert ran.code == 2 and "must end after an answer" in ran.err


def test_what_to_type_next_is_said(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("curate", recording, "--to", "claude-code", "--json")
    resume = ran.json["resume"]
    assert resume["command"] == f"claude --resume {resume['id']}" and resume["file"] == f"{resume['id']}.jsonl"
    assert resume["command"] in ran.err
    assert ctxtui("curate", recording, "--json").json["resume"] is None


def test_a_subagents_thread_is_not_resumed(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "agents.jsonl"
    path.write_bytes(generate(30, 2, subagents=1))
    threads = ctxtui("show", path, "--threads", "--json").json["threads"]
    name = next(one["id"] for one in threads if one["id"] != "main")
    ran = ctxtui("curate", path, "--thread", name, "--to", "claude-code")
    assert ran.code == 7 and "subagent" in ran.err and "--to ctxtui" in ran.err


def test_an_export_is_such_a_session_too(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    folder.mkdir()
    ran = ctxtui("export", recording, "--to", "claude-code", "-o", folder, "--json")
    (made,) = folder.iterdir()
    assert ran.json["resume"]["command"] == f"claude --resume {made.stem}" and ran.json["resume"]["command"] in ran.err
    assert claude_code_context(made.read_bytes()) == claude_code_context(recording.read_bytes())


def test_for_codex_another_tools_recording_is_translated(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("export", recording, "--to", "codex")
    assert ran.code == 0 and "codex resume" in ran.err and "not carried over" in ran.err
    first = json.loads(ran.out.splitlines()[0])
    assert first["type"] == "session_meta" and first["payload"]["id"] in ran.err


def test_a_clients_reminders_are_not_shown_as_the_users_words(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    """From a recorded request, whose reminders are parts of the user's messages."""
    reminder = "<system-reminder>\nEnd commits with a name.\n</system-reminder>"
    texts = [{"type": "text", "text": reminder}, {"type": "text", "text": "where is it?"}]
    said = [
        {"role": "user", "content": texts},
        {"role": "assistant", "content": [{"type": "text", "text": "There."}]},
    ]
    source = tmp_path / "body.json"
    source.write_text(json.dumps({"model": "claude-opus-5-5", "max_tokens": 9, "messages": said}))
    made = tmp_path / "made.jsonl"
    ran = ctxtui("curate", source, "--to", "claude-code", "-o", made)
    assert ran.code == 0, ran.err
    records = [json.loads(line) for line in made.read_bytes().splitlines()]
    told = [(one["type"], one.get("isMeta", False), json.dumps(one["message"]["content"])) for one in records]
    assert [one[:2] for one in told] == [("user", True), ("user", False), ("assistant", False)]
    assert "End commits" in told[0][2] and "where is it" in told[1][2]
    assert [one["parentUuid"] for one in records[1:]] == [one["uuid"] for one in records[:-1]]


def test_another_tools_recording_is_refused_with_the_way_out(ctxtui: Run, recording: Path) -> None:
    for form in ("opencode", "pi", "aider", "continue-cli", "cline", "copilot-cli"):
        ran = ctxtui("export", recording, "--to", form)
        assert ran.code == 7 and "only a tool's own recording" in ran.err and ran.out == ""


@pytest.fixture
def others(home: Path, tmp_path: Path) -> dict[str, Path]:
    """A recording of each tool whose file may stand anywhere."""
    chat = "# aider chat started at 2026-11-22 09:38:43\n\n#### first\n\nOne.\n\n> Tokens: 16k sent, 4 received.\n"
    files = {"opencode": opencode_shop().dump(), "pi": pi_shop().dump(), "aider": chat.encode()}
    names = {"opencode": "session.json", "pi": "session.jsonl", "aider": ".aider.chat.history.md"}
    for form, data in files.items():
        (tmp_path / form).mkdir()
        (tmp_path / form / names[form]).write_bytes(data)
    return {form: tmp_path / form / names[form] for form in files}


@pytest.mark.parametrize("form", ["opencode", "pi", "aider"])
def test_each_tools_session_has_the_size_that_was_said(ctxtui: Run, others: dict[str, Path], form: str) -> None:
    place = others[form].parent / f"out.{form}"
    policy = [] if form == "aider" else ["--policy", "truncate_results", "--set", "limit=100"]
    ran = ctxtui("curate", others[form], "--to", form, "-o", place, *policy)
    assert ran.code == 0 and str(place) in ran.err and "the file's name must be" not in ran.err
    told = ctxtui("curate", others[form], "--to", form, "--json", *policy).json["tokens"]
    shown = ctxtui("show", place, "--json").json
    if form != "aider":
        # aider keeps no figures and counts for itself.
        assert told["freed"] > 0 and shown["method"] != "reported"
        assert 0 < told["after"] - shown["context_tokens"] < 120


def test_a_copy_in_our_own_format_is_written_anew_without_what_only_its_session_can_send(
    ctxtui: Run, recording: Path
) -> None:
    copy, out = recording.parent / "copy.jsonl", recording.parent / "out.json"
    assert ctxtui("export", recording, "--to", "ctxtui", "-o", copy).code == 0
    told = ctxtui("curate", copy, "--to", "claude-code", "-o", out)
    assert told.code == 0 and "thinking, which is valid only" in told.err
    asked = [part["id"] for _, part in claude_code_context(out.read_bytes()) if part["type"] == "tool_use"]
    assert asked and not any(part["type"] == "thinking" for _, part in claude_code_context(out.read_bytes()))
    refused = ctxtui("curate", copy, "--to", "pi")
    assert refused.code == 7 and "the recording is ctxtui, not pi" in refused.err


def test_a_session_of_several_files_is_a_folder_of_its_own(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    source = sessions / cline.ID / f"{cline.ID}.messages.json"
    source.parent.mkdir(parents=True)
    source.write_bytes(cline.dump(cline.shop()))
    details = source.with_name(f"{cline.ID}.json")
    details.write_bytes(cline.dump(cline.details()))
    assert ctxtui("curate", source, "--to", "cline", "-o", sessions, "--dry-run").code == 0
    assert list(sessions.iterdir()) == [source.parent], "nothing is written"
    for command in ("curate", "export"):
        ran = ctxtui(command, source, "--to", "cline", "-o", sessions)
        assert ran.code == 0, ran.err
        (made,) = set(sessions.iterdir()) - {source.parent}
        assert sorted(file.name for file in made.iterdir()) == [f"{made.name}.json", f"{made.name}.messages.json"]
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in made.iterdir())
        assert f"cline --id {made.name}" in ran.err
        assert made.name in json.loads((made / f"{made.name}.json").read_bytes())["messages_path"]
        shutil.rmtree(made)
    printed = ctxtui("export", source, "--to", "cline")
    assert json.loads(printed.out)["agent"] == "lead" and ".json: -o FOLDER writes all of it" in printed.err
    for command in ("curate", "export"):
        refused = ctxtui(command, source, "--to", "cline", "-o", sessions / "one.json")
        assert refused.code == 7 and "has several files" in refused.err and "name a folder" in refused.err
    assert list(sessions.iterdir()) == [source.parent]
    details.unlink()
    refused = ctxtui("curate", source, "--to", "cline", "-o", sessions)
    assert refused.code == 7 and f"details are missing, by which Cline finds it @ {cline.ID}.json" in refused.err
    assert list(sessions.iterdir()) == [source.parent]


def test_no_file_of_a_session_is_written_outside_of_the_folder(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "old" / "session_1" / "agents" / "main" / "wire.jsonl"
    source.parent.mkdir(parents=True)
    source.write_bytes(kimi_code.shop().dump())
    (source.parents[2] / "state.json").write_bytes(kimi_code.state())
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    for command in ("curate", "export"):
        assert ctxtui(command, source, "--to", "kimi-code", "-o", deep / "one.jsonl").code == 7
    assert [file for file in (tmp_path / "a").rglob("*") if file.is_file()] == []
    ran = ctxtui("curate", source, "--to", "kimi-code", "-o", deep)
    assert ran.code == 0, ran.err
    names = sorted(file.name for file in (tmp_path / "a").rglob("*") if file.is_file())
    assert names == ["state.json", "wire.jsonl"] and all(deep in file.parents for file in deep.rglob("*.json*"))


def test_an_export_never_overwrites_what_it_is_read_from(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", opencode())
    for name, file in ((str(recording), recording), (f"{path}#ses_1", path)):
        before = file.read_bytes()
        ran = ctxtui("export", name, "--to", "ctxtui", "-o", file, "--force")
        assert ran.code != 0 and "cannot overwrite the recording itself" in ran.err
        assert file.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["share", "{}", "-o", "{}", "--force"],
        ["report", "{}", "--html", "{}", "--force"],
        ["lab", "{}", "--html", "{}", "--force"],
        ["check", "{}", "--max-context", "100k", "--junit", "{}"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_page_or_report_replaces_the_recording_it_is_made_from(
    ctxtui: Run, recording: Path, arguments: list[str]
) -> None:
    before = recording.read_bytes()
    ran = ctxtui(*(argument.format(recording) for argument in arguments))
    assert ran.code != 0 and "cannot overwrite the recording itself" in ran.err
    assert recording.read_bytes() == before
