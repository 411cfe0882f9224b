"""Look-alikes of recorded exchanges, made by hand, in the spellings of several recorders."""

from __future__ import annotations

import json
from typing import Any

MESSAGES_URL = "https://api.anthropic.com/v1/messages"
CHAT_URL = "https://api.openai.com/v1/chat/completions"
RESPONSES_URL = "https://api.openai.com/v1/responses"
GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-9:generateContent"
CONVERSE_URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.some%2Dmodel-v1%3A0/converse"
COHERE_URL = "https://api.cohere.com/v2/chat"
OLLAMA_URL = "http://127.0.0.1:11434/api/chat"

Pair = tuple[str, Any, int, Any]
"""Address, request, status, answer (a string is sent as it is)."""


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def anthropic() -> Pair:
    request = {"model": "claude-x", "max_tokens": 9, "system": "Be brief.", "messages": [user("Hi")]}
    usage = {
        "input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3, "output_tokens": 2,
    }  # fmt: skip
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hello"}], "usage": usage,
    }  # fmt: skip
    return MESSAGES_URL, request, 200, answer


def anthropic_stream() -> Pair:
    usage = {"input_tokens": 11, "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_2", "role": "assistant", "model": "claude-x", "content": [],
                                              "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good day"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]  # fmt: skip
    stream = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return MESSAGES_URL, {"model": "claude-x", "stream": True, "messages": [user("Hello there")]}, 200, stream


def chat() -> Pair:
    usage = {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}}
    message = {"role": "assistant", "content": "Four"}
    answer = {"id": "c-1", "model": "gpt-9", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    return CHAT_URL, {"model": "gpt-9", "messages": [user("2+2?")]}, 200, answer


def refused() -> Pair:
    error = {"error": {"type": "invalid_request_error", "message": "no such model"}}
    return CHAT_URL, {"model": "gpt-0", "messages": [user("2+2?")]}, 404, error


def responses(id_: str, previous: str | None, asked: str, said: str) -> Pair:
    request: dict[str, Any] = {"model": "gpt-9", "instructions": "Be kind.", "input": asked}
    if previous:
        request["previous_response_id"] = previous
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]
    usage = {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 4}
    answer = {"id": id_, "model": "gpt-9", "status": "completed", "output": output, "usage": usage}
    return RESPONSES_URL, request, 200, answer


def google() -> Pair:
    request = {
        "systemInstruction": {"parts": [{"text": "Be exact."}]},
        "tools": [{"functionDeclarations": [{"name": "add", "parameters": {}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "1+1?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"r": 2}}}]},
        ],
        "generationConfig": {"temperature": 0},
    }
    usage = {
        "promptTokenCount": 40, "cachedContentTokenCount": 8, "candidatesTokenCount": 5, "thoughtsTokenCount": 6,
    }  # fmt: skip
    parts = [{"text": "so", "thought": True}, {"text": "Two"}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-9", "responseId": "g-1"}
    return GOOGLE_URL, request, 200, answer


def converse() -> Pair:
    request = {
        "system": [{"text": "Be calm."}, {"cachePoint": {"type": "default"}}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}}]},
        "messages": [
            {"role": "user", "content": [{"text": "Go"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "u", "name": "t", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "u", "content": [{"json": {"n": 1}}]}}]},
        ],
    }
    usage = {"inputTokens": 4, "cacheReadInputTokens": 6, "cacheWriteInputTokens": 2, "outputTokens": 1}
    message = {"role": "assistant", "content": [{"text": "Done"}]}
    return CONVERSE_URL, request, 200, {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}


def cohere() -> Pair:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hey"}]}
    tokens = {"input_tokens": 50, "output_tokens": 3}
    usage = {"billed_units": {"input_tokens": 2}, "tokens": tokens, "cached_tokens": 48}
    answer = {"id": "co-1", "message": message, "finish_reason": "COMPLETE", "usage": usage}
    return COHERE_URL, {"model": "command-x", "messages": [user("Hey you")]}, 200, answer


def ollama(*, stream: bool = True) -> Pair:
    """Ollama's own API: arguments are an object, a stream is one object a line."""
    calls = [{"function": {"name": "add", "arguments": {"a": 1, "b": 1}}}]
    messages = [
        {"role": "system", "content": "Be exact."},
        user("1+1?"),
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_name": "add", "content": "2"},
    ]
    request = {"model": "llama-x", "messages": messages, "stream": stream, "options": {"num_ctx": 4096}}
    counts = {"done": True, "done_reason": "stop", "prompt_eval_count": 31, "eval_count": 5}
    said = [{"role": "assistant", "content": words} for words in ("It is ", "two.")]
    if not stream:
        message = {"role": "assistant", "content": "It is two."}
        return OLLAMA_URL, request, 200, {"model": "llama-x", "message": message, **counts}
    lines = [{"model": "llama-x", "message": one, "done": False} for one in said]
    end = {"model": "llama-x", "message": {"role": "assistant", "content": ""}, **counts}
    return OLLAMA_URL, request, 200, "".join(json.dumps(line) + "\n" for line in [*lines, end])


def elsewhere() -> Pair:
    return "https://api.openai.com/v1/embeddings", {"model": "e", "input": "words"}, 200, {"data": []}


def every() -> list[Pair]:
    """One exchange of each kind."""
    return [anthropic(), anthropic_stream(), chat(), refused(), google(), converse(), cohere(), elsewhere()]


def body(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
