"""Gemini CLI: the JSON of older versions, the lines of newer ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.transcripts.registry import describe_file
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_bytes,
    as_lines,
    calls,
    law_2,
    lines_of,
    read,
    shown,
    survives_cuts,
    survives_values,
    total,
)

NAME = "session.json"


def chat() -> dict[str, Any]:
    result = {"functionResponse": {"id": "t1", "name": "ls", "response": {"output": "a.py"}}}
    tool = {"id": "t1", "name": "ls", "args": {"path": "."}, "result": [result], "status": "success"}
    tokens = {"input": 100, "output": 5, "cached": 40, "thoughts": 7, "tool": 2, "total": 114}
    messages = [
        {"id": "m1", "timestamp": "2026-01-10T20:00:21Z", "type": "user", "content": "Which files?"},
        {"id": "m2", "timestamp": "2026-01-10T20:00:27Z", "type": "gemini", "content": "", "toolCalls": [tool],
         "thoughts": [{"subject": "Look", "description": "at files"}], "model": "gemini-9", "tokens": tokens},
        {"id": "m3", "timestamp": "2026-01-10T20:00:28Z", "type": "warning", "content": "slow"},
        {"id": "m4", "timestamp": "2026-01-10T20:00:29Z", "type": "gemini", "content": "a.py", "model": "gemini-9",
         "tokens": {**tokens, "cached": 0}},
    ]  # fmt: skip
    return {"sessionId": "s-1", "projectHash": "h", "startTime": "2026-01-10T20:00:21Z", "messages": messages}


def test_calls_and_usage() -> None:
    session = read(as_bytes(chat(), indent=2), NAME)
    first, second = calls(session)
    assert first.usage and (first.usage.fresh, first.usage.cache_read) == (62, 40)
    assert (first.usage.output, first.usage.reasoning) == (12, 7) and first.provider == "google"
    assert [kind for _, _, kind in shown(session, second.raw_head)] == [
        "header", "text", "header", "tool_use", "header", "tool_result",
    ]  # fmt: skip
    assert "thinking" in [kind for _, _, kind in shown(session, first.response_head)]
    assert session.about.id == "s-1" and session.about.title == "Which files?"
    assert [(h.kind, h.text) for h in session.happenings] == [("warning", "slow")]


def test_a_report_of_nothing_but_zeros_is_no_report() -> None:
    value = chat()
    value["messages"][1]["tokens"] = dict.fromkeys(("input", "output", "cached", "thoughts", "tool", "total"), 0)
    first, second = calls(read(as_bytes(value), NAME))
    assert first.usage is None and second.usage is not None


def test_lines_give_the_same() -> None:
    value = chat()
    messages = value.pop("messages")
    # The answer is written twice: before and after its tool has run.
    early = {k: v for k, v in messages[1].items() if k != "toolCalls"}
    lines = read(as_lines([value, messages[0], early, *messages[1:], {"$set": {"lastUpdated": "x"}}]), "s.jsonl")
    whole = read(as_bytes(chat()), NAME)
    assert lines.threads["main"].tip and whole.threads["main"].tip
    path = [i.block.digest for i in whole.tree.items(whole.threads["main"].tip)]
    assert [i.block.digest for i in lines.tree.items(lines.threads["main"].tip)] == path


def resumed() -> list[dict[str, Any]]:
    """A session as newer versions write it, resumed: what the client says of the folder first, answers again when their
    tools have run, results in messages of their own, then all of the past without figures."""
    result = {"functionResponse": {"id": "t1", "name": "ls", "response": {"output": "a.py"}}}
    tool = {"id": "t1", "name": "ls", "args": {"path": "."}, "result": [result], "status": "success"}
    tokens = {"input": 100, "output": 5, "cached": 0, "thoughts": 7, "tool": 0, "total": 112}
    folder = {"id": "m0", "type": "user", "content": [{"text": "<session_context>\nThe folder is /w."}]}
    asked = {"id": "m1", "type": "user", "content": [{"text": "Which files?"}]}
    said = {"id": "m2", "type": "gemini", "content": "", "model": "gemini-9", "tokens": tokens,
            "thoughts": [{"subject": "Look", "description": "at files"}]}  # fmt: skip
    told = {"id": "m3", "type": "user", "content": [result]}
    last = {"id": "m4", "type": "gemini", "content": "a.py", "model": "gemini-9", "tokens": {**tokens, "input": 130}}
    call = {"functionCall": {"id": "t1", "name": "ls", "args": {"path": "."}}}
    past = [
        folder,
        asked,
        {"id": "m2", "type": "gemini", "content": [{"text": "at files", "thought": True}, call]},
        {"id": "m2", "type": "user", "content": [result]},
        {"id": "m4", "type": "gemini", "content": [{"text": "a.py"}]},
    ]
    more = {"id": "m5", "type": "user", "content": [{"text": "And now?"}]}
    end = {"id": "m6", "type": "gemini", "content": "none", "model": "gemini-9", "tokens": {**tokens, "input": 150}}
    head = {"sessionId": "s-1", "projectHash": "h", "kind": "main"}
    live = [head, {"$set": {"messages": [folder]}}, asked, said, {**said, "toolCalls": [tool]}, told, last]
    return [*live, head, {"$set": {"messages": [folder]}}, {"$set": {"messages": past}}, more, end]


def test_one_call_an_id_also_when_a_session_is_resumed() -> None:
    session = read(as_lines(resumed()), "s.jsonl")
    assert [call.id for call in calls(session)] == ["m2", "m4", "m6"]
    assert [call.usage.input for call in calls(session) if call.usage] == [100, 130, 150]
    assert session.about.title == "Which files?"
    first, second, third = calls(session)
    said = ["header", "text", "header", "text", "header", "tool_use", "header", "tool_result"]
    assert [kind for _, _, kind in shown(session, second.raw_head)] == said
    assert [kind for _, _, kind in shown(session, third.raw_head)] == [*said, "header", "text", "header", "text"]
    assert session.tree.holds(third.raw_head, second.raw_head), "the same blocks are sent again"
    assert "tool_use" in [kind for _, _, kind in shown(session, first.response_head)], "the newest form counts"


def test_results_that_no_message_tells_stay() -> None:
    records = [record for record in resumed() if record.get("id") != "m3"]
    second = calls(read(as_lines(records), "s.jsonl"))[1]
    assert [kind for _, _, kind in shown(read(as_lines(records), "s.jsonl"), second.raw_head)][-1] == "tool_result"


def test_going_back_takes_messages_out() -> None:
    records = [*resumed()[:7], {"$rewindTo": "m4"}, {"id": "m7", "type": "user", "content": "Stop."}]
    session = read(as_lines(records), "s.jsonl")
    assert [kind for _, _, kind in shown(session, session.threads["main"].tip)][-3:] == [
        "tool_result",
        "header",
        "text",
    ]


def test_any_chunking_any_cut_any_value() -> None:
    data = as_bytes(chat(), indent=2)
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(chat(), NAME)
    survives_values([{"sessionId": "s", "projectHash": "h"}, *chat()["messages"]], "s.jsonl", lines_of)
    law_2(as_lines(resumed()), "s.jsonl")
    survives_values(resumed(), "s.jsonl", lines_of)


@pytest.mark.parametrize("path", corpus_params("gemini_cli"))
def test_corpus(path: Path) -> None:
    data = path.read_bytes()
    session = read(data, path.name)
    reports = [m["tokens"] for m in json.loads(data)["messages"] if "tokens" in m]
    assert len(session.calls) == len(reports)
    whole = total(session)
    assert whole.input + whole.output == sum(r["total"] for r in reports)
    assert whole.cache_read == sum(r["cached"] for r in reports)
    if not reports:
        assert all(t.tip == 0 for t in session.threads.values())
        assert describe_file(data, path.name) == "a Gemini CLI session without any message of a model"
