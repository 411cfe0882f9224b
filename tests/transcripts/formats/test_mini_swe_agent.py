"""mini-SWE-agent: messages with the provider's answers, the Responses variant, the bare list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.agents import chat_answer, mini_swe_agent
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

NAME = "a.traj.json"


def test_each_answer_is_a_call_with_its_usage() -> None:
    session = read(as_bytes(mini_swe_agent()), NAME)
    first, second = calls(session)
    assert session.about.source == "mini-swe-agent" and session.about.version == "2.0.0"
    assert (first.id, first.model, first.stop_reason) == ("resp-1", "deepseek-chat", "tool_calls")
    assert first.usage and first.usage.fresh == 36 and first.usage.cache_read == 64 and first.usage.output == 9
    assert first.usage.cost == 0.001 and (first.started, first.ended) == (1_700_000_001, 1_700_000_003.5)
    assert shown(session, first.raw_head) == [
        ("messages", "system", "header"),
        ("messages", "system", "text"),
        ("messages", "user", "header"),
        ("messages", "user", "text"),
    ]
    assert session.tree.holds(second.raw_head, first.response_head)
    kinds = shown(session, second.raw_head, first.raw_head)
    assert kinds == [
        ("messages", "assistant", "header"),
        ("messages", "assistant", "reasoning"),
        ("messages", "assistant", "text"),
        ("messages", "assistant", "tool_call"),
        ("messages", "tool", "header"),
        ("messages", "tool", "text"),
    ]


def test_what_came_of_it_is_kept_and_the_exit_is_no_context() -> None:
    session = read(as_bytes(mini_swe_agent()), NAME)
    told = {o.name: o.value for o in session.outcomes}
    assert told["exit_status"] == "Submitted" and told["submission"] == "a patch" and told["api_calls"] == "2"
    assert session.threads["main"].tip == calls(session)[-1].response_head


def test_the_clients_own_members_are_no_context() -> None:
    session = read(as_bytes(mini_swe_agent()), NAME)
    assert b"raw_output" not in b"".join(b.body for b in session.tree.blocks.values())


def test_a_bare_list() -> None:
    messages = [{k: v for k, v in m.items() if k in ("role", "content")} for m in mini_swe_agent()["messages"][:-1]]
    session = read(as_bytes(messages), NAME)
    assert len(session.calls) == 2 and total(session).input == 0
    assert all(call.usage is None for call in session.calls.values())
    assert len(set(session.calls)) == 2


def test_the_responses_variant() -> None:
    value = mini_swe_agent()
    answer = {
        "object": "response", "id": "resp-r", "model": "gpt-5", "created_at": 1_700_000_001, "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 5},
        "extra": {"timestamp": 1_700_000_002.0},
    }  # fmt: skip
    output = {"type": "function_call_output", "call_id": "c", "output": "ok", "extra": {}}
    value["messages"] = [*value["messages"][:2], answer, output]
    session = read(as_bytes(value), NAME)
    (call,) = calls(session)
    assert call.usage and (call.usage.fresh, call.usage.cache_read) == (40, 10) and call.model == "gpt-5"
    assert shown(session, session.threads["main"].tip, call.raw_head) == [
        ("messages", "assistant", "reasoning"),
        ("messages", "assistant", "function_call"),
        ("messages", "tool", "function_call_output"),
    ]


def test_an_answer_of_an_unknown_shape_travels_on() -> None:
    value = mini_swe_agent()
    value["messages"][2]["extra"]["response"] = {"odd": 1}
    first = calls(read(as_bytes(value), NAME))[0]
    assert first.usage is None and first.extra == {"response": {"odd": 1}}


def test_any_chunking_and_any_cut() -> None:
    data = as_bytes(mini_swe_agent(), indent=1)
    law_2(data, NAME)
    survives_cuts(data, NAME)


def test_a_cut_file_gives_what_is_whole() -> None:
    data = as_bytes(mini_swe_agent())
    session = read(data[: data.index(b"resp-2")], NAME)
    assert calls(session)[0].id == "resp-1"


@pytest.mark.parametrize("path", corpus_params("mini_swe_agent"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    value = json.loads(path.read_bytes())
    messages = value if isinstance(value, list) else value["messages"]
    assert len(session.calls) == sum(m["role"] == "assistant" for m in messages)
    reports = [m["extra"]["response"]["usage"] for m in messages if "response" in m.get("extra", {})]
    whole = total(session)
    assert whole.input == sum(r["prompt_tokens"] for r in reports)
    assert whole.cache_read == sum(r["prompt_cache_hit_tokens"] for r in reports)
    assert whole.output == sum(r["completion_tokens"] for r in reports)
    assert not session.skipped


def test_the_case_is_an_answer() -> None:
    assert chat_answer("x", 1)["choices"]


def test_values_of_any_type_stop_no_reader() -> None:
    survives_values(mini_swe_agent(), NAME)
