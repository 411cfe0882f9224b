"""Plain bodies of a client whose system prompt says the date: call after call it is another one.

Each request is written whole, with its answer, in one dialect. Reports are those of a provider that still reads what
stands in front of the system prompt: `TOOLS` tokens.
"""

from __future__ import annotations

import json
from typing import Final

from tests.transcripts.reading import as_lines

DIALECTS: Final = ("anthropic", "openai chat", "openai responses", "gemini", "cohere", "ollama")
CALLS: Final = 6
TOOLS: Final = 3_072
"""Tokens of the tools, which stand in front of the system prompt."""
_RULES: Final = 3_000
_QUESTION: Final = 500


def bodies(dialect: str, *, dated: bool = True, calls: int = CALLS) -> bytes:
    """A file with `calls` pairs of request and answer, twenty seconds apart: bodies, or a HAR of the dialects that are
    known by their address."""
    talk: list[dict[str, object]] = []
    lines = []
    for n in range(calls):
        talk.append(_said(dialect, "user", f"question {n} " + "word " * _QUESTION))
        system = "You are careful. " * (_RULES // 4) + f"Today is 2026-11-{10 + (n if dated else 0):02d}."
        total = TOOLS + _RULES + _QUESTION * (n + 1)
        read = 0 if n == 0 else TOOLS if dated else total - _QUESTION
        request, answer = _WRITTEN[dialect](n, system, list(talk), total, read)
        lines.append({"timestamp": 1_760_000_000 + 20 * n, "request": request, "response": answer})
        talk.append(_said(dialect, "assistant", f"answer {n}"))
    return _har(_ADDRESS[dialect], lines) if dialect in _ADDRESS else as_lines(lines)


def _har(url: str, lines: list[dict[str, object]]) -> bytes:
    return json.dumps(
        {"log": {"version": "1.2", "entries": [_entry(url, n, line) for n, line in enumerate(lines)]}}
    ).encode()


def _entry(url: str, n: int, line: dict[str, object]) -> dict[str, object]:
    sent = {"mimeType": "application/json", "text": json.dumps(line["request"])}
    got = {"mimeType": "application/json", "text": json.dumps(line["response"])}
    return {
        "startedDateTime": f"2026-01-01T00:00:{20 * n % 60:02d}.000Z".replace("T00:00", f"T00:{20 * n // 60:02d}"),
        "time": 900.0,
        "request": {"method": "POST", "url": url, "headers": [], "postData": sent},
        "response": {"status": 200, "headers": [], "content": got},
    }


def _said(dialect: str, role: str, text: str) -> dict[str, object]:
    if dialect == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    if dialect != "openai responses":
        return {"role": role, "content": text}
    kind = "input_text" if role == "user" else "output_text"
    return {"role": role, "content": [{"type": kind, "text": text}]}


def _tools(inner: str) -> list[dict[str, object]]:
    schema = {"type": "object", "properties": {}}
    return [{"name": f"tool_{n}", "description": "does things " * 350, inner: schema} for n in range(4)]


def _anthropic(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    mark = {"cache_control": {"type": "ephemeral"}}
    tools = _tools("input_schema")
    tools[-1] |= mark
    talk[-1] = {"role": "user", "content": [{"type": "text", "text": talk[-1]["content"], **mark}]}
    texts = [{"type": "text", "text": system, **mark}]
    request = {"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": tools, "system": texts, "messages": talk}
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": total - read - 3,
        "output_tokens": 5,
    }
    answer = {
        "id": f"msg_{n}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": f"answer {n}"}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return request, answer


def _chat(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    tools = [{"type": "function", "function": tool} for tool in _tools("parameters")]
    request = {"model": "gpt-4.1", "messages": [{"role": "system", "content": system}, *talk], "tools": tools}
    said = {"role": "assistant", "content": f"answer {n}"}
    usage = {
        "prompt_tokens": total,
        "completion_tokens": 5,
        "total_tokens": total + 5,
        "prompt_tokens_details": {"cached_tokens": read},
    }
    answer = {
        "id": f"chatcmpl-{n}",
        "object": "chat.completion",
        "model": "gpt-4.1",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
        "usage": usage,
    }
    return request, answer


def _responses(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    tools = [{"type": "function", **tool} for tool in _tools("parameters")]
    request = {"model": "gpt-5", "instructions": system, "input": talk, "tools": tools}
    text = {"type": "output_text", "text": f"answer {n}", "annotations": []}
    usage = {
        "input_tokens": total,
        "output_tokens": 5,
        "total_tokens": total + 5,
        "input_tokens_details": {"cached_tokens": read},
    }
    answer = {
        "id": f"resp_{n}",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "output": [{"type": "message", "id": f"m{n}", "role": "assistant", "content": [text]}],
        "usage": usage,
    }
    return request, answer


def _gemini(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    tools = [{"functionDeclarations": _tools("parameters")}]
    request = {"contents": talk, "systemInstruction": {"parts": [{"text": system}]}, "tools": tools}
    cached = {"cachedContentTokenCount": read} if read else {}
    answer = {
        "candidates": [{"content": _said("gemini", "assistant", f"answer {n}"), "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": total, "candidatesTokenCount": 5, "totalTokenCount": total + 5, **cached},
        "modelVersion": "gemini-2.5-pro",
        "responseId": f"r{n}",
    }
    return request, answer


def _cohere(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    tools = [{"type": "function", "function": tool} for tool in _tools("parameters")]
    messages = [{"role": "system", "content": system}, *talk]
    request = {"model": "command-a-03-2025", "messages": messages, "tools": tools, "stream": False}
    answer = {
        "id": f"c{n}",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": f"answer {n}"}]},
        "usage": {"tokens": {"input_tokens": total, "output_tokens": 5}, "cached_tokens": read},
    }
    return request, answer


def _ollama(n: int, system: str, talk: list[dict[str, object]], total: int, read: int) -> tuple[object, object]:
    tools = [{"type": "function", "function": tool} for tool in _tools("parameters")]
    messages = [{"role": "system", "content": system}, *talk]
    request = {"model": "qwen3:8b", "messages": messages, "tools": tools, "stream": False}
    answer = {
        "model": "qwen3:8b",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": f"answer {n}"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": total,
        "eval_count": 5,
    }
    return request, answer


_WRITTEN = {
    "anthropic": _anthropic,
    "openai chat": _chat,
    "openai responses": _responses,
    "gemini": _gemini,
    "cohere": _cohere,
    "ollama": _ollama,
}
_ADDRESS = {
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
    "cohere": "https://api.cohere.com/v2/chat",
    "ollama": "http://127.0.0.1:11434/api/chat",
}
