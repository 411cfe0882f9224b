"""Conversations as Hypothesis strategies, legal or broken off anywhere, written in each dialect."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
WORDS = st.sampled_from(["hello", "read <a>", "wörld 漢", "x\ny", "", " ", "```py\n1\n```"])
IDS = st.sampled_from(["c1", "c2", "c3", "c4", ""])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["user", "assistant", "thinking", "system", "image"]), WORDS),
        st.tuples(st.just("call"), IDS, st.sampled_from(['{"path":"a"}', "{}"])),
        st.tuples(st.just("result"), IDS, WORDS),
        st.tuples(st.just("pair"), IDS, WORDS),
    ),
    max_size=9,
)
"""What happened, in order: (role or thing, words), (call, id, arguments), (result, id, words)."""


def flat(events: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Pairs as a call and its result."""
    return [e for event in events for e in _pair(event)]


def _pair(event: tuple[str, ...]) -> list[tuple[str, ...]]:
    kind, *rest = event
    return [("call", rest[0], "{}"), ("result", *rest)] if kind == "pair" else [event]


def anthropic(events: list[tuple[str, ...]]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for kind, *rest in flat(events):
        side = "assistant" if kind in ("assistant", "thinking", "call") else "user"
        part: dict[str, Any] = {"type": "text", "text": rest[-1]}
        if kind == "thinking":
            part = {"type": "thinking", "thinking": rest[0], "signature": "sig" if rest[0] else ""}
        elif kind == "call":
            part = {"type": "tool_use", "id": rest[0], "name": "read", "input": {"path": rest[1]}}
        elif kind == "result":
            part = {"type": "tool_result", "tool_use_id": rest[0], "content": rest[1]}
        elif kind == "image":
            part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
        if messages and messages[-1]["role"] == side and kind != "user":
            messages[-1]["content"].append(part)
        else:
            messages.append({"role": side, "content": [part]})
    tool = {"name": "read", "description": "reads", "input_schema": {"type": "object"}}
    return {"model": "m", "max_tokens": 9, "system": "be kind", "tools": [tool], "messages": messages}


def openai_chat(events: list[tuple[str, ...]]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "be kind"}]
    for kind, *rest in flat(events):
        if kind == "call":
            call = {"id": rest[0], "type": "function", "function": {"name": "read", "arguments": rest[1]}}
            if messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "result":
            messages.append({"role": "tool", "tool_call_id": rest[0], "content": rest[1]})
        elif kind == "thinking":
            messages.append({"role": "assistant", "content": "so", "reasoning_content": rest[0]})
        elif kind == "image":
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
            messages.append({"role": "user", "content": [image]})
        else:
            messages.append({"role": kind, "content": rest[0]})
    inner = {"name": "read", "description": "reads", "parameters": {"type": "object"}}
    return {"model": "m", "messages": messages, "tools": [{"type": "function", "function": inner}]}


def openai_responses(events: list[tuple[str, ...]]) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for kind, *rest in flat(events):
        if kind == "call":
            items.append({"type": "function_call", "call_id": rest[0], "name": "read", "arguments": rest[1]})
        elif kind == "result":
            items.append({"type": "function_call_output", "call_id": rest[0], "output": rest[1]})
        elif kind == "thinking":
            items.append({"type": "reasoning", "summary": [], "encrypted_content": "x"})
        elif kind == "image":
            image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
            items.append({"type": "message", "role": "user", "content": [image]})
        else:
            what = "output_text" if kind == "assistant" else "input_text"
            items.append({"type": "message", "role": kind, "content": [{"type": what, "text": rest[0]}]})
    tool = {"type": "function", "name": "read", "description": "reads", "parameters": {"type": "object"}}
    return {"model": "m", "instructions": "be kind", "input": items, "tools": [tool]}


def ollama_chat(events: list[tuple[str, ...]]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "be kind"}]
    for kind, *rest in flat(events):
        if kind == "call":
            call = {"id": rest[0], "function": {"name": "read", "arguments": json.loads(rest[1])}}
            if messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "result":
            messages.append({"role": "tool", "content": rest[1], "tool_name": "read", "tool_call_id": rest[0]})
        elif kind == "thinking":
            messages.append({"role": "assistant", "content": "so", "thinking": rest[0]})
        elif kind == "image":
            messages.append({"role": "user", "content": "", "images": [PIXEL]})
        else:
            messages.append({"role": kind, "content": rest[0]})
    inner = {"name": "read", "description": "reads", "parameters": {"type": "object"}}
    return {"model": "m", "messages": messages, "tools": [{"type": "function", "function": inner}]}


def google(events: list[tuple[str, ...]]) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for kind, *rest in flat(events):
        side = "model" if kind in ("assistant", "thinking", "call") else "user"
        part: dict[str, Any] = {"text": rest[-1]}
        if kind == "thinking":
            part = {"text": rest[0], "thought": True}
        elif kind == "call":
            signed = {"thoughtSignature": "c2ln"} if not contents or contents[-1]["role"] == "user" else {}
            part = {"functionCall": {"id": rest[0], "name": "read", "args": json.loads(rest[1])}, **signed}
        elif kind == "result":
            part = {"functionResponse": {"id": rest[0], "name": "read", "response": {"output": rest[1]}}}
        elif kind == "image":
            part = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
        if contents and contents[-1]["role"] == side and kind != "user":
            contents[-1]["parts"].append(part)
        else:
            contents.append({"role": side, "parts": [part]})
    tool = {"name": "read", "description": "reads", "parametersJsonSchema": {"type": "object"}}
    return {
        "model": "models/m",
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "contents": contents,
        "tools": [{"functionDeclarations": [tool]}],
    }


WRITERS = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "ollama_chat": ollama_chat,
    "google": google,
}
