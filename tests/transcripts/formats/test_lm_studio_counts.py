"""LM Studio's logs that tell counts alone: a call for each request, a thread for each conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.services.recordings.open import load
from ctxtui.transcripts.formats import lm_studio, lm_studio_counts

PATH = Path(__file__).parents[3] / "examples" / "claims" / "lm-studio-server.log"
LOG = PATH.read_bytes()


def test_the_lines_that_the_document_prints() -> None:
    session = load(PATH).session
    told = {id_: [c.usage.input for c in session.thread_calls(id_) if c.usage] for id_ in session.threads}
    assert told == {"main": [578, 938], "conversation-2": [5703, 6937]}
    first, *_ = session.calls.values()
    assert first.started is not None and first.usage is not None and not first.usage.has_cache
    assert not first.response_head, "nothing is known but figures"


def test_other_spellings_and_requests_without_figures(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(
        "[2025-10-30 04:33:34][INFO][qwen2.5-7b] Running chat completion on conversation with 1 messages.\r\n"
        '  "usage": {\r\n    "prompt_tokens": 578,\r\n    "completion_tokens": 41\r\n'
        "[2025-10-30 04:33:36][INFO][qwen2.5-7b] Running chat completion on conversation with 3 messages.\r\n"
        "[2025-10-30 04:33:39][INFO][qwen2.5-7b] Running chat completion on conversation with 5 messages.\r\n"
        '    "prompt_tokens": 1,938,\r\n'
    )
    loaded = load(path)
    used = [call.usage for call in loaded.session.calls.values()]
    assert [(one.input, one.output) for one in used if one] == [(578, 41), (1938, 0)]
    assert [one.line for one in loaded.skipped] == [5] and "prompt_tokens" in loaded.skipped[0].reason


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_last_line_needs_no_end(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.log"
    line = (
        '[2026-02-03 04:05:06][INFO] Generated synchronous v1/responses response: {"input_tokens": 40} [tiny/tiny-2b]'
    )
    path.write_bytes(f"{line}{end}".encode())
    (call,) = load(path).session.calls.values()
    assert call.model == "tiny/tiny-2b" and call.usage and call.usage.input == 40


def test_a_log_with_bodies_is_read_as_before() -> None:
    body = b'[2025-10-30 04:33:34][DEBUG] Received request: POST to /v1/chat/completions with body  {"model": "m"}\n'
    assert not lm_studio_counts.sniff(body + LOG, "a.log") and lm_studio.sniff(body + LOG, "a.log")
    assert lm_studio_counts.sniff(LOG, "a.log") > 0.9


def answer(id_: str, before: str | None, given: int, cached: int | None = None) -> str:
    details = {} if cached is None else {"input_tokens_details": {"cached_tokens": cached}}
    told = {"id": id_, "object": "response", "model": "tiny/tiny-2b", "previous_response_id": before,
            "output": [{"type": "message", "id": "msg_9", "content": [{"type": "output_text", "text": "Green."}]}],
            "usage": {"input_tokens": given, "output_tokens": 9, "total_tokens": given + 9, **details}}  # fmt: skip
    return json.dumps(told, indent=2)


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("way", ["synchronous", "streaming"])
def test_answers_of_the_responses_api_name_what_they_go_on_from(tmp_path: Path, runs: bool, way: str) -> None:
    asked = [("resp_a", None, 40), ("resp_x", None, 7), ("resp_b", "resp_a", 95), ("resp_c", "resp_b", 130)]
    text = ""
    for n, (id_, before, given) in enumerate(asked):
        head = f"[2026-02-03 04:05:{10 + n}][INFO][tiny/tiny-2b]"
        text += f"{head} Generating {way} v1/responses response...\n"
        text += f"{head} Running chat completion on conversation with 1 messages.\n" if runs else ""
        text += f"{head} Generated {way} v1/responses response: {answer(id_, before, given, given // 5)}\n"
    path = tmp_path / "server.log"
    path.write_text(text)
    session = load(path).session
    told = {id_: [c.usage.input for c in session.thread_calls(id_) if c.usage] for id_ in session.threads}
    assert told == {"main": [40, 95, 130], "conversation-2": [7]}
    first, *_ = session.calls.values()
    assert first.model == "tiny/tiny-2b" and first.usage and (first.usage.cache_read, first.usage.output) == (8, 9)
    assert (first.started is not None) == runs and first.ended is not None


def test_one_request_is_counted_in_the_singular(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(
        "[2025-10-30 04:33:34][INFO][qwen2.5-7b] Running chat completion on conversation with 1 messages.\n"
        '    "prompt_tokens": 578\n'
    )
    assert load(path).session.about.title == "1 request to a local server"
