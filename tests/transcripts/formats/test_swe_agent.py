"""SWE-agent: histories, queries, demonstrations, totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import IN_ALL, Fidelity
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_bytes,
    calls,
    corpus_session,
    law_2,
    read,
    shown,
    survives_cuts,
    survives_values,
    total,
)

NAME = "a.traj"


def trajectory() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    steps = [
        {"action": "ls", "observation": "a.py", "response": "look", "thought": "look", "state": {}},
        {"action": "submit", "observation": "", "response": "done", "thought": "done", "state": {}},
    ]
    history = [
        {"role": "system", "content": "You act.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True},
        {"role": "assistant", "content": "shown", "agent": "main", "is_demo": True},
        {"role": "user", "content": "Fix it.", "agent": "main"},
        {"role": "assistant", "content": "look", "action": "ls", "agent": "main", "tool_calls": [call]},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
    ]
    stats = {"instance_cost": 0.5, "tokens_sent": 700, "tokens_received": 30, "api_calls": 2}
    info = {"exit_status": "submitted", "submission": "a patch", "model_stats": stats}
    config = json.dumps({"agent": {"model": {"name": "gpt-9"}}})
    return {"environment": "main", "trajectory": steps, "history": history, "info": info, "replay_config": config}


def test_history_and_the_answer_that_ended_the_run() -> None:
    session = read(as_bytes(trajectory()), NAME)
    first, second = calls(session)
    assert first.model == "gpt-9" and first.extra == {"agent": "main", IN_ALL: True}
    assert [kind for _, _, kind in shown(session, first.raw_head)] == ["header", "text"] * 4
    assert shown(session, second.raw_head, first.raw_head) == [
        ("messages", "assistant", "header"), ("messages", "assistant", "text"), ("messages", "assistant", "tool_call"),
        ("messages", "tool", "header"), ("messages", "tool", "text"),
    ]  # fmt: skip
    assert b'"tool_call_id":"c1"' in session.tree.items(second.raw_head)[-2].block.body


def test_totals_and_outcomes() -> None:
    session = read(as_bytes(trajectory()), NAME)
    (side,) = calls(session, "totals")
    assert side.fidelity is Fidelity.TOTALS and total(session).input == 700 and side.usage and side.usage.cost == 0.5
    told = {o.name: o.value for o in session.outcomes}
    assert told["exit_status"] == "submitted" and told["submission"] == "a patch" and told["api_calls"] == "2"


def test_messages_as_they_were_sent() -> None:
    value = trajectory()
    value["trajectory"][0]["query"] = value["history"][:4]
    value["trajectory"][1]["query"] = [value["history"][0], {"role": "user", "content": "Old output cut."}]
    session = read(as_bytes(value), NAME)
    first, second = calls(session)
    assert len(shown(session, first.raw_head)) == 8 and len(shown(session, second.raw_head)) == 4


def test_any_chunking_any_cut_any_value() -> None:
    data = as_bytes(trajectory(), indent=1)
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(trajectory(), NAME)


@pytest.mark.parametrize("path", corpus_params("swe_agent"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    value = json.loads(path.read_bytes())
    said = sum(m["role"] == "assistant" and not m.get("is_demo") for m in value["history"])
    assert len(calls(session)) in (said, said + 1)
    assert len(calls(session)) >= min(said, len(value.get("trajectory", [])))
    stats = value.get("info", {}).get("model_stats", {})
    assert total(session).input == stats.get("tokens_sent", 0)
    assert ("exit_status" in value.get("info", {})) == any(o.name == "exit_status" for o in session.outcomes)
