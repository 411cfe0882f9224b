"""OpenHands: LLM logs, events in one file and in many, compaction; bare lists of messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import EpochStart, Fidelity
from ctxtui.core.session import Session
from ctxtui.transcripts.registry import describe_file, detect
from tests.cases.agents import openhands_events, openhands_log
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_bytes,
    as_lines,
    calls,
    corpus_session,
    form_of,
    law_2,
    lines_of,
    read,
    shown,
    survives_cuts,
    survives_values,
    total,
)


def test_a_log_is_a_whole_request() -> None:
    data = as_bytes(openhands_log(), indent=2)
    session = read(data, "log.json")
    (call,) = calls(session)
    assert call.fidelity is Fidelity.WIRE and session.about.window == 200_000
    assert call.usage and call.usage.input == 100 and call.usage.cost == 0.25
    assert (call.started, call.ended) == (1_700_000_008.0, 1_700_000_010.0)
    assert [kind for _, _, kind in shown(session, call.raw_head)] == ["tool", "header", "text", "header", "text"]
    law_2(data, "log.json")
    survives_cuts(data, "log.json")


def test_events_become_calls_with_the_usage_between_reports() -> None:
    data = as_lines(openhands_events())
    session = read(data, "events.jsonl")
    first, second = calls(session)
    assert first.id == "r-1" and first.usage and (first.usage.fresh, first.usage.cache_read) == (90, 10)
    assert second.usage and second.usage.input == 150 and second.usage.output == 7
    assert shown(session, first.response_head, first.raw_head) == [
        ("messages", "assistant", "header"),
        ("messages", "assistant", "reasoning"),
        ("messages", "assistant", "text"),
        ("messages", "assistant", "tool_call"),
        ("messages", "assistant", "tool_call"),
    ]
    assert shown(session, second.raw_head, first.response_head)[0] == ("messages", "tool", "header")
    assert [kind for _, _, kind in shown(session, first.raw_head)] == ["tool", "header", "text", "header", "text"]
    law_2(data, "events.jsonl")
    survives_cuts(data, "events.jsonl")


def test_other_uses_of_a_model_are_totals_of_their_own() -> None:
    session = read(as_lines(openhands_events()), "events.jsonl")
    (side,) = calls(session, "condenser")
    assert side.fidelity is Fidelity.TOTALS and side.usage and side.usage.input == 30


def test_condensation_leaves_a_summary() -> None:
    events = openhands_events()
    gone = {"forgotten_event_ids": ["e-4", "e-5", "e-6", "e-7"], "summary": "it went on", "summary_offset": 2}
    head = {"kind": "Condensation", "id": "e-c", "source": "environment", "timestamp": "2026-01-01T00:00:09"}
    events.insert(-1, {**head, **gone})
    session = read(as_lines(events), "events.jsonl")
    last = calls(session)[-1]
    assert last.epoch.start is EpochStart.COMPACTION
    texts = [i.block.value().get("text") for i in session.tree.items(last.raw_head) if i.block.kind == "text"]
    assert texts == ["You act.", "Fix the sum.", "it went on"]


def test_a_state_with_its_folder_of_events() -> None:
    state: dict[str, Any] = {"id": "conv-1", "agent": {"llm": {}}, "workspace": {"working_dir": "/w"}, "stats": {}}
    data = as_bytes(state, indent=1)
    form = form_of(data, "base_state.json")
    session = Session()
    reader = form.open(session.tree)
    session.fold([*reader.feed(data), *reader.settle()])
    assert not session.calls and describe_file(data, "base_state.json") == "an OpenHands state without events"
    for n, event in enumerate(openhands_events()):
        part = reader.part(f"event-{n:05}-x.json")
        session.fold([*part.feed(as_bytes(event)), *part.settle()])
    assert len(calls(session)) == 2 and session.about.id == "conv-1" and session.about.cwd == "/w"


def test_a_saved_list_of_messages_is_read_as_messages() -> None:
    data = as_bytes([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    assert len(read(data, "fncall-llm-message.json").calls) == 1


def test_other_json_is_not_taken() -> None:
    for value in ([{"role": "Editor", "name": "x"}], {"messages": 3}, {"response": {"ok": True}}, [], [1]):
        assert detect(as_bytes(value), "x.json") is None


@pytest.mark.parametrize("path", corpus_params("openhands"))
def test_corpus(path: Path) -> None:
    data = path.read_bytes()
    session = read(data, path.name)
    assert not session.skipped
    if "base_state" in path.name:
        assert not session.calls and all(t.tip == 0 for t in session.threads.values())
        return
    corpus_session(path)
    whole = total(session)
    if path.suffix == ".jsonl":
        reports = [json.loads(line) for line in path.read_text().splitlines()]
        last = [r["value"]["usage_to_metrics"]["default"] for r in reports if r.get("key") == "stats"][-1]
        assert whole.input == last["accumulated_token_usage"]["prompt_tokens"]
        assert whole.cache_read == last["accumulated_token_usage"]["cache_read_tokens"]
    elif "response" in (value := json.loads(data)):
        assert whole.input == value["response"]["usage"]["prompt_tokens"]
        assert whole.output == value["response"]["usage"]["completion_tokens"]


def test_values_of_any_type_stop_no_reader() -> None:
    survives_values(openhands_log(), "log.json")
    survives_values(openhands_events(), "events.jsonl", lines_of)


def test_sums_that_begin_again_are_counted_from_there() -> None:
    events = openhands_events()
    report = events[7]["value"]["usage_to_metrics"]["default"]
    report |= {"accumulated_token_usage": {"prompt_tokens": 120, "completion_tokens": 3, "cache_read_tokens": 10}}
    before = next(one for one in events if "usage_to_metrics" in str(one))["value"]["usage_to_metrics"]["default"]
    before["accumulated_cost"], report["accumulated_cost"] = 0.5, 0.125
    first, second = calls(read(as_lines(events), "events.jsonl"))
    assert first.usage and first.usage.input == 100
    assert second.usage and (second.usage.input, second.usage.cache_read, second.usage.output) == (120, 10, 3)
    assert (first.usage.cost, second.usage.cost) == (0.5, 0.125)
