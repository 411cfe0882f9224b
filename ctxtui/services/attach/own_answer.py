"""Answers that ctxtui sends in a provider's place: the user's, refusals, errors in a stream."""

from __future__ import annotations

import secrets
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.offline.anthropic.messages_api import events as message_events
from ctxtui.offline.exchange import compact, named_event, named_events
from ctxtui.offline.openai.chat_api import chunks
from ctxtui.offline.openai.responses_api import events as response_events
from ctxtui.transcripts.kit.http_exchange.pair import parse_body
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES

ANSWERABLE_APIS: Final = (ANTHROPIC, CHAT, RESPONSES, GOOGLE)
CODEX: Final = "codex"
_PINGS: Final = {
    ANTHROPIC: b'event: ping\ndata: {"type": "ping"}\n\n',
    CHAT: b": the request is held in ctxtui\n\n",
    RESPONSES: b": the request is held in ctxtui\n\n",
    GOOGLE: b": the request is held in ctxtui\n\n",
}
"""Anthropic's streams have an event for pings; in other streams a comment serves as one, which clients ignore."""
_CODEX_PING: Final = b'event: keepalive\ndata: {"type":"keepalive"}\n\n'
"""Codex ends a stream that brings no event for five minutes; comments do not count, events of unknown types do."""
_REASONS: Final = {200: "OK", 400: "Bad Request", 422: "Unprocessable Entity"}
_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json"
_CHARS_PER_TOKEN: Final = 4
"""Characters per token, roughly, for the output tokens that the user's own answer reports."""


def build_answer(dialect: str, request: dict[str, Json], text: str, input_: int, at: float) -> bytes:
    """Build an HTTP answer in which the requested model says `text`.

    It is streamed if the request asks for it. `input_` is an estimate in tokens; `at` is Unix seconds.
    """
    builders = {ANTHROPIC: _build_message, CHAT: _build_completion, RESPONSES: _build_response, GOOGLE: _build_content}
    answer, events = builders[dialect](request, text, (input_, 1 + len(text) // _CHARS_PER_TOKEN), at)
    if request.get("stream") is True:
        return _http_answer(200, _STREAM, b"".join(events))
    return _http_answer(200, _JSON, compact(answer))


_REFUSAL_STATUS: Final = {ANTHROPIC: 422}
"""The status of a refusal, where it is not 400.

Claude Code 2.1.332 says "Failed to authenticate" for 403, and for 400 it mends its request and asks again.
"""


def build_refusal(dialect: str, why: str) -> bytes:
    """Build the HTTP answer that refuses a request, after which no SDK retries."""
    return _http_answer(_REFUSAL_STATUS.get(dialect, 400), _JSON, compact(_build_error(dialect, why)))


def _build_error(dialect: str, why: str) -> dict[str, Json]:
    if dialect == ANTHROPIC:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": why}, "request_id": None}
    if dialect == OLLAMA:
        return {"error": why}
    if dialect == GOOGLE:
        return {"error": {"code": 400, "message": why, "status": "FAILED_PRECONDITION"}}
    kind = {"type": "invalid_request_error", "param": None, "code": "refused_by_user"}
    return {"error": {"message": why, **kind}}


def ping_of(dialect: str, client: str = "") -> bytes:
    """Bytes that keep a stream of this API alive, for this `client`; b"" if it has none."""
    return _CODEX_PING if client == CODEX and dialect == RESPONSES else _PINGS.get(dialect, b"")


def error_event(dialect: str, status: int, body: bytes) -> bytes:
    """Convert the `status` and `body` of an answer to an error event of this API's streams."""
    fields = as_dict(parse_body(body))
    error = as_dict(fields.get("error"))
    texts = (error.get("message"), *(fields.get(name) for name in ("error", "message", "detail")))
    message = next(filter(None, map(as_str, texts)), f"the provider answered {status}")
    if dialect == ANTHROPIC:
        if fields.get("type") == "error":
            return named_event("error", fields)
        return named_event("error", {"type": "error", "error": {"type": "api_error", "message": message}})
    if dialect == GOOGLE:
        error = error or {"code": status, "message": message, "status": "UNKNOWN"}
    error = error or {"message": message, "type": "server_error", "param": None, "code": str(status)}
    if dialect == RESPONSES:
        fields = {"type": "error", "sequence_number": 0, "code": error.get("code"), "message": message}
        return named_event("error", {**fields, "param": error.get("param"), "error": error})
    return b"data: " + compact({"error": error}) + b"\n\n"


def _http_answer(status: int, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


_Answer = tuple[dict[str, Json], list[bytes]]


def _build_message(request: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Answer:
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
        "model": request.get("model"),
        "content": [{"type": "text", "text": text, "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }
    return message, list(named_events(message_events(message)))


def _build_completion(request: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Answer:
    message: dict[str, Json] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    completion: dict[str, Json] = {
        "id": f"chatcmpl-ctxtui-{secrets.token_hex(10)}",
        "object": "chat.completion",
        "created": int(at),
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }
    include_usage = as_dict(request.get("stream_options")).get("include_usage") is True
    return completion, list(chunks(completion, include_usage))


def _build_response(request: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Answer:
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
        "instructions": request.get("instructions"),
        "metadata": request.get("metadata") or {},
        "model": request.get("model"),
        "output": [{**item, "role": "assistant", "content": content}],
        "parallel_tool_calls": request.get("parallel_tool_calls") is not False,
        "previous_response_id": request.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "store": request.get("store") is not False,
        "temperature": request.get("temperature", 1.0),
        "text": request.get("text") or {"format": {"type": "text"}},
        "tool_choice": request.get("tool_choice") or "auto",
        "tools": request.get("tools") or [],
        "top_p": request.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": usage,
    }
    return response, list(named_events(response_events(response)))


def _build_content(request: dict[str, Json], text: str, tokens: tuple[int, int], at: float) -> _Answer:
    answer: dict[str, Json] = {
        "candidates": [
            {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": 0},
        ],
        "usageMetadata": {
            "promptTokenCount": tokens[0],
            "candidatesTokenCount": tokens[1],
            "totalTokenCount": sum(tokens),
        },
        "modelVersion": request.get("model"),
        "responseId": secrets.token_hex(10),
    }
    return answer, [b"data: " + compact(answer) + b"\r\n\r\n"]
