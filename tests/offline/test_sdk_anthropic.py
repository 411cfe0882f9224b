"""The real Anthropic SDK against the offline provider."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, ModelInfo, RawMessageStreamEvent
from pydantic import BaseModel, TypeAdapter

from ctxtui.offline import RunningProvider, SetClock
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import parse_stream
from tests.offline.loop import READ, anthropic_loop

LONG = "All work and no play makes a dull prompt. " * 150
MARK: Any = {"type": "ephemeral"}
HELLO: Any = [{"role": "user", "content": "hello"}]


def test_a_task_is_done(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    messages, answers = anthropic_loop(claude, "Read a.txt and b.txt, then find port in b.txt. Which port is it?")
    assert [a.stop_reason for a in answers] == ["tool_use", "tool_use", "end_turn"]
    calls = [[(b.name, b.input) for b in a.content if b.type == "tool_use"] for a in answers]
    assert calls[0] == [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]
    assert calls[1] == [("grep", {"pattern": "port", "path": "b.txt"})]
    said = answers[-1].content[-1]
    assert said.type == "text"
    assert "no model is running" in said.text
    assert "`the port is 8080`" in said.text
    assert [seen.rule for seen in running.server.seen] == ["", "", ""]
    assert all(isinstance(m, dict) for m in messages)


def test_every_answer_is_of_the_sdks_types(claude: anthropic.Anthropic) -> None:
    for tools in ([], [READ]):
        raw = claude.messages.with_raw_response.create(
            model="offline",
            max_tokens=500,
            messages=[{"role": "user", "content": "read a.txt"}],
            tools=tools,  # type: ignore[arg-type]
            thinking={"type": "adaptive"},
        )
        strictly(Message, json.loads(raw.text()))
    for model in claude.models.list():
        strictly(ModelInfo, model.to_dict(mode="json"))
    assert claude.models.retrieve("offline").display_name == "ctxtui offline (no model)"


def strictly(kind: type[BaseModel], value: Any) -> None:
    """The SDK's models build themselves from anything; validation does not."""
    kind.model_validate(value)


def test_every_event_is_of_the_sdks_types(claude: anthropic.Anthropic) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    kinds = set()
    with claude.messages.with_streaming_response.create(
        model="offline",
        max_tokens=900,
        messages=[{"role": "user", "content": "read a.txt"}],
        tools=[READ],
        stream=True,  # type: ignore[arg-type]
    ) as raw:
        body = b"".join(raw.iter_bytes())
    for line in body.splitlines():
        if line.startswith(b"data: "):
            value = json.loads(line[6:])
            kinds.add(value["type"])
            if value["type"] != "ping":
                adapter.validate_python(value)
    assert kinds >= {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"}
    reader = DIALECTS["anthropic"].stream_reader()
    reader.feed(parse_stream(body))
    read = reader.response()
    assert (read.complete, read.stop_reason) == (True, "tool_use")


def test_stream_and_whole_say_the_same(claude: anthropic.Anthropic) -> None:
    asked: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 900, "messages": HELLO}
    whole = claude.messages.create(**asked)
    with claude.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    first, second = whole.to_dict(), streamed.to_dict()
    for one in (first, second):
        one.pop("id"), one.pop("parsed_output", None)
        for block in one["content"]:  # type: ignore[attr-defined]
            block.pop("parsed_output", None)
    assert first == second
    assert "with the rules of claude-opus-5" in whole.content[-1].text  # type: ignore[union-attr]


def test_the_bytes_that_were_sent(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    raw = b'{ "messages":[{"content":"hello","role":"user"}],"max_tokens":1e2 ,"model":"offline"}'
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Input should be a valid integer"):
        claude.post("/v1/messages", content=raw, cast_to=Message)
    raw = raw.replace(b"1e2", b"100")
    claude.post("/v1/messages", content=raw, cast_to=Message)
    assert running.server.seen[-1].body == raw


def test_any_model_and_any_output_limit(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    for model, most in (("kimi-for-coding", 10**6), ("claude-haiku-4-5", 10**6), ("offline", 2**40)):
        # The SDK itself refuses so many tokens without a time limit.
        answer = claude.with_options(timeout=60).messages.with_raw_response.create(
            model=model, max_tokens=most, messages=HELLO, extra_body={"thinking": {"type": "disabled"}}
        )
        simulated = {"claude-haiku-4-5": "simulating claude-haiku-4-5"}.get(model, "offline")
        assert answer.headers["x-ctxtui-offline"] == simulated
        assert answer.parse().stop_reason == "end_turn"
    assert claude.models.retrieve("kimi-for-coding").id == "kimi-for-coding"
    # An unknown model takes what others of its time do.
    sampled = {"temperature": 0.6, "thinking": {"type": "disabled"}}
    old = {"anthropic-version": "2023-06-01"}
    claude.messages.create(model="kimi-x", max_tokens=9, messages=HELLO, extra_body=sampled, extra_headers=old)
    with pytest.raises(anthropic.BadRequestError, match="deprecated"):
        claude.messages.create(model="offline", max_tokens=9, messages=HELLO, extra_body=sampled, extra_headers=old)


def test_errors(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    running.server.provider.strict_models = True
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: 900000 >"):
        claude.with_options(timeout=60).messages.create(model="offline", max_tokens=900_000, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(model="offline", max_tokens=5, messages=[])
    assert caught.value.request_id and caught.value.request_id.startswith("req_")
    assert caught.value.body["error"]["type"] == "invalid_request_error"  # type: ignore[index]
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.create(model="claude-none-1", max_tokens=5, messages=HELLO)
    with pytest.raises(anthropic.NotFoundError):
        claude.models.retrieve("claude-none-1")
    with pytest.raises(anthropic.AuthenticationError):
        claude.with_options(api_key="invalid").messages.create(model="offline", max_tokens=5, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError, match="is not a valid version"):
        claude.messages.create(
            model="offline", max_tokens=5, messages=HELLO, extra_headers={"anthropic-version": "2020-01-01"}
        )
    big = [{"role": "user", "content": "x" * (33 * 1024 * 1024)}]
    with pytest.raises(anthropic.APIStatusError) as large:
        claude.messages.create(model="offline", max_tokens=5, messages=big)  # type: ignore[arg-type]
    assert large.value.status_code == 413
    assert running.server.seen[-1].rule == "too large"


def test_the_window(claude: anthropic.Anthropic) -> None:
    text = "word " * 201_000
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 200000 maximum"):
        claude.messages.create(model="offline", max_tokens=5, messages=[{"role": "user", "content": text}])
    near = "word " * 199_970
    answer = claude.messages.create(
        model="offline", max_tokens=500, messages=[{"role": "user", "content": near}], thinking={"type": "disabled"}
    )
    assert answer.stop_reason == "model_context_window_exceeded"


def test_limits_of_an_answer(claude: anthropic.Anthropic) -> None:
    say: Any = [{"role": "user", "content": "say 500 words"}]
    off: Any = {"model": "offline", "messages": say, "thinking": {"type": "disabled"}}
    cut = claude.messages.create(max_tokens=50, **off)
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 50)
    stopped = claude.messages.create(max_tokens=900, stop_sequences=["model"], **off)
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "model")
    assert stopped.content[0].text == "offline text that no "  # type: ignore[union-attr]
    warm = claude.messages.create(max_tokens=0, **off)
    assert (warm.content, warm.stop_reason, warm.usage.output_tokens) == ([], "max_tokens", 0)


def test_choices(claude: anthropic.Anthropic) -> None:
    asked: Any = {"model": "offline", "max_tokens": 900, "messages": HELLO, "tools": [READ]}
    forced = claude.messages.create(tool_choice={"type": "tool", "name": "read_file"}, **asked)
    assert [b.type for b in forced.content] == ["thinking", "tool_use"]
    assert forced.content[-1].input == {"path": "hello"}  # type: ignore[union-attr]
    both: Any = {**asked, "messages": [{"role": "user", "content": "read a.txt and b.txt"}]}
    one = claude.messages.create(tool_choice={"type": "auto", "disable_parallel_tool_use": True}, **both)
    assert sum(b.type == "tool_use" for b in one.content) == 1
    none = claude.messages.create(tool_choice={"type": "none"}, **both)
    assert none.stop_reason == "end_turn"


def test_thinking_is_shown_as_asked(claude: anthropic.Anthropic) -> None:
    asked: Any = {"model": "claude-opus-4-8", "max_tokens": 900, "messages": HELLO}
    assert [b.type for b in claude.messages.create(**asked, thinking={"type": "disabled"}).content] == ["text"]
    shown = claude.messages.create(**asked, thinking={"type": "adaptive"}).content[0]
    hidden = claude.messages.create(**asked, thinking={"type": "adaptive", "display": "omitted"}).content[0]
    assert shown.type == hidden.type == "thinking"
    assert shown.thinking and not hidden.thinking and hidden.signature


@pytest.mark.parametrize("model", ["offline", "claude-opus-4-8", "claude-opus-5"])
@pytest.mark.parametrize("display", ["summarized", "omitted"])
def test_thinking_that_comes_back_counts_what_it_did(claude: anthropic.Anthropic, model: str, display: Any) -> None:
    asked: Any = {"model": model, "thinking": {"type": "adaptive", "display": display}}
    answer = claude.messages.create(max_tokens=900, messages=HELLO, **asked)
    details = answer.usage.output_tokens_details
    assert details and details.thinking_tokens > 20
    talk: Any = [*HELLO, {"role": "assistant", "content": answer.content}, *HELLO]
    bare: Any = [*HELLO, {"role": "assistant", "content": answer.content[1:]}, *HELLO]
    counts = [claude.messages.count_tokens(messages=messages, **asked).input_tokens for messages in (talk, bare)]
    assert counts[0] - counts[1] == details.thinking_tokens


def test_structured_output(claude: anthropic.Anthropic) -> None:
    class Port(BaseModel):
        host: str
        port: int

    answer = claude.messages.parse(model="offline", max_tokens=500, messages=HELLO, output_format=Port)
    assert answer.parsed_output == Port(host="hello", port=0)


def test_cache(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    clock = running.server.provider.clock
    assert isinstance(clock, SetClock)
    system: Any = [{"type": "text", "text": LONG, "cache_control": MARK}]
    asked: Any = {"model": "offline", "max_tokens": 50, "system": system, "messages": HELLO}

    def counts() -> tuple[int, int, int]:
        usage = claude.messages.create(**asked).usage
        split = usage.cache_creation
        assert split and split.ephemeral_5m_input_tokens == usage.cache_creation_input_tokens
        return usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0, usage.input_tokens

    total = claude.messages.count_tokens(model="offline", system=system, messages=HELLO).input_tokens
    read, written, fresh = counts()
    assert (read, read + written + fresh) == (0, total)
    assert written > 512
    assert counts() == (written, 0, fresh)
    clock.advance(299)
    assert counts() == (written, 0, fresh)  # and the read renewed it
    clock.advance(299)
    assert counts() == (written, 0, fresh)
    clock.advance(301)
    assert counts() == (0, written, fresh)
    asked["system"][0]["text"] = LONG + "!"
    assert counts()[0] == 0


def test_dropped_thinking_is_reported_and_not_counted(claude: anthropic.Anthropic) -> None:
    messages, _ = anthropic_loop(claude, "Read a.txt")
    messages.append({"role": "user", "content": "And now?"})
    messages[0] = {"role": "user", "content": "Read A.txt"}
    asked: Any = {"model": "offline", "max_tokens": 900, "tools": [READ], "messages": messages}
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        claude.messages.create(**asked)
    thinking: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    betas: Any = ["thinking-binding-controls-2026-08-01"]
    answer = claude.beta.messages.create(thinking=thinking, betas=betas, **asked)
    told = answer.to_dict()["input_transformations"]
    assert [one["path"] for one in told] == ["messages.1.content.0", "messages.3.content.0"]  # type: ignore[index, attr-defined]
    bare = [
        {**m, "content": [b for b in m["content"] if getattr(b, "type", "") != "thinking"]}
        if m["role"] == "assistant"
        else m
        for m in messages
    ]
    total = answer.usage.input_tokens
    assert total == claude.messages.count_tokens(model="offline", tools=[READ], messages=bare).input_tokens  # type: ignore[arg-type]
    # What was answered after the change stays valid, as long as the request goes on saying so.
    asked["messages"] = [
        *messages,
        {"role": "assistant", "content": answer.to_dict()["content"]},
        {"role": "user", "content": "ok"},
    ]
    again = claude.beta.messages.create(thinking=thinking, betas=betas, **asked)
    assert len(again.to_dict()["input_transformations"]) == 2  # type: ignore[arg-type]


def test_context_editing(claude: anthropic.Anthropic) -> None:
    talk: Any = [{"role": "user", "content": "go"}]
    for n in range(5):
        use = {"type": "tool_use", "id": f"t{n}", "name": "read_file", "input": {"path": "a.txt"}}
        talk.append({"role": "assistant", "content": [use]})
        talk.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "word " * 100}]}
        )
    edit: Any = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 4}}
    asked: Any = {"model": "offline", "tools": [READ], "messages": talk, "betas": ["context-management-2025-06-27"]}
    with_edit: Any = {**asked, "context_management": {"edits": [edit]}}
    plain = claude.beta.messages.create(max_tokens=500, **asked)
    answer = claude.beta.messages.create(max_tokens=500, **with_edit)
    assert answer.context_management
    applied = answer.context_management.to_dict()["applied_edits"]
    saved = plain.usage.input_tokens - answer.usage.input_tokens
    assert applied == [{"type": edit["type"], "cleared_input_tokens": saved, "cleared_tool_uses": 2}]
    assert saved > 150
    counted = claude.beta.messages.count_tokens(**with_edit)
    assert counted.input_tokens == answer.usage.input_tokens
    assert counted.context_management and counted.context_management.original_input_tokens == plain.usage.input_tokens
    # Nothing to do, too little to do, and an order that is wrong.
    for change in (
        {"trigger": {"type": "tool_uses", "value": 9}},
        {"clear_at_least": {"type": "input_tokens", "value": 9999}},
    ):
        edits: Any = {"edits": [{**edit, **change}]}
        left = claude.beta.messages.create(max_tokens=500, **asked, context_management=edits)
        assert left.context_management and left.context_management.applied_edits == []
    with pytest.raises(anthropic.BadRequestError, match="must be the first edit"):
        wrong: Any = {"edits": [edit, {"type": "clear_thinking_20251015"}]}
        claude.beta.messages.create(max_tokens=500, **asked, context_management=wrong)


def test_diagnostics_are_taken_and_none_is_given(claude: anthropic.Anthropic) -> None:
    asked: dict[str, Any] = {"model": "offline", "max_tokens": 50, "messages": HELLO}
    assert claude.messages.create(diagnostics={"previous_message_id": None}, **asked).diagnostics is None


def test_paths_that_are_not_served(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="GET /v1/messages/batches is not served offline"):
        claude.messages.batches.list()


def test_headers(claude: anthropic.Anthropic) -> None:
    raw = claude.messages.with_raw_response.create(model="claude-opus-5", max_tokens=5, messages=HELLO)
    assert raw.headers["x-ctxtui-offline"] == "simulating claude-opus-5"
    assert raw.headers["anthropic-ratelimit-requests-remaining"] == "3999"
    assert int(raw.headers["anthropic-ratelimit-input-tokens-remaining"]) % 1000 == 0
    assert raw.headers["request-id"].startswith("req_")
