"""Recordings that are many small files: OpenCode's JSON storage, OpenHands' folders of logs and of events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import NoContext
from ctxtui.core.session import Session
from ctxtui.services.recordings.folder_scan import recordings_in
from ctxtui.services.recordings.multi_file import is_gathered
from ctxtui.services.recordings.open import load
from tests.cases.agents import openhands_log, openhands_v0_events
from tests.services.recordings.test_database import database, opencode
from tests.transcripts.reading import calls, shown


def told(session: Session) -> list[Any]:
    """Everything that was read, but the ids of calls, which their own place in time makes."""
    return [
        session.about,
        session.threads,
        [(c.thread, c.usage, c.stop_reason, c.error, c.raw_head, c.response_head) for c in session.calls.values()],
        [(node.block, node.place) for node in session.tree.nodes()],
    ]


def storage(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    """OpenCode's files, as it writes them, with what its database would hold."""

    def put(path: Path, value: dict[str, Any]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2))
        return path

    for row in tables["session"]:
        time = {"created": 1, "updated": row["time_updated"]}
        kept = {"id": row["id"], "projectID": "p", "title": row["title"], "time": time, "version": row["version"]}
        parent = {"parentID": row["parent_id"]} if row["parent_id"] else {}
        put(folder / "session" / "p" / f"{row['id']}.json", {**kept, "directory": row["directory"], **parent})
    for row in tables["message"]:
        put(folder / "message" / row["session_id"] / f"{row['id']}.json", {"id": row["id"], **row["data"]})
    for row in tables["part"]:
        put(folder / "part" / row["message_id"] / f"{row['id']}.json", {"id": row["id"], **row["data"]})
    return folder


def test_opencodes_files_say_what_its_database_says(tmp_path: Path) -> None:
    tables = opencode()
    kept = load(database(tmp_path / "opencode.db", tables)).session
    folder = storage(tmp_path / "storage", tables)
    loaded = load(folder / "session" / "p" / "ses_1.json")
    assert loaded.source == "opencode"
    assert told(loaded.session) == told(kept)
    assert not loaded.follows


def test_a_child_session_is_one_of_its_own(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage", opencode())
    session = load(folder / "session" / "p" / "ses_2.json").session
    assert session.about.id == "ses_2" and list(session.threads) == ["main"]


def test_the_storage_lists_its_sessions_newest_first(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage", opencode())
    for number, name in enumerate(("ses_1", "ses_2")):
        os.utime(folder / "session" / "p" / f"{name}.json", (1000 + number, 1000 + number))
    assert [path.name for path in recordings_in(folder)] == ["ses_2.json", "ses_1.json"]


def test_a_damaged_part_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage", opencode())
    next((folder / "part" / "msg_1").glob("*.json")).write_text('{"type": "text", "te')
    loaded = load(folder / "session" / "p" / "ses_1.json")
    assert len(loaded.skipped) == 1
    assert len(calls(loaded.session)) == 4


def test_a_session_without_its_messages_is_told_from_other_files(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage", opencode())
    alone = tmp_path / "ses_1.json"
    alone.write_bytes((folder / "session" / "p" / "ses_1.json").read_bytes())
    with pytest.raises(NoContext, match="an OpenCode session without any message"):
        load(alone)


def logs(folder: Path, *, count: int = 3) -> Path:
    """A folder of logs, one request each, every one with the whole history before it."""
    folder.mkdir()
    history: list[dict[str, Any]] = openhands_log()["messages"]
    for number in range(count):
        answer = {"role": "assistant", "content": f"step {number}"}
        log = openhands_log()
        log["messages"], log["timestamp"] = list(history), 1_700_000_010.0 + number
        log["response"] = {**log["response"], "id": f"r-{number}", "choices": [{"index": 0, "message": answer}]}
        # Ten times more digits in the later ones: names alone would sort them wrongly.
        stamp = ("999999999.5", "1700000000.25", "1700000000.125")[number % 3]
        (folder / f"m__x-{stamp}-0a{number}f.json").write_text(json.dumps(log))
        history = [*history, answer, {"role": "user", "content": f"go on {number}"}]
    return folder


def test_a_folder_of_logs_is_one_session(tmp_path: Path) -> None:
    loaded = load(logs(tmp_path / "completions"))
    main = calls(loaded.session)
    assert [call.id for call in main] == ["r-0", "r-2", "r-1"] and len(loaded.session.threads) == 1
    first, third, second = main
    tree = loaded.session.tree
    assert tree.holds(second.raw_head, first.raw_head) and tree.holds(third.raw_head, second.response_head)
    assert len(shown(loaded.session, third.raw_head)) > len(shown(loaded.session, first.raw_head))


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    folder = logs(tmp_path / "completions")
    (folder / "m__x-1700000000.125-0a2f.json").write_text('{"messages": [')
    loaded = load(folder)
    assert len(calls(loaded.session)) == 2
    (skipped,) = loaded.skipped
    assert skipped.line == 2 and skipped.reason.startswith("no log: m__x-1700000000.125-0a2f.json: ")


def test_a_folder_of_events_is_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "abc" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(openhands_v0_events()):
        (folder / f"{number}.json").write_text(json.dumps(event))
    (path,) = recordings_in(tmp_path / "sessions")
    assert path == folder
    assert [call.id for call in calls(load(folder).session)][:2] == ["r-1", "r-2"]


@pytest.mark.parametrize(
    ("folder", "names", "expected"),
    [
        ("events", ["0.json", "10.json"], True),
        ("events", ["event-00001-a.json"], False),
        ("x", ["0.json"], False),
        ("x", ["gpt-4o-1700000000.123.json", "notes.txt"], True),
        ("x", ["gpt-4o-1700000000.123-ab12-error.json"], True),
        ("x", ["gpt-4o-1700000000.123.json", "other.json"], False),
        ("x", [], False),
        ("job-1", ["001-prompt.txt", "001-response.txt", "notes.md"], True),
        ("job-1", ["001-prompt.txt", "session.jsonl"], False),
        ("job-1", ["001-response.txt"], False),
        ("logs", ["turn_000001.json", "turn-2.json"], True),
        ("logs", ["turn_000001.json", "other.json"], False),
    ],
)
def test_which_folders_are_one_recording(folder: str, names: list[str], expected: bool) -> None:
    assert is_gathered(folder, names) is expected


JOB = {
    "001-prompt.txt": "Add a limit.\n=== Repository ===\npackage api\n",
    "001-response.txt": "I look at it.",
    "001-tool-calls.json": '[{"tool": "read_file", "args": {"path": "a.go"}}]',
    "001-tool-results.json": '[{"output": "package a"}]',
    "002-prompt.txt": "Add a limit.\n=== Repository ===\npackage api\n=== Previous Work Summary ===\nSteps 1-1:\n",
    "002-response.txt": "Done.",
    "002-tool-calls.json": "[",
    "010-prompt.txt": "Once more.",
    "notes.md": "not of the job",
}


def test_a_jobs_folder_of_another_program_is_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "job-123"
    folder.mkdir(parents=True)
    for name, text in JOB.items():
        (folder / name).write_text(text)
    assert recordings_in(tmp_path / "jobs") == [folder]
    session = load(folder).session
    first, second, third = calls(session)
    assert [call.id for call in (first, second, third)] == ["round-1", "round-2", "round-10"]
    assert session.about.source == "job folder" and session.about.title == "Add a limit."
    tree = session.tree
    asked = [[item.block for item in tree.items(call.raw_head)] for call in (first, second)]
    assert asked[1][: len(asked[0])] == asked[0] and len(asked[1]) == len(asked[0]) + 1, "sections that stay are seen"
    said = [item.block.value() for item in tree.items(first.response_head, first.raw_head)]
    assert "I look at it." in str(said) and "read_file" in str(said) and "a.go" in str(said)
    assert [one.reason for one in session.skipped] == ["no JSON: 002-tool-calls.json"]
    assert all(call.usage is None for call in (first, second, third))


def test_a_folder_of_turns_logs_is_counts(tmp_path: Path) -> None:
    theirs = {
        "input_tokens": 9000,
        "output_tokens": 595,
        "cache_creation_input_tokens": 400,
        "cache_read_input_tokens": 15079,
    }
    ours = {"input": 24479, "output": 595, "cache_read": 15079, "cache_write": 400, "fresh": 9000}
    for number, usage in ((1, theirs), (2, ours), (10, theirs)):
        log = {
            "turn_id": f"turn_{number:06}",
            "timestamp": "2025-11-01T18:15:22Z",
            "usage": usage,
            "composition": {"buttons": 21},
        }
        (tmp_path / f"turn_{number:06}.json").write_text(json.dumps(log))
    session = load(tmp_path).session
    found = calls(session)
    assert [call.id for call in found] == ["turn_000001", "turn_000002", "turn_000010"]
    assert {(c.usage.input, c.usage.output, c.usage.cache_read, c.usage.cache_write) for c in found if c.usage} == {
        (24479, 595, 15079, 400)
    }
    assert found[0].fidelity == "totals only" and found[0].extra["composition"] == {"buttons": 21}
    (tmp_path / "turn_000003.json").write_text("{")
    assert [one.reason for one in load(tmp_path).session.skipped] == ["no JSON: turn_000003.json"]
