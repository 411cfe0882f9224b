"""Captured event streams: every dialect, several in a file, streams that break off."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.call import Fidelity
from ctxtui.transcripts.formats import event_stream
from tests.cases import wire_traffic as cases
from tests.corpus import corpus_params
from tests.transcripts.reading import calls, corpus_session, form_of, law_2, read, read_with, survives_cuts

NAME = "a.sse"


def chunk(id_: str, delta: dict[str, Any], **rest: Any) -> str:
    value = {"id": id_, "object": "chat.completion.chunk", "model": "gpt-9", "choices": [{"index": 0, "delta": delta}]}
    return f"data: {json.dumps({**value, **rest})}\n\n"


def chat_stream(id_: str) -> str:
    usage = {"prompt_tokens": 12, "completion_tokens": 2}
    end = chunk(id_, {}, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=usage)
    return chunk(id_, {"role": "assistant", "content": "Good "}) + chunk(id_, {"content": "day"}) + end


def responses_stream() -> str:
    _, _, _, answer = cases.responses("resp_1", None, "x", "Hello")
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        {"type": "response.completed", "response": answer},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


def google_stream() -> str:
    _, _, _, answer = cases.google()
    return f"data: {json.dumps(answer)}\r\n\r\n"


def everything() -> str:
    chats = chat_stream("c-1") + chat_stream("c-2") + "data: [DONE]\n\n"
    return str(cases.anthropic_stream()[3]) + chats + responses_stream() + google_stream()


def test_each_answer_is_a_call_of_its_own() -> None:
    session = read(everything().encode(), NAME)
    found = list(session.calls.values())
    assert [c.id for c in found] == ["msg_2", "c-1", "c-2", "resp_1", "g-1"]
    assert [c.usage.input for c in found if c.usage] == [11, 12, 12, 30, 40]
    assert all(c.extra["tail_only"] is True and c.raw_head == 0 for c in found)
    assert list(session.threads) == ["main", "answer 2", "answer 3", "answer 4", "answer 5"]


def test_a_stream_that_breaks_off_says_so() -> None:
    data = str(cases.anthropic_stream()[3]).encode()
    cut = data[: data.index(b"event: message_delta")]
    session, _, reader = read_with(form_of(cut, NAME), cut)
    assert calls(session)[0].error == "the answer is cut off"
    assert reader.tail is not None and "cut off" in reader.tail.reason


def test_any_chunking_and_any_cut() -> None:
    law_2(everything().encode(), NAME)
    survives_cuts(everything().encode(), NAME)


@pytest.mark.parametrize("path", corpus_params("sse"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    text = path.read_text()
    (call,) = calls(session)
    reports = [int(n) for n in re.findall(r'"output_tokens": ?(\d+)', text)]
    assert call.usage is not None and call.usage.output in reports
    assert call.model and call.id in text


def ollama_stream(*texts: str) -> bytes:
    chunks = [{"model": "m", "message": {"role": "assistant", "content": text}, "done": False} for text in texts]
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    chunks.append(end | {"prompt_eval_count": 9, "eval_count": 2})
    return b"".join(json.dumps(one).encode() + b"\n" for one in chunks)


def test_ollama_streams_an_object_a_line() -> None:
    session = read(ollama_stream("Good ", "day") + ollama_stream("Bye"), "a.jsonl")
    texts = [session.tree.items(call.response_head)[-1].block.value() for call in session.calls.values()]
    assert [text["text"] if isinstance(text, dict) else text for text in texts] == ["Good day", "Bye"]
    assert [(c.provider, c.usage.input, c.error) for c in session.calls.values() if c.usage] == [("ollama", 9, "")] * 2
    assert session.about.source == "event stream" and not session.skipped


def test_google_streams_a_list_unless_asked_for_events() -> None:
    first = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Good "}]}}]}
    last = {"candidates": [{"content": {"role": "model", "parts": [{"text": "day"}]}, "finishReason": "STOP"}]}
    session = read(json.dumps([first, last | {"usageMetadata": {"promptTokenCount": 9}}]).encode(), "a.json")
    (call,) = session.calls.values()
    assert (call.error, call.stop_reason) == ("", "STOP") and call.usage and call.usage.input == 9
    assert session.tree.items(call.response_head)[-1].block.value()["text"] == "Good day"
    request = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    pair = read(json.dumps({"request": request, "response": [first, last]}).encode(), "a.json")
    (call,) = pair.calls.values()
    assert pair.tree.items(call.response_head)[-1].block.value()["text"] == "Good day"


def test_an_answer_of_google_alone_is_not_the_wire() -> None:
    _, _, _, answer = cases.google()
    (call,) = read(json.dumps(answer).encode(), "a.json").calls.values()
    assert call.fidelity == Fidelity.TRANSCRIPT


@pytest.mark.parametrize("stream", [str(cases.anthropic_stream()[3]), chat_stream("c-1"), responses_stream()])
@pytest.mark.parametrize("is_list", [True, False])
def test_events_may_be_saved_as_json(stream: str, is_list: bool) -> None:
    events = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: {")]
    data = f"[{','.join(events)}]" if is_list else "\n".join(events)
    (saved,), (streamed,) = read(data.encode(), "a.json").calls.values(), read(stream.encode(), NAME).calls.values()
    assert (saved.id, saved.usage, saved.error) == (streamed.id, streamed.usage, streamed.error)


def test_a_list_may_begin_with_a_byte_order_mark() -> None:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in ("Good ", "day")]
    (call,) = calls(session := read(b"\xef\xbb\xbf" + json.dumps(chunks).encode(), "a.json"))
    assert session.tree.items(call.response_head)[-1].block.value()["text"] == "Good day"


@pytest.mark.parametrize(
    "record",
    [
        {"type": "response.create", "model": "m", "input": [{"role": "user", "content": "Hello"}]},
        {"request": {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}, "candidates": [{}]},
        {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "choices": [{"delta": {"content": "Hi"}}]},
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}], "candidates": [{}]},
    ],
)
def test_a_record_with_its_request_is_no_event(record: dict[str, Any]) -> None:
    session = read(json.dumps(record).encode() + b"\n", "a.jsonl")
    first, *_ = calls(session)
    assert any(content(item.block).text == "Hello" for item in session.tree.items(first.raw_head))


def test_a_step_of_a_trajectory_is_no_event() -> None:
    step = {"message": {"role": "assistant", "content": "Hello"}, "done": False}
    assert not event_stream.sniff(json.dumps(step).encode() + b"\n", "a.jsonl")


def test_a_whole_answer_of_ollama_is_no_stream() -> None:
    answer = {"model": "m", "message": {"role": "assistant", "content": "Hello"}, "done": True}
    assert form_of(json.dumps(answer).encode(), "a.json").name != "event stream"
