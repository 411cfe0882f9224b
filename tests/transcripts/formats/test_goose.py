"""Goose: sessions of its database with their sums, and logs of requests."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.session import MAIN
from ctxtui.services.recordings.databases.sessions import list_roots, read_rows
from ctxtui.services.recordings.open import load
from tests.transcripts.reading import calls, law_2, read, survives_cuts

_SCHEMA = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER,
    input_tokens INTEGER, output_tokens INTEGER, accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER,
    accumulated_output_tokens INTEGER, provider_name TEXT, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
    content_json TEXT, created_timestamp INTEGER, tokens INTEGER, metadata_json TEXT);
"""
_HIDDEN = {"userVisible": True, "agentVisible": False}


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def asks(id_: str, command: str) -> Any:
    return {
        "type": "toolRequest",
        "id": id_,
        "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": command}}},
    }


def gives(id_: str, value: Any, status: str = "success") -> Any:
    said = {"value": value} if status == "success" else {"error": value}
    return {"type": "toolResponse", "id": id_, "toolResult": {"status": status, **said}}


TALK: Any = [
    ("user", [text("which files?")]),
    ("assistant", [{"type": "thinking", "thinking": "ls", "signature": "s"}, text("I look.")]),
    ("assistant", [asks("t1", "ls")]),
    ("user", [gives("t1", {"content": [text("a.py")], "isError": False})]),
    ("assistant", [text("a.py")]),
]


def database(path: Path, **sessions: list[tuple[Any, ...]]) -> Path:
    """A database with `sessions`: messages as role, content and what else its metadata says."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(_SCHEMA)
        for number, (id_, said) in enumerate(sessions.items()):
            day = f"2026-05-0{number + 1} 10:00:00"
            row = (id_, f"about {id_}", "/home/dev/shop", day, day, 50, 7, 90, 12, "anthropic", '{"model_name": "m-1"}')
            made.execute(
                "INSERT INTO sessions (id, name, working_dir, created_at, updated_at, input_tokens, output_tokens,"
                " accumulated_input_tokens, accumulated_output_tokens, provider_name, model_config_json)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            for n, (role, content, *known) in enumerate(said):
                metadata = json.dumps(known[0] if known else {"userVisible": True, "agentVisible": True})
                made.execute(
                    "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp,"
                    " metadata_json) VALUES (?, ?, ?, ?, ?, ?)",
                    (f"msg_{id_}_{n}", id_, role, json.dumps(content), 1_790_000_000 + n, metadata),
                )
        made.commit()
    return path


def test_sessions_are_listed_and_opened_one_by_one(tmp_path: Path) -> None:
    path = database(tmp_path / "sessions.db", one=TALK, two=TALK[:2])
    assert [(one.id, one.title, one.messages) for one in list_roots(path)] == [
        ("two", "about two", 2),
        ("one", "about one", 5),
    ]
    session = load(Path(f"{path}#one")).session
    assert (session.about.id, session.about.cwd, session.about.source) == ("one", "/home/dev/shop", "goose")
    first, last = calls(session)
    assert (first.usage, last.usage and (last.usage.input, last.usage.output, last.usage.has_cache)) == (
        None,
        (50, 7, False),
    )
    kinds = [session.tree[n].block.kind for n in session.tree.path(last.raw_head)]
    assert kinds == ["header", "text", "header", "thinking", "text", "tool_use", "header", "tool_result"]
    (rest,) = calls(session, "totals one")
    assert rest.is_sum and rest.usage and (rest.usage.input, rest.usage.output) == (40, 5)
    assert not (tmp_path / "sessions.db-wal").exists()


def test_the_whole_database_counts_every_session(tmp_path: Path) -> None:
    session = read(b"".join(read_rows(database(tmp_path / "sessions.db", one=TALK, two=TALK))), "sessions.db")
    assert session.about.id == "two" and len(calls(session, MAIN)) == len(calls(session, "one")) == 2
    used = [one.usage for one in session.calls.values() if one.usage]
    assert (sum(one.input for one in used), sum(one.output for one in used)) == (180, 24)


def test_what_the_agent_no_longer_sees_is_out_of_its_context(tmp_path: Path) -> None:
    note = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacting ..."}
    said = [(role, content, _HIDDEN) for role, content in TALK]
    said += [("assistant", [note], _HIDDEN), ("user", [text("So far: a.py.")]), ("assistant", [text("Go on.")])]
    first, _, last = calls(load(database(tmp_path / "sessions.db", one=said)).session)
    assert (first.epoch.number, last.epoch.number, str(last.epoch.start)) == (1, 2, "compaction")
    session = load(tmp_path / "sessions.db").session
    assert [session.tree[n].block.kind for n in session.tree.path(last.raw_head)] == ["header", "text"]


def test_what_the_client_writes_after_a_compaction_is_no_answer(tmp_path: Path) -> None:
    own = {"userVisible": False, "agentVisible": True}
    said = [(role, content, _HIDDEN) for role, content in TALK]
    said += [("user", [text("So far: a.py.")], own), ("assistant", [text("Do not mention the summary.")], own)]
    session = load(database(tmp_path / "sessions.db", one=[*said, ("assistant", [text("Go on.")])])).session
    last = calls(session)[-1]
    assert len(calls(session)) == 3
    texts = [session.tree[n].block.value().get("text") for n in session.tree.path(last.raw_head)]
    assert [one for one in texts if one] == ["So far: a.py.", "Do not mention the summary."]


def test_what_stays_before_and_behind_what_was_hidden_is_read(tmp_path: Path) -> None:
    said = [TALK[0], *((role, content, _HIDDEN) for role, content in TALK[1:4])]
    said += [("user", [text("One call: ls gave a.py.")]), TALK[4]]
    session = load(database(tmp_path / "sessions.db", one=said)).session
    last = calls(session)[-1]
    texts = [session.tree[n].block.value().get("text") for n in session.tree.path(last.raw_head)]
    assert [one for one in texts if one] == ["which files?", "One call: ls gave a.py."]


@pytest.mark.parametrize(
    ("result", "content", "failed"),
    [
        (gives("t", [text("older")]), [{"type": "text", "text": "older"}], False),
        (gives("t", "no such tool", "error"), "no such tool", True),
        (gives("t", {"content": [text("x")], "isError": True}), [{"type": "text", "text": "x"}], True),
    ],
)
def test_results_of_every_form(result: Any, content: Any, failed: bool, tmp_path: Path) -> None:
    said = [("user", [text("go")]), ("assistant", [asks("t", "ls")]), ("user", [result])]
    session = load(database(tmp_path / "sessions.db", one=said)).session
    (found,) = [n.block.value() for n in session.tree.nodes() if n.block.kind == "tool_result"]
    assert (found["content"], found.get("is_error", False)) == (content, failed)


BODY = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": "You help.",
    "messages": [{"role": "user", "content": [text("which files?")]}],
    "tools": [{"name": "shell", "description": "runs", "input_schema": {"type": "object"}}],
}
CHAT = {
    "model": "m-2",
    "messages": [{"role": "system", "content": "You help."}, {"role": "user", "content": "which files?"}],
    "tools": [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}],
}


def log(body: Any, usage: Any = None) -> bytes:
    """A log of a request with an answer in pieces."""
    said = {"id": "msg_1", "role": "assistant", "created": 1_790_000_000, "metadata": {}}
    pieces = [[text("I l")], [text("ook.")], [asks("t1", "ls")]]
    lines = [{"data": {**said, "content": content}, "usage": None} for content in pieces]
    used = {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57, **(usage or {})}
    lines = [{"model_config": {"model_name": "m"}, "input": body}, *lines, {"data": None, "usage": used}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(("body", "system"), [(BODY, "text"), (CHAT, "header")])
def test_a_log_is_a_request_with_its_answer(body: Any, system: str) -> None:
    cached = {"cache_read_input_tokens": 30, "cache_write_input_tokens": None}
    found = read(log(body, cached), "llm_request.0.jsonl")
    (call,) = calls(found)
    assert call.usage and (call.usage.fresh, call.usage.cache_read, call.usage.output) == (20, 30, 7)
    said = [found.tree[n].block for n in found.tree.path(call.response_head, call.raw_head)]
    assert [block.kind for block in said][-1] == "tool_use" or said[-1].value().get("function")
    assert "I look." in json.dumps([block.value() for block in said])


def test_any_chunking_and_any_cut_of_a_log() -> None:
    law_2(log(BODY), "llm_request.0.jsonl")
    survives_cuts(log(BODY), "llm_request.0.jsonl")
