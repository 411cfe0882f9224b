"""LM Studio's logs: bodies, predictions, packets, figures without bodies."""

from __future__ import annotations

import json
from typing import Any

from tests.transcripts.reading import calls, law_2, read, survives_cuts, total

NAME = "2026-01-01.1.log"


def body(words: str) -> str:
    return json.dumps({"model": "qwen", "messages": [{"role": "user", "content": words}]}, indent=2)


def packet(delta: dict[str, Any], **rest: Any) -> str:
    value = {"id": "chatcmpl-2", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}], **rest}
    return json.dumps(value, indent=2)


PREDICTION = json.dumps({
    "id": "chatcmpl-1", "object": "chat.completion", "model": "qwen",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 66, "completion_tokens": 3, "total_tokens": 69},
}, indent=2)  # fmt: skip
LOG = f"""[2026-01-01 10:00:00][INFO][LM STUDIO SERVER] Success! HTTP server listening on port 1234
[2026-01-01 10:00:01][DEBUG] Received request: GET to /v1/models
[2026-01-01 10:00:02][DEBUG] Received request: POST to /v1/chat/completions with body {body("Hi")}
[2026-01-01 10:00:02][INFO][qwen] Running chat completion on conversation with 1 messages.
[2026-01-01 10:00:03][INFO][qwen] Generated prediction: {PREDICTION}
2026-01-01 10:00:04 [DEBUG]
 Received request: POST to /v1/chat/completions with body  {body("And you?")}
[2026-01-01 10:00:05][INFO][qwen] Generated packet: {packet({"role": "assistant", "content": "Fi"})}
[2026-01-01 10:00:05][INFO][qwen] Generated packet: {packet({"content": "ne"}, usage={"prompt_tokens": 9})}
[2026-01-01 10:00:06][INFO][qwen] Finished streaming response
[2026-01-01 10:00:07][DEBUG] Received request: POST to /v1/chat/completions with body {body("Third")}
[2026-01-01 10:00:08][DEBUG] 10:00:08 Done · input 26 · cached 6 · output 1,092 · TTFT 0.5s · 92.9 tok/s
[2026-01-01 10:00:09][DEBUG] Received request: POST to /v1/chat/completions with body [Sensitive]
"""


def test_requests_with_their_answers() -> None:
    session = read(LOG.encode(), NAME)
    found = list(session.calls.values())
    assert [c.id for c in found[:2]] == ["chatcmpl-1", "chatcmpl-2"] and len(found) == 3
    lines = LOG.split("\n")
    assert all("[DEBUG]" in lines[c.line - 1] for c in found)
    assert found[0].ended == (found[0].started or 0) + 1 and found[0].stop_reason == "stop"
    texts = [session.tree.items(c.response_head)[-1].block.value()["text"] for c in found]
    assert texts == ["Hello", "Fine", "Third"]
    assert found[2].usage and (found[2].usage.fresh, found[2].usage.cache_read) == (20, 6)
    assert found[2].extra["answer"] == "not recorded"
    assert total(session).input == 66 + 9 + 26
    assert list(session.threads) == ["main", "thread-2", "thread-3"] and calls(session)


def test_any_chunking_and_any_cut() -> None:
    law_2(LOG.encode(), NAME)
    survives_cuts(LOG.encode(), NAME)


def test_a_log_without_bodies_has_no_calls() -> None:
    session = read(LOG.split("\n")[0].encode(), NAME)
    assert not session.calls


def test_an_answer_of_the_responses_api_is_the_request_s() -> None:
    asked = json.dumps({"model": "qwen", "input": "Which colour?"}, indent=2)
    answer = {"id": "resp_1", "object": "response", "model": "qwen", "status": "completed",
              "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Red"}]}],
              "usage": {"input_tokens": 31, "output_tokens": 12, "total_tokens": 43}}  # fmt: skip
    log = f"""[2026-01-01 10:00:02][DEBUG] Received request: POST to /v1/responses with body {asked}
[2026-01-01 10:00:02][INFO][qwen] Generating synchronous v1/responses response...
[2026-01-01 10:00:03][INFO][qwen] Generated synchronous v1/responses response: {json.dumps(answer, indent=2)}
"""
    (call,) = calls(read(log.encode(), NAME))
    assert call.usage and (call.usage.input, call.usage.output) == (31, 12)
