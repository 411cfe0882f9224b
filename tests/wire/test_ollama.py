"""Ollama's own dialect: what is different about it."""

from __future__ import annotations

import json

from ctxtui.core import canonical
from ctxtui.core.block_content import read
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import parse_stream
from ctxtui.wire.translate.encode import build_body
from ctxtui.wire.translate.turns import detect_dialect
from tests.wire.talk import PIXEL, ollama_chat, openai_chat

OLLAMA = DIALECTS["ollama_chat"]
TALK = [
    ("user", "hello"),
    ("image", "x"),
    ("call", "c1", '{"path":"a"}'),
    ("result", "c1", "one"),
    ("assistant", "done"),
]


def test_blocks_of_a_body() -> None:
    request = OLLAMA.decode_request(canonical.dumps(ollama_chat(TALK)), None)
    assert detect_dialect(request.items) == "ollama_chat"
    kinds = [item.block.kind for item in request.items if item.block.kind != "header"]
    assert kinds == ["tool", "text", "text", "image", "tool_call", "text", "text"]
    picture = next(item.block for item in request.items if item.block.kind == "image")
    assert read(picture).media[0].data == PIXEL
    call = next(item.block for item in request.items if item.block.kind == "tool_call")
    assert (read(call).name, read(call).arguments, read(call).call_id) == ("read", '{"path":"a"}', "c1")


def test_a_chat_body_becomes_one_of_ollama() -> None:
    chat = DIALECTS["openai_chat"].decode_request(canonical.dumps(openai_chat(TALK)), None)
    body, lost = build_body("ollama_chat", chat.items, model="llama3.1:8b")
    assert lost == []
    call = {"id": "c1", "function": {"name": "read", "arguments": {"path": "a"}}}
    assert json.loads(body)["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello"},
        {"role": "user", "content": "", "images": [PIXEL]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "one", "tool_name": "read", "tool_call_id": "c1"},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip


def test_calls_without_ids_are_paired_by_name() -> None:
    body = ollama_chat(TALK)
    for message in body["messages"]:
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            del call["id"]
    request = OLLAMA.decode_request(canonical.dumps(body), None)
    chat, lost = build_body("openai_chat", request.items, model="m")
    assert lost == []
    said = json.loads(chat)["messages"]
    assert said[3]["tool_calls"][0]["id"] == said[4]["tool_call_id"]


def test_lines_and_figures() -> None:
    lines = (
        b'{"model":"m","message":{"role":"assistant","content":"","thinking":"so"},"done":false}\n'
        b'{"model":"m","message":{"role":"assistant","content":"hel"},"done":false}\n'
        b'{"model":"m","message":{"role":"assistant","content":"lo"},"done":false}\n'
        b'{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"length",'
        b'"prompt_eval_count":26,"eval_count":3,"eval_duration":5}\n'
    )
    reader = OLLAMA.stream_reader()
    deltas = reader.feed(parse_stream(lines))
    assert [(delta.kind, delta.text) for delta in deltas] == [("thinking", "so"), ("text", "hel"), ("text", "lo")]
    found = reader.response()
    assert (found.stop_reason, found.complete, found.extra["eval_duration"]) == ("length", True, 5)
    assert found.usage is not None and (found.usage.input, found.usage.output, found.usage.has_cache) == (26, 3, False)
    cut = OLLAMA.stream_reader()
    cut.feed(parse_stream(lines[:150]))
    assert not cut.response().complete
    failed = OLLAMA.stream_reader()
    failed.feed(parse_stream(b'{"error":"model not found"}\n'))
    assert failed.response().error == "model not found"
