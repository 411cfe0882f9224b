"""Recordings that are many small files: OpenCode's JSON storage, OpenHands' folders of logs and of events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import NoContext
from ctxtui.core.session import Session
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.services.recordings.multi_file import is_multi_file
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
    assert [path.name for path in find_in_folder(folder)] == ["ses_2.json", "ses_1.json"]


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
    assert skipped.line == 2 and skipped.reason.startswith("not a log: m__x-1700000000.125-0a2f.json: ")


def test_a_folder_of_events_is_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "abc" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(openhands_v0_events()):
        (folder / f"{number}.json").write_text(json.dumps(event))
    (path,) = find_in_folder(tmp_path / "sessions")
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
    ],
)
def test_which_folders_are_one_recording(folder: str, names: list[str], expected: bool) -> None:
    assert is_multi_file(folder, names) is expected
