"""Inspect: both forms, attachments, pools of messages, model events, messages alone, cut archives."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import Fidelity
from ctxtui.transcripts.formats.inspect_ai.sample import usage as usage_of
from ctxtui.transcripts.registry import describe_file, detect
from tests.cases.agents import chat_answer
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_bytes,
    calls,
    corpus_session,
    form_of,
    law_2,
    read,
    read_with,
    shown,
    survives_cuts,
    survives_values,
    total,
)

HASH = "0123456789abcdef0123456789abcdef"
NAME = "log.json"


def sample(**rest: Any) -> dict[str, Any]:
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}
    said = [
        {"role": "system", "content": f"attachment://{HASH}"},
        {"role": "user", "content": "How many?", "source": "input"},
        {"role": "assistant", "content": "", "tool_calls": [call], "source": "generate"},
        {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "3"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "so"}, {"type": "text", "text": "Three"}]},
    ]
    return {
        "id": 1, "epoch": 1, "input": "How many?", "target": "3", "messages": said,
        "output": {"model": "m-1", "choices": [{"message": said[4], "stop_reason": "stop"}],
                   "usage": {"input_tokens": 30, "output_tokens": 2, "total_tokens": 32}},
        "scores": {"match": {"value": "C"}}, "attachments": {HASH: "You count."},
        "model_usage": {"openai/m-1": {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55}}, **rest,
    }  # fmt: skip


def event(usage: dict[str, int], **rest: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Three"}
    output = {"model": "m-1", "choices": [{"message": message, "stop_reason": "stop"}], "usage": usage}
    tools = [{"name": "bash", "description": "Runs.", "parameters": {}}]
    times = {"timestamp": "2025-01-01T00:00:00Z", "completed": "2025-01-01T00:00:02Z"}
    return {"event": "model", "model": "openai/m-1", "tools": tools, "output": output, **times, **rest}


def log(*samples: dict[str, Any]) -> dict[str, Any]:
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 1.0}}}]
    head = {"task": "counting", "run_id": "run-1", "packages": {"inspect_ai": "0.3"}}
    return {"version": 2, "status": "success", "eval": head, "results": {"scores": scores}, "samples": list(samples)}


def archived(value: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": value["eval"]}))
        for n, one in enumerate(value["samples"]):
            archive.writestr(f"samples/{n}_epoch_1.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({k: v for k, v in value.items() if k != "samples"}))
    return made.getvalue()


def test_messages_alone() -> None:
    session = read(as_bytes(log(sample())), NAME)
    first, last = calls(session)
    assert first.usage is None and last.usage and last.usage.input == 30
    assert [kind for _, _, kind in shown(session, last.response_head)] == [
        "header", "text", "header", "text", "header", "tool_call", "header", "text", "header", "thinking", "text",
    ]  # fmt: skip
    assert b"You count." in session.tree.items(last.raw_head)[1].block.body
    assert total(session).input == 50 and total(session).output == 5
    assert {(o.name, o.value) for o in session.outcomes} == {
        ("match", "C"), ("status", "success"), ("match accuracy", "1.0"),
    }  # fmt: skip


@pytest.mark.parametrize("cost", [{}, {"total_cost": 0.5}])
def test_the_sum_and_the_last_answer_come_to_the_whole_in_every_figure(cost: dict[str, float]) -> None:
    whole = {"input_tokens": 50, "input_tokens_cache_read": 100, "input_tokens_cache_write": 40,
             "output_tokens": 9, "total_tokens": 199, "reasoning_tokens": 6, **cost}  # fmt: skip
    last = {"input_tokens": 30, "input_tokens_cache_read": 60, "input_tokens_cache_write": 25,
            "output_tokens": 4, "total_tokens": 119, "reasoning_tokens": 2, **dict.fromkeys(cost, 0.125)}  # fmt: skip
    one = sample(model_usage={"m-1": whole})
    one["output"]["usage"] = last
    session = read(as_bytes(log(one)), NAME)
    assert total(session) == usage_of(whole)
    silent = [call.usage for call in session.calls.values() if call.fidelity == Fidelity.TOTALS]
    assert [(used.cache_write, used.reasoning, used.cost) for used in silent if used] == [
        (15, 4, 0.375 if cost else None)
    ]


@pytest.mark.parametrize("last", [{}, {"input_tokens": 30, "output_tokens": 2, "total_tokens": 32}])
def test_what_other_models_used_is_counted_after_a_single_answer(last: dict[str, int]) -> None:
    """A grader's usage is only in the sum of its model; an answer without a report is in the sum too."""
    answered = {"input_tokens": 30, "output_tokens": 2, "total_tokens": 32}
    graded = {"input_tokens": 480, "output_tokens": 7, "total_tokens": 487}
    one = sample(model_usage={"openai/m-1": answered, "openai/grader": graded})
    one["messages"] = [one["messages"][1], one["messages"][4]]
    one["output"]["usage"] = last
    session = read(as_bytes(log(one)), NAME)
    assert (total(session).input, total(session).output) == (510, 9)
    one["model_usage"] = {"openai/m-1": answered}
    assert len(read(as_bytes(log(one)), NAME).calls) == (1 if last else 2)


def test_model_events_with_pools() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 20, "input_tokens_cache_read": 8}
    pool = sample()["messages"]
    events = [event(usage, input_refs=[[0, 2]]), event(usage, input=[{"role": "user", "content": "Judge this"}])]
    session = read(as_bytes(log(sample(events=events, message_pool=pool))), NAME)
    (call,) = calls(session)
    assert call.fidelity is Fidelity.TRANSCRIPT and call.usage
    assert (call.usage.fresh, call.usage.cache_read) == (10, 8)
    assert call.started and call.ended == call.started + 2
    assert [kind for _, _, kind in shown(session, call.raw_head)] == ["tool", "header", "text", "header", "text"]
    assert (session.threads["thread-2"].label, session.threads["thread-2"].parent) == ("Judge this", "")


def test_the_request_itself_is_taken_where_it_is() -> None:
    request = {"model": "m-1", "tools": None, "messages": [{"role": "user", "content": f"attachment://{HASH}"}]}
    raw = {"request": request, "response": chat_answer("resp-9", 0)}
    session = read(as_bytes(log(sample(events=[event({"input_tokens": 1}, call=raw)]))), NAME)
    (call,) = calls(session)
    assert call.fidelity is Fidelity.WIRE and call.id == "resp-9" and call.skeleton is not None
    assert call.usage and call.usage.cache_read == 64
    assert session.about.title == "counting"


def test_samples_are_threads() -> None:
    session = read(as_bytes(log(sample(), sample(id=2))), NAME)
    assert session.threads["main"].label == "sample 1 epoch 1" and "sample 2 epoch 1" in session.threads
    assert ("sample 2 epoch 1: match", "C") in {(o.name, o.value) for o in session.outcomes}


def test_archives_give_what_json_gives() -> None:
    value = log(sample(), sample(id=2))
    packed, plain = read(archived(value), "log.eval"), read(as_bytes(value), NAME)
    assert list(packed.calls) == list(plain.calls) and packed.threads == plain.threads
    law_2(archived(value), "log.eval")
    law_2(as_bytes(value), NAME)


def test_a_cut_archive_gives_its_whole_samples() -> None:
    data = archived(log(sample(), sample(id=2)))
    session = read(data[: data.index(b"samples/1_epoch") + 60], "log.eval")
    assert len(calls(session)) == 2 and len(session.skipped) == 2
    survives_cuts(data, "log.eval")
    survives_cuts(as_bytes(log(sample())), NAME)


def test_no_samples_is_no_context() -> None:
    data = as_bytes(log())
    session, _, _ = read_with(form_of(data, NAME), data)
    assert not session.calls and describe_file(data, NAME) == "an Inspect log without samples"


def test_hostile_members() -> None:
    odd = log(sample(messages=[3, {"role": "user"}, {"role": None, "content": {}}], events="no", scores=[1]), 7)  # type: ignore[arg-type]
    read(as_bytes(odd), NAME)
    read(as_bytes(log(sample(events=[event({}, input_refs=[[-3, 99], "x"], call={"request": {"messages": 3}})]))), NAME)


@pytest.mark.parametrize("path", corpus_params("inspect"))
def test_corpus(path: Path) -> None:
    data = path.read_bytes()
    if "skeleton" in path.name:
        assert detect(data, path.name) is None
        return
    if "no-samples" in path.name:
        assert not read(data, path.name).calls
        return
    session = corpus_session(path)
    assert not session.skipped
    value = _header(data)
    reports = value["stats"]["model_usage"].values()
    assert total(session).input == sum(r["input_tokens"] for r in reports)
    assert total(session).output == sum(r["output_tokens"] for r in reports)


def _header(data: bytes) -> dict[str, Any]:
    if data.startswith(b"PK"):
        data = zipfile.ZipFile(io.BytesIO(data)).read("header.json")
    value: dict[str, Any] = json.loads(data)
    return value


def test_values_of_any_type_stop_no_reader() -> None:
    survives_values(log(sample(events=[event({"input_tokens": 1}, input_refs=[[0, 2]])])), NAME)
    survives_values(log(sample()), NAME)
