"""tau-bench and LiveMCPBench: a thread for each task, rewards kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.transcripts.formats import livemcpbench
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
)

NAME = "results.json"


def talk(words: str) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    return [
        {"role": "system", "content": "Policy."},
        {"role": "user", "content": words},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "found"},
        {"role": "assistant", "content": "Here you are"},
        {"role": "user", "content": "###STOP###"},
    ]


def tau() -> list[dict[str, Any]]:
    return [
        {"task_id": 0, "reward": 1.0, "info": {"source": "user"}, "traj": talk("Book it"), "trial": 0},
        {"task_id": 0, "reward": 0.0, "info": {}, "traj": talk("Book it"), "trial": 1},
        {"task_id": 1, "reward": 0.0, "info": {}, "traj": talk("Cancel it"), "trial": 0},
    ]


def mcp() -> list[dict[str, Any]]:
    return [{"task_id": "a-b", "Question": "Find it", "category": "work", "messages": talk("Find it")[:5]}]


def test_each_task_is_a_thread() -> None:
    session = read(as_bytes(tau()), NAME)
    assert [t.label for t in session.threads.values()] == ["task 0", "task 0 trial 1", "task 1"]
    assert len(session.calls) == 6 and len(calls(session)) == 2
    assert {o.name: o.value for o in session.outcomes} == {
        "task 0: reward": "1.0", "task 0 trial 1: reward": "0.0", "task 1: reward": "0.0",
    }  # fmt: skip
    assert session.about.title == "Book it and 2 more tasks"
    assert read(as_bytes(tau()[:2]), NAME).about.title == "Book it and 1 more task"


def test_the_context_of_a_call() -> None:
    session = read(as_bytes(mcp()), NAME)
    assert session.about.source == "livemcpbench"
    first, second = calls(session)
    assert shown(session, second.raw_head, first.response_head) == [
        ("messages", "tool", "header"), ("messages", "tool", "text"),
    ]  # fmt: skip


def test_a_task_without_a_question_is_none_of_livemcpbench() -> None:
    (task,) = mcp()
    assert livemcpbench.sniff(as_bytes([task]), NAME) > 0.5 < livemcpbench.sniff(as_bytes(task), NAME)
    del task["Question"]
    assert livemcpbench.sniff(as_bytes([task]), NAME) == 0.0


def test_any_chunking_any_cut_any_value() -> None:
    for value in (tau(), mcp()):
        data = as_bytes(value, indent=1)
        law_2(data, NAME)
        survives_cuts(data, NAME)
        survives_values(value, NAME, most=150)


@pytest.mark.parametrize("path", [*corpus_params("tau_bench"), *corpus_params("mcp_agent_runs")])
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    tasks = json.loads(path.read_bytes())
    assert len(session.threads) == len(tasks)
    said = sum(m["role"] == "assistant" for t in tasks for m in t.get("traj", t.get("messages")))
    assert len(session.calls) == said
    rewards = [t["reward"] for t in tasks if "reward" in t]
    assert sum(float(o.value) for o in session.outcomes) == sum(rewards)
