"""Databases as recordings: OpenCode's, both generations of llm's, anybody's; never written to."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.call import EpochStart
from ctxtui.core.errors import NoContext, Unreadable
from ctxtui.core.session import Session
from ctxtui.services.recordings.databases.sessions import read_rows
from ctxtui.services.recordings.open import load
from tests.sampling import few
from tests.transcripts.reading import calls, law_2, lines_of, shown, survives_cuts, survives_values, total


def database(path: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    with sqlite3.connect(path) as made:
        for name, held in tables.items():
            columns = list(dict.fromkeys(key for row in held for key in row))
            quoted = ", ".join(f'"{column}"' for column in columns)
            made.execute(f'CREATE TABLE "{name}" ({quoted})')
            for row in held:
                marks = ", ".join("?" for _ in columns)
                values = [json.dumps(v) if isinstance(v, dict) else v for v in (row.get(c) for c in columns)]
                made.execute(f'INSERT INTO "{name}" VALUES ({marks})', values)
    made.close()
    return path


def opencode() -> dict[str, list[dict[str, Any]]]:
    def message(n: int, session: str, role: str, **data: Any) -> dict[str, Any]:
        held = {"role": role, "time": {"created": n, "completed": n + 1}, **data}
        return {"id": f"msg_{n}", "session_id": session, "time_created": n, "data": held}

    def part(n: int, of: int, **data: Any) -> dict[str, Any]:
        return {"id": f"prt_{n}", "message_id": f"msg_{of}", "session_id": "s", "time_created": n, "data": data}

    tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 4}}
    state = {"status": "completed", "input": {"path": "."}, "output": "a.py"}
    said = {"modelID": "m-1", "providerID": "anthropic"}
    return {
        "session": [
            {"id": "ses_1", "parent_id": None, "directory": "/w", "title": "Fix", "version": "1", "time_updated": 9},
            {"id": "ses_2", "parent_id": "ses_1", "directory": "/w", "title": "explore", "version": "1",
             "time_updated": 99},
        ],
        "message": [
            message(1, "ses_1", "user"),
            message(2, "ses_1", "assistant", **said, tokens=tokens, cost=0.5, finish="tool-calls"),
            message(3, "ses_1", "assistant", **said, summary=True),
            message(4, "ses_1", "assistant", **said, error={"name": "Aborted", "data": {"message": "stopped"}}),
            message(5, "ses_2", "user"),
            message(6, "ses_2", "assistant", **said),
        ],
        "part": [
            part(1, 1, type="text", text="Which files?"),
            part(2, 2, type="step-start"),
            part(3, 2, type="reasoning", text="look"),
            part(4, 2, type="tool", callID="t1", tool="ls", state=state),
            part(5, 2, type="step-finish", tokens=tokens, cost=0.25, reason="tool-calls"),
            part(6, 2, type="step-start"),
            part(7, 2, type="text", text="a.py"),
            part(8, 2, type="step-finish", tokens=tokens, cost=0.25, reason="stop"),
            part(9, 3, type="text", text="so far"),
            part(10, 5, type="text", text="explore"),
            part(11, 6, type="text", text="found"),
        ],
    }  # fmt: skip


def old_llm() -> dict[str, list[dict[str, Any]]]:
    def response(n: int, prompt: str, said: str, **rest: Any) -> dict[str, Any]:
        when, details = f"2026-01-01T00:00:0{n}", {"prompt_tokens_details": {"cached_tokens": 8}}
        return {"id": f"r{n}", "model": "gpt-9", "prompt": prompt, "system": "Be brief.", "response": said,
                "conversation_id": "c1", "duration_ms": 500, "datetime_utc": when, "input_tokens": 20,
                "output_tokens": 3, "token_details": details, **rest}  # fmt: skip

    return {
        "conversations": [{"id": "c1", "name": "Sums", "model": "gpt-9"}, {"id": "c0", "name": "Old"}],
        "responses": [response(1, "2+2?", ""), response(2, "", "Four"), response(0, "x", "y", conversation_id="c0")],
        "tool_calls": [{"response_id": "r1", "name": "add", "arguments": '{"a":2}', "tool_call_id": "t"}],
        "tool_results": [{"response_id": "r2", "name": "add", "output": "4", "tool_call_id": "t"}],
    }


def new_llm() -> dict[str, list[dict[str, Any]]]:
    def part(of: str, n: int, type_: str, text: str, **payload: Any) -> dict[str, Any]:
        return {"message_hash": of, "position": n, "type": type_, "tool_name": "add", "text": text, "payload": payload}

    turn = {"thread_id": "th", "model": "m", "resolved_model": "m-1", "input_tokens": 5, "output_tokens": 1}
    return {
        **old_llm(),
        "threads": [{"id": "th", "name": "New"}],
        "turns": [
            {**turn, "id": "u1", "tip_message_hash": "h2", "datetime_utc": "2026-02-01T00:00:01"},
            {**turn, "id": "u2", "tip_message_hash": "h4", "datetime_utc": "2026-02-01T00:00:02"},
        ],
        "messages": [
            {"hash": "h1", "parent_hash": None, "role": "user"},
            {"hash": "h2", "parent_hash": "h1", "role": "assistant"},
            {"hash": "h3", "parent_hash": "h2", "role": "user"},
            {"hash": "h4", "parent_hash": "h3", "role": "assistant"},
        ],
        "parts": [
            part("h1", 0, "text", "Add"), part("h2", 1, "tool_call", "", tool_call_id="t", arguments={"a": 1}),
            part("h2", 0, "reasoning", "so"), part("h3", 0, "tool_result", "", tool_call_id="t", output="1"),
            part("h4", 0, "text", "One"),
        ],
    }  # fmt: skip


def opened(path: Path) -> Session:
    before = path.read_bytes()
    session = load(path).session
    assert path.read_bytes() == before
    return session


def test_opencode(tmp_path: Path) -> None:
    session = opened(database(tmp_path / "opencode.db", opencode()))
    first, second, summary, last = calls(session)
    assert session.about.title == "Fix" and session.about.cwd == "/w" and session.about.source == "opencode"
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (10, 30, 4)
    assert (first.usage.output, first.usage.cost, first.provider) == (7, 0.25, "anthropic")
    assert shown(session, second.raw_head, first.raw_head) == [
        ("messages", "assistant", "header"), ("messages", "assistant", "thinking"),
        ("messages", "assistant", "tool_use"), ("messages", "user", "header"), ("messages", "user", "tool_result"),
    ]  # fmt: skip
    assert summary.usage is None and last.epoch.start is EpochStart.COMPACTION and last.error == "stopped"
    assert len(shown(session, last.raw_head)) == 2
    assert session.threads["ses_2"].parent == "main" and session.threads["ses_2"].label == "explore"


def test_older_llm(tmp_path: Path) -> None:
    session = opened(database(tmp_path / "logs.db", old_llm()))
    first, second = calls(session)
    assert session.about.title == "Sums" and (first.id, second.id) == ("r1", "r2")
    assert [kind for _, _, kind in shown(session, second.response_head)] == [
        "header", "text", "header", "text", "header", "tool_use", "header", "tool_result", "header", "text",
    ]  # fmt: skip
    assert first.usage and (first.usage.fresh, first.usage.cache_read) == (12, 8)
    assert set(session.threads) == {"main"} and total(session).input == 40


def test_newer_llm(tmp_path: Path) -> None:
    session = opened(database(tmp_path / "logs.db", new_llm()))
    first, second = calls(session)
    assert session.about.title == "New" and second.model == "m-1"
    assert session.tree.holds(second.raw_head, first.response_head)
    assert [kind for _, _, kind in shown(session, second.response_head)] == [
        "header", "text", "header", "thinking", "tool_use", "header", "tool_result", "header", "text",
    ]  # fmt: skip
    assert set(session.threads) == {"main"}


@pytest.mark.parametrize("name", ["prompt_tokens_details", "input_tokens_details"])
def test_what_llm_notes_of_the_cache_adds_up(tmp_path: Path, name: str) -> None:
    """OpenAI's figures lie within the input, and zeros are left out."""
    tables = new_llm()
    details = [{name: {"cache_write_tokens": 1500}}, {name: {"cache_write_tokens": 40, "cached_tokens": 1500}}]
    for turn, told, given in zip(tables["turns"], details, (1600, 1545), strict=True):
        turn |= {"token_details": told, "input_tokens": given}
    first, second = (call.usage for call in calls(opened(database(tmp_path / "logs.db", tables))))
    assert first and (first.fresh, first.cache_read, first.write_30m, first.input) == (100, 0, 1500, 1600)
    assert second and (second.fresh, second.cache_read, second.write_30m, second.input) == (5, 1500, 40, 1545)
    assert first.has_cache and second.has_cache


def rich_llm() -> dict[str, list[dict[str, Any]]]:
    """Texts put together of fragments, attachments, tools, and a fork that nothing was asked in yet."""
    tables = new_llm()
    tables["fragments"] = [{"id": 7, "content": "The whole novel."}]
    tables["attachments"] = [
        {"id": "a1", "type": "image/png", "path": None, "url": None, "content": b"png"},
        {"id": "a2", "type": "application/pdf", "path": "/x.pdf", "url": None, "content": None},
    ]
    # As they stand beside each other in a real database: those of older versions are for other responses.
    tables["part_fragments"] = [{"part_id": 21, "fragment_id": 7, "order": 0}]
    tables["part_attachments"] = [
        {"part_id": 22, "attachment_id": "a1", "order": 0},
        {"part_id": 23, "attachment_id": "a2", "order": 0},
    ]
    tables["prompt_fragments"] = tables["system_fragments"] = [{"response_id": "r9", "fragment_id": 9, "order": 0}]
    tables["prompt_attachments"] = [{"response_id": "r9", "attachment_id": "a9", "order": 0}]
    pieces = [{"fragment": 7}, {"literal": " Sum it up."}]
    payload = {"message_hash": "h1", "tool_name": None, "text": None}
    tables["parts"] += [
        {**payload, "id": 21, "position": 1, "type": "text", "payload": {"text_ref": pieces}},
        {**payload, "id": 22, "position": 2, "type": "attachment", "payload": {"attachment": {"id": "a1"}}},
        {**payload, "id": 23, "position": 3, "type": "attachment", "payload": {"attachment": {"id": "a2"}}},
    ]
    tables["parts"][2] |= {"text": "", "payload": {"redacted": True}}
    tables["tools"] = [{"id": 1, "name": "add", "description": "Adds", "input_schema": {"type": "object"}}]
    tables["turn_tools"] = [{"turn_id": "u1", "tool_id": 1}]
    tables["threads"] = [
        {"id": "th", "name": "New", "tip_message_hash": "h4", "forked_from": None},
        {"id": "f", "name": "Fork", "tip_message_hash": "h5", "forked_from": "th"},
    ]
    tables["messages"].append({"hash": "h5", "parent_hash": "h3", "role": "user"})
    tables["parts"].append({**payload, "message_hash": "h5", "id": 24, "position": 0, "type": "text", "text": "Or so?"})
    for turn, parent in zip(tables["turns"], ("h1", "h3"), strict=True):
        turn |= {
            "parent_message_hash": parent,
            "response_json": {"id": "r", "finish_reason": "stop"},
            "token_details": {"completion_tokens_details": {"reasoning_tokens": 1}},
        }
    return tables


def test_llms_fragments_attachments_tools_and_forks(tmp_path: Path) -> None:
    session = opened(database(tmp_path / "logs.db", rich_llm()))
    first, _ = calls(session)
    held = list(session.tree.items(first.raw_head))
    assert [i.block.kind for i in held] == ["tool", "header", "text", "text", "image", "document"]
    assert content(held[3].block).text == "The whole novel. Sum it up."
    assert first.usage and first.usage.reasoning == 1 and first.stop_reason == "stop"
    assert [k for *_, k in shown(session, first.response_head, first.raw_head)] == ["header", "reasoning", "tool_use"]
    assert session.threads["f"].parent == "main"
    assert [k for *_, k in shown(session, session.threads["f"].tip)][-3:] == ["tool_result", "header", "text"]


def test_older_llms_fragments_and_tools(tmp_path: Path) -> None:
    tables = old_llm()
    tables["fragments"] = [{"id": 7, "content": "The whole novel."}]
    tables["prompt_fragments"] = [{"response_id": "r1", "fragment_id": 7, "order": 0}]
    tables["system_fragments"] = [{"response_id": "r1", "fragment_id": 7, "order": 0}]
    tables["tools"] = [{"id": 1, "name": "add", "description": "Adds", "input_schema": {"type": "object"}}]
    tables["tool_responses"] = [{"response_id": "r1", "tool_id": 1}]
    session = opened(database(tmp_path / "logs.db", tables))
    texts = [content(i.block).text for i in session.tree.items(calls(session)[0].raw_head) if i.block.kind == "text"]
    assert texts == ["The whole novel.\n\nBe brief.", "The whole novel.\n2+2?"]
    assert next(iter(session.tree.items(calls(session)[0].raw_head))).block.kind == "tool"


@pytest.mark.parametrize("make", few([opencode, old_llm, new_llm, rich_llm]))
def test_rows_in_any_chunking_cut_and_type(tmp_path: Path, make: Any) -> None:
    data = b"".join(read_rows(database(tmp_path / "a.db", make())))
    law_2(data, "a.db")
    survives_cuts(data, "a.db")
    survives_values([json.loads(line) for line in data.splitlines()], "a.db", _keeping_head(data))


def _keeping_head(data: bytes) -> Any:
    head = data.splitlines(keepends=True)[0]
    return lambda value: head + (lines_of(value[1:]) if isinstance(value, list) else b"")


def test_anybodys_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoContext, match="a SQLite database"):
        load(database(tmp_path / "other.db", {"session": [{"x": 1}]}))


def test_a_broken_database_is_unreadable(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", opencode())
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(Unreadable, match="SQLite cannot read"):
        load(path)
