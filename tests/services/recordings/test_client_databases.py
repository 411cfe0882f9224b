"""Databases that real clients wrote, held against a plain reading of their tables: every message once, the same usage
and cost. Other people's files are in the corpus only; made-up ones are in test_database."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.session import Session
from ctxtui.services.recordings.databases.address import address_of
from ctxtui.services.recordings.databases.sessions import list_roots
from ctxtui.services.recordings.open import load
from tests.corpus import corpus_params
from tests.transcripts.reading import total


def table(path: Path, name: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]


def told(session: Session) -> Counter[tuple[str, str]]:
    """(kind, words) of every block of the session's threads, each as often as it stands at a thread's end."""
    tips = [thread.tip for thread in session.threads.values()]
    items = [item for tip in tips for item in session.tree.items(tip)]
    return Counter((item.block.kind, content(item.block).text) for item in items if item.block.kind in SPOKEN)


SPOKEN = ("text", "thinking", "tool_result")


@pytest.mark.parametrize("path", corpus_params("clients", "opencode-*/*.db"))
def test_opencode(path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(path, tmp_path))
    sessions = {row["id"]: row for row in table(path, "session")}
    of = {row["id"]: row["session_id"] for row in table(path, "message")}
    parts = [(of[row["message_id"]], json.loads(row["data"])) for row in table(path, "part")]
    listed = {one.id for one in list_roots(path)}
    assert listed == {id_ for id_, row in sessions.items() if not row["parent_id"] and id_ in of.values()}
    for id_ in listed:
        session = load(address_of(path, id_)).session
        family = {id_, *(one for one, row in sessions.items() if row["parent_id"] == id_)}
        mine = [part for owner, part in parts if owner in family]
        expected = Counter((part["type"], part["text"]) for part in mine if part["type"] == "text")
        results = [part["state"] for part in mine if part["type"] == "tool" and part["state"]["status"] == "completed"]
        expected += Counter(("tool_result", state["output"]) for state in results)
        assert told(session) == expected
        steps = [part for part in mine if part["type"] == "step-finish"]
        assert len(session.calls) == len(steps)
        used = total(session)
        rows = [sessions[one] for one in family]
        assert used.fresh == sum(row["tokens_input"] for row in rows)
        assert used.cache_read == sum(row["tokens_cache_read"] for row in rows)
        assert used.cache_write == sum(row["tokens_cache_write"] for row in rows)
        assert used.output == sum(row["tokens_output"] + row["tokens_reasoning"] for row in rows)
        assert used.cost == pytest.approx(sum(row["cost"] for row in rows), abs=0.01)
        assert session.about.title == sessions[id_]["title"] and session.about.cwd == sessions[id_]["directory"]
        assert not session.skipped


@pytest.mark.parametrize("path", corpus_params("clients", "llm-*/*.db"))
def test_llm(path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(path, tmp_path))
    threads, turns = table(path, "threads"), table(path, "turns")
    parents = {row["hash"]: row["parent_hash"] for row in table(path, "messages")}
    parts = table(path, "parts")
    offered = Counter(row["turn_id"] for row in table(path, "turn_tools"))
    assert {one.id for one in list_roots(path)} == {row["id"] for row in threads if not row["forked_from"]}
    for thread in threads:
        if thread["forked_from"]:
            continue
        session = load(address_of(path, thread["id"])).session
        family = {thread["id"], *(row["id"] for row in threads if row["forked_from"] == thread["id"])}
        mine = [row for row in turns if row["thread_id"] in family]
        assert set(session.calls) == {row["id"] for row in mine}
        for turn in mine:
            call = session.calls[turn["id"]]
            chain, at = [], turn["tip_message_hash"]
            while at:
                chain.append(at)
                at = parents[at]
            texts = [row["text"] for hash_ in reversed(chain) for row in sorted(parts, key=lambda r: r["position"])
                     if row["message_hash"] == hash_ and row["type"] == "text"]  # fmt: skip
            items = list(session.tree.items(call.response_head))
            assert [content(i.block).text for i in items if i.block.kind == "text"] == texts
            assert sum(i.place.section == "tools" for i in items) == offered[turn["id"]]
            assert call.usage is not None
            details = json.loads(turn["token_details"] or "{}")
            thought = [d.get("reasoning_tokens", d.get("thinking_tokens")) for d in details.values()]
            assert (call.usage.input, call.usage.output) == (turn["input_tokens"], turn["output_tokens"])
            assert call.usage.reasoning == sum(filter(None, thought))
        assert not session.skipped
