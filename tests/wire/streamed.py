"""Answers of each dialect written as event streams, the way the providers do."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ctxtui.core import canonical


def cut(text: str, seed: int) -> list[str]:
    """`text` in pieces of random length; no piece for an empty text."""
    dice = random.Random(seed)
    pieces = []
    while text:
        n = dice.randint(1, 5)
        pieces.append(text[:n])
        text = text[n:]
    return pieces


def event(name: str, value: Any) -> str:
    data = value if isinstance(value, str) else canonical.dump_text(value)
    return (f"event: {name}\n" if name else "") + f"data: {data}\n\n"


def anthropic(message: dict[str, Any], seed: int = 0) -> Iterator[str]:
    """An Anthropic message as its named events, with pings between."""
    usage = {**message["usage"], "output_tokens": 1}
    shell = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield event("message_start", {"type": "message_start", "message": shell})
    yield event("ping", {"type": "ping"})
    fields = {"text": ["text"], "thinking": ["thinking", "signature"], "tool_use": ["input"]}
    for n, block in enumerate(message["content"]):
        streamed = fields.get(block["type"], [])
        empty = {key: {} if key == "input" else "" if key in streamed else value for key, value in block.items()}
        yield event("content_block_start", {"type": "content_block_start", "index": n, "content_block": empty})
        for field in streamed:
            kind, key = {"input": ("input_json_delta", "partial_json")}.get(field, (f"{field}_delta", field))
            words = canonical.dump_text(block[field]) if field == "input" else block[field]
            for piece in cut(words, seed):
                delta = {"type": kind, key: piece}
                yield event("content_block_delta", {"type": "content_block_delta", "index": n, "delta": delta})
        yield event("content_block_stop", {"type": "content_block_stop", "index": n})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    told = {"output_tokens": message["usage"]["output_tokens"]}
    yield event("message_delta", {"type": "message_delta", "delta": end, "usage": told})
    yield event("message_stop", {"type": "message_stop"})


def openai_chat(answer: dict[str, Any], seed: int = 0) -> Iterator[str]:
    """A chat completion as chunks, usage in a last one without choices."""
    top = {"id": answer["id"], "object": "chat.completion.chunk", "model": answer["model"], "created": 1}
    choice = answer["choices"][0]
    message = choice["message"]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        return event("", {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None})

    yield chunk({"role": "assistant", "content": "" if message["content"] is not None else None})
    for key in ("reasoning_content", "content"):
        for piece in cut(message.get(key) or "", seed):
            yield chunk({key: piece})
    calls = message.get("tool_calls") or []
    pieces = [[(n, piece) for piece in cut(call["function"]["arguments"], seed)] for n, call in enumerate(calls)]
    for n, call in enumerate(calls):
        head = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": n, "id": call["id"], "type": "function", "function": head}]})
    # Parallel calls interleave.
    while any(pieces):
        for queue in pieces:
            if queue:
                n, piece = queue.pop(0)
                yield chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    yield event("", {**top, "choices": [], "usage": answer["usage"], "obfuscation": "xxxx"})
    yield event("", "[DONE]")


def openai_responses(answer: dict[str, Any], seed: int = 0) -> Iterator[str]:
    """A response as its typed events."""
    sent = 0

    def typed(kind: str, **more: Any) -> str:
        nonlocal sent
        sent += 1
        return event(kind, {"type": kind, "sequence_number": sent, **more})

    shell = {**answer, "output": [], "status": "in_progress", "usage": None}
    yield typed("response.created", response=shell)
    yield typed("response.in_progress", response=shell)
    for n, item in enumerate(answer["output"]):
        if item["type"] == "message":
            yield typed("response.output_item.added", output_index=n, item={**item, "content": []})
            for m, part in enumerate(item["content"]):
                at = {"item_id": item["id"], "output_index": n, "content_index": m}
                yield typed("response.content_part.added", **at, part={**part, "text": ""})
                for piece in cut(part["text"], seed):
                    yield typed("response.output_text.delta", **at, delta=piece)
                yield typed("response.output_text.done", **at, text=part["text"])
        elif item["type"] == "function_call":
            yield typed("response.output_item.added", output_index=n, item={**item, "arguments": ""})
            for piece in cut(item["arguments"], seed):
                yield typed("response.function_call_arguments.delta", output_index=n, delta=piece)
        else:
            yield typed("response.output_item.added", output_index=n, item=item)
        yield typed("response.output_item.done", output_index=n, item=item)
    yield typed("response.completed", response=answer)


def ollama_chat(answer: dict[str, Any], seed: int = 0) -> Iterator[str]:
    """An answer of Ollama's as lines of JSON: thinking, words, calls, then the figures."""
    top = {"model": answer["model"], "created_at": "2026-11-01T00:00:00Z"}

    def line(message: dict[str, Any], **more: Any) -> str:
        return canonical.dump_text({**top, "message": {"role": "assistant", "content": "", **message}, **more}) + "\n"

    message = answer["message"]
    for key in ("thinking", "content"):
        for piece in cut(message.get(key) or "", seed):
            yield line({key: piece}, done=False)
    for call in message.get("tool_calls", []):
        yield line({"tool_calls": [call]}, done=False)
    told = {key: value for key, value in answer.items() if key not in ("message", "model")}
    yield line({}, **told)


def google(answer: dict[str, Any], seed: int = 0) -> Iterator[str]:
    """An answer of Google's as chunks, each an answer with a piece of it; the last one says why it ends."""
    candidate = answer["candidates"][0]
    top = {"modelVersion": answer["modelVersion"], "responseId": answer["responseId"]}

    def chunk(part: Any, **more: Any) -> str:
        content = {**candidate["content"], "parts": [part] if part else []}
        return event("", {"candidates": [{"content": content, "index": 0, **more}], **top})

    for part in candidate["content"]["parts"]:
        pieces = cut(part.get("text", ""), seed)
        unsigned = {key: item for key, item in part.items() if key != "thoughtSignature"}
        for n, piece in enumerate(pieces):
            yield chunk({**(part if n == len(pieces) - 1 else unsigned), "text": piece})
        if not pieces:
            yield chunk(part)
    last = {"content": {**candidate["content"], "parts": []}, "finishReason": candidate["finishReason"], "index": 0}
    yield event("", {**answer, "candidates": [last]})


STREAMS = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "ollama_chat": ollama_chat,
    "google": google,
}
