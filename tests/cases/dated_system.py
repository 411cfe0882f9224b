"""Plain bodies of a client whose system prompt says the date: call after call it is another one.

Each request is written whole, with its answer, in one of three dialects. Reports are those of a provider that still
reads what stands in front of the system prompt: `TOOLS` tokens.
"""

from __future__ import annotations

from typing import Final

from tests.transcripts.reading import as_lines

DIALECTS: Final = ("anthropic", "openai chat", "openai responses")
CALLS: Final = 6
TOOLS: Final = 3_072
"""Tokens of the tools, which stand in front of the system prompt."""
_RULES: Final = 3_000
_QUESTION: Final = 500


def bodies(dialect: str, *, dated: bool = True, calls: int = CALLS) -> bytes:
    """A file with `calls` pairs of request and answer, twenty seconds apart."""
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
    return as_lines(lines)


def _said(dialect: str, role: str, text: str) -> dict[str, object]:
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


_WRITTEN = {"anthropic": _anthropic, "openai chat": _chat, "openai responses": _responses}
