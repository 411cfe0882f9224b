"""Copilot CLI: events, sums at the end, subagents, compaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import EpochStart, Fidelity, count_calls
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_lines,
    calls,
    corpus_session,
    law_2,
    lines_of,
    read,
    shown,
    survives_cuts,
    survives_values,
    total,
)

NAME = "events.jsonl"


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "i", "timestamp": "2026-06-25T01:50:34.403Z", "parentId": None}


def answer(id_: str, content: str, *tools: str, **rest: Any) -> dict[str, Any]:
    requests = [{"toolCallId": t, "name": "bash", "arguments": {"command": "ls"}, "type": "function"} for t in tools]
    rest = {"reasoningText": "so", "reasoningOpaque": "b64", **rest}
    return event("assistant.message", apiCallId=id_, model="m-1", content=content, toolRequests=requests, **rest)


def metrics(requests: int, given: int, read_: int, output: int) -> dict[str, Any]:
    usage = {"inputTokens": given, "outputTokens": output, "cacheReadTokens": read_, "cacheWriteTokens": 0}
    return event("session.shutdown", modelMetrics={"m-1": {"requests": {"count": requests}, "usage": usage}},
                 currentTokens=900)  # fmt: skip


def story() -> list[dict[str, Any]]:
    return [
        event("session.start", sessionId="s-1", producer="copilot-agent", copilotVersion="1.0", context={"cwd": "/w"}),
        event("hook.start", hookType="x"),
        event("system.message", role="system", content="You are a CLI."),
        event("user.message", content="Which files?", transformedContent="<now/>Which files?"),
        answer("a-1", "", "t1"),
        event("tool.execution_complete", toolCallId="t1", success=True, result={"content": "a.py"}),
        answer("a-2", "a.py"),
    ]


def test_context_is_what_was_sent() -> None:
    session = read(as_lines(story()), NAME)
    first, second = calls(session)
    assert session.about.title == "Which files?" and session.about.cwd == "/w"
    assert b"<now/>" in session.tree.items(first.raw_head)[-1].block.body
    assert [kind for _, _, kind in shown(session, second.raw_head, first.raw_head)] == [
        "header", "thinking", "tool_use", "header", "tool_result",
    ]  # fmt: skip
    assert first.id == "a-1" and first.usage is None


def test_a_resumed_session_keeps_the_version_that_it_began_with() -> None:
    session = read(as_lines([*story(), event("session.resume", context={"cwd": "/w"})]), NAME)
    assert session.about.version == "1.0"


def test_one_calls_sum_is_its_usage() -> None:
    session = read(as_lines([*story()[:4], answer("a-1", "a.py"), metrics(1, 500, 100, 9)]), NAME)
    (call,) = calls(session)
    assert call.usage and (call.usage.fresh, call.usage.cache_read, call.usage.output) == (400, 100, 9)
    assert ("currentTokens", "900") in {(o.name, o.value) for o in session.outcomes}


def test_several_calls_sum_stands_apart() -> None:
    session = read(as_lines([*story(), metrics(2, 900, 300, 20)]), NAME)
    assert all(call.usage is None for call in calls(session))
    (side,) = calls(session, "totals m-1")
    assert side.fidelity is Fidelity.TOTALS and total(session).input == 900


def test_figures_of_a_call_where_they_are_written() -> None:
    used = event("assistant.usage", apiCallId="a-1", inputTokens=70, outputTokens=3, cacheReadTokens=20)
    session = read(as_lines([*story(), used]), NAME)
    first = calls(session)[0]
    assert first.usage and (first.usage.fresh, first.usage.cache_read) == (50, 20)


def request(id_: str, given: int, read_: int, output: int) -> dict[str, Any]:
    usage = {"apiCallId": id_, "model": "m-1", "inputTokens": given, "outputTokens": output, "cacheReadTokens": read_}
    return event("session.usage_record", usage=usage)


def test_a_usage_record_is_one_request_and_sums_go_on_when_resumed() -> None:
    first, last = story()[:4], story()[6]
    records = [*first, request("a-1", 500, 100, 9), *story()[4:6], request("a-2", 600, 500, 8), last]
    records += [metrics(2, 1100, 600, 17), event("session.resume"), event("user.message", content="And now?")]
    records += [request("a-3", 700, 600, 7), answer("a-3", "none"), metrics(3, 1800, 1200, 24)]
    session = read(as_lines(records), NAME)
    assert [call.id for call in session.calls.values()] == ["a-1", "a-2", "a-3"]
    assert [call.usage.input for call in calls(session) if call.usage] == [500, 600, 700]
    assert total(session).input == 1800 and total(session).output == 24
    assert b"<now/>" in session.tree.items(calls(session)[0].raw_head)[-1].block.body
    assert [kind for _, _, kind in shown(session, calls(session)[0].response_head)][-2:] == ["thinking", "tool_use"]


def test_what_the_sums_have_beyond_the_requests_on_record_stands_apart() -> None:
    records = [*story()[:4], request("a-1", 500, 100, 9), *story()[4:6], story()[6], metrics(3, 1500, 400, 40)]
    session = read(as_lines(records), NAME)
    assert total(session).input == 1500 and total(session).output == 40
    (side,) = calls(session, "totals m-1")
    assert side.is_sum and side.usage and side.usage.input == 1000
    assert side.count == 1 and session.threads[side.thread].label == "sum for calls without a report"
    assert count_calls(session.calls.values()) == 3


def test_sums_that_go_on_are_one_and_sums_that_begin_anew_are_added() -> None:
    resumed = [event("session.resume"), answer("a-3", "more"), answer("a-4", "end")]
    going = read(as_lines([*story(), metrics(2, 900, 300, 20), *resumed, metrics(4, 2000, 700, 50)]), NAME)
    assert total(going).input == 2000 and len(calls(going, "totals m-1")) == 1
    assert count_calls(going.calls.values()) == 4, "each of its calls is on record: the sum counts for none"
    anew = read(as_lines([*story(), metrics(2, 900, 300, 20), *resumed, metrics(2, 1100, 400, 30)]), NAME)
    assert total(anew).input == 2000


def test_the_system_prompt_is_the_last_one() -> None:
    again = [event("user.message", content="Go on."), event("system.message", content="You are a newer CLI.")]
    session = read(as_lines([*story(), *again, answer("a-3", "on")]), NAME)
    last = calls(session)[-1]
    texts = [item.block.body for item in session.tree.items(last.raw_head) if item.place.section == "system"]
    assert len(texts) == 1 and b"newer" in texts[0] and shown(session, last.raw_head)[0][0] == "system"
    assert b"You are a CLI." in session.tree.items(calls(session)[0].raw_head)[0].block.body


@pytest.mark.parametrize(
    "record",
    [
        event("session.shutdown", currentTokens=900),
        event("session.usage_info", currentTokens=900, tokenLimit=9000),
        event("session.compaction_complete", preCompactionTokens=900, postCompactionTokens=90, summary="so far"),
    ],
)
def test_what_the_client_says_of_its_context_is_the_size_of_the_last_request(record: dict[str, Any]) -> None:
    last = calls(read(as_lines([*story(), record]), NAME))[-1]
    assert last.estimated_input == 900
    reported = calls(read(as_lines([*story()[:6], request("a-2", 700, 0, 9), story()[6], record]), NAME))[-1]
    assert reported.estimated_input is None and reported.usage and reported.usage.input == 700


def test_subagents_are_threads_and_compaction_an_epoch() -> None:
    side = answer("b-1", "found", parentToolCallId="t1")
    sizes = {"preCompactionTokens": 9000, "postCompactionTokens": 800}
    compacted = event("session.compaction_complete", summary="so far", **sizes)
    started = event("subagent.started", toolCallId="t1", agentName="explore")
    session = read(as_lines([*story()[:5], started, side, compacted, answer("a-3", "on")]), NAME)
    assert [c.id for c in calls(session, "t1")] == ["b-1"]
    assert session.threads["t1"].label == "explore" and session.threads["t1"].parent == "main"
    last = calls(session)[-1]
    assert last.epoch.start is EpochStart.COMPACTION
    assert [kind for _, _, kind in shown(session, last.raw_head)] == ["text", "header", "text"]


def test_any_chunking_any_cut_any_value() -> None:
    data = as_lines([*story(), metrics(2, 900, 300, 20)])
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values([*story(), metrics(2, 900, 300, 20)], NAME, lines_of)


@pytest.mark.parametrize("path", corpus_params("copilot_cli"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(calls(session)) == sum(r["type"] == "assistant.message" for r in records)
    sums = [r["data"]["modelMetrics"] for r in records if r["type"] == "session.shutdown"]
    assert total(session).input == sum(m["usage"]["inputTokens"] for models in sums for m in models.values())
    assert not session.skipped and not session.happenings
