"""What a program is told in a model's place, as the API that it asks spells it: an answer of the user's, a refusal."""

from __future__ import annotations

import secrets
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.messages_api import events as message_events
from ctxtui.offline.exchange import compact, named_event, named_events
from ctxtui.offline.openai.chat_api import chunks
from ctxtui.offline.openai.responses_api import events as response_events
from ctxtui.transcripts.kit.fields import as_dict, as_str
from ctxtui.transcripts.kit.http_exchange.pair import parse_body
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES

SPOKEN: Final = (ANTHROPIC, CHAT, RESPONSES)
"""The APIs in which the user can answer."""
OLLAMA: Final = "ollama"
_PINGS: Final = {
    ANTHROPIC: b'event: ping\ndata: {"type": "ping"}\n\n',
    CHAT: b": the request is held in ctxtui\n\n",
    RESPONSES: b": the request is held in ctxtui\n\n",
}
"""Anthropic's own event; OpenAI's streams have none, and a comment is read by nobody."""
_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json"
_CHARACTERS: Final = 4


def own_answer(dialect: str, asked: dict[str, Json], text: str, input_: int, at: float) -> bytes:
    """The HTTP answer in which the model of the request `asked` says `text`, as a stream where one was asked for.
    `input_` and what it says in tokens are estimates: no model has read anything. `at` is Unix seconds."""
    made = {ANTHROPIC: _message, CHAT: _completion, RESPONSES: _response}[dialect]
    whole, events = made(asked, text, (input_, 1 + len(text) // _CHARACTERS), at)
    if asked.get("stream") is True:
        return http_answer(200, _STREAM, b"".join(events))
    return http_answer(200, _JSON, compact(whole))


def own_refusal(dialect: str, why: str) -> bytes:
    """The HTTP answer that refuses a request: 403, which no client tries again."""
    return http_answer(403, _JSON, compact(error_of(dialect, why)))


def error_of(dialect: str, why: str) -> dict[str, Json]:
    """An error as the API spells it."""
    if dialect == ANTHROPIC:
        return {"type": "error", "error": {"type": "permission_error", "message": why}, "request_id": None}
    if dialect == OLLAMA:
        return {"error": why}
    kind = {"type": "permission_error", "param": None, "code": "refused_by_user"}
    return {"error": {"message": why, **kind}}


def ping_of(dialect: str) -> bytes:
    """What says in a stream of this API that somebody is there, and nothing else; b"" where nothing does."""
    return _PINGS.get(dialect, b"")


def error_event(dialect: str, status: int, body: bytes) -> bytes:
    """An answer that is no stream (its status and body) as the event that tells an error in a stream of this API."""
    told = as_dict(parse_body(body))
    error = as_dict(told.get("error"))
    words = as_str(error.get("message")) or as_str(told.get("message")) or f"the provider answered {status}"
    if dialect == ANTHROPIC:
        known = (
            told if told.get("type") == "error" else {"type": "error", "error": {"type": "api_error", "message": words}}
        )
        return named_event("error", known)
    error = error or {"message": words, "type": "server_error", "param": None, "code": str(status)}
    if dialect == RESPONSES:
        told = {"type": "error", "sequence_number": 0, "code": error.get("code"), "message": words}
        return named_event("error", {**told, "param": error.get("param"), "error": error})
    return b"data: " + compact({"error": error}) + b"\n\n"


def http_answer(status: int, kind: str, body: bytes) -> bytes:
    """An answer of HTTP/1.1 after which the connection ends."""
    head = f"HTTP/1.1 {status} {'OK' if status == 200 else 'Forbidden'}\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


_Made = tuple[dict[str, Json], list[bytes]]


def _message(asked: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Made:
    usage: dict[str, Json] = {
        "input_tokens": tokens[0],
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": tokens[1],
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
    message: dict[str, Json] = {
        "id": f"msg_ctxtui_{secrets.token_hex(10)}",
        "type": "message",
        "role": "assistant",
        "model": asked.get("model"),
        "content": [{"type": "text", "text": text, "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }
    return message, list(named_events(message_events(message)))


def _completion(asked: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Made:
    message: dict[str, Json] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    completion: dict[str, Json] = {
        "id": f"chatcmpl-ctxtui-{secrets.token_hex(10)}",
        "object": "chat.completion",
        "created": int(at),
        "model": asked.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }
    told = as_dict(asked.get("stream_options")).get("include_usage") is True
    return completion, list(chunks(completion, told))


def _response(asked: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Made:
    content: list[Json] = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
    item: dict[str, Json] = {"id": f"msg_{secrets.token_hex(12)}", "type": "message", "status": "completed"}
    usage: dict[str, Json] = {
        "input_tokens": tokens[0],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(tokens),
    }
    response: dict[str, Json] = {
        "id": f"resp_ctxtui_{secrets.token_hex(10)}",
        "object": "response",
        "created_at": int(at),
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "metadata": asked.get("metadata") or {},
        "model": asked.get("model"),
        "output": [{**item, "role": "assistant", "content": content}],
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "previous_response_id": asked.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "store": asked.get("store") is not False,
        "temperature": asked.get("temperature", 1.0),
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": asked.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": usage,
    }
    return response, list(named_events(response_events(response)))
