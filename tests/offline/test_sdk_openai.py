"""The real OpenAI SDK against the offline provider."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from ctxtui.offline import RunningProvider, SetClock
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import parse_stream
from tests.offline.loop import CHAT_TOOLS, RESPONSES_TOOLS, chat_loop, responses_loop

TASK = "Read a.txt and b.txt, then find port in b.txt. Which port is it?"
LONG = "All work and no play makes a dull prompt. " * 300
HELLO: Any = [{"role": "user", "content": "hello"}]


def test_a_task_is_done_in_chat(gpt: openai.OpenAI, running: RunningProvider) -> None:
    _, answers = chat_loop(gpt, TASK)
    assert [a.choices[0].finish_reason for a in answers] == ["tool_calls", "tool_calls", "stop"]
    assert len(answers[0].choices[0].message.tool_calls) == 2
    assert "`the port is 8080`" in answers[-1].choices[0].message.content
    assert {seen.rule for seen in running.server.seen} == {""}


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("model", ["offline", "gpt-5.4", "gpt-4.1"])
def test_a_task_is_done_in_responses(gpt: openai.OpenAI, store: bool, model: str) -> None:
    answers = responses_loop(gpt, TASK, store=store, model=model)
    assert [a.status for a in answers] == ["completed"] * 3
    assert "`the port is 8080`" in answers[-1].output_text
    kinds = [item.type for item in answers[0].output]
    assert kinds == (["reasoning"] if model != "gpt-4.1" else []) + ["message", "function_call", "function_call"]


def test_what_is_kept(gpt: openai.OpenAI) -> None:
    first = gpt.responses.create(model="offline", input="read a.txt", tools=RESPONSES_TOOLS)
    assert gpt.responses.retrieve(first.id).id == first.id
    assert [item.type for item in gpt.responses.input_items.list(first.id)] == ["message"]
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
        gpt.responses.create(model="offline", input="and?", previous_response_id=first.id)
    gpt.responses.delete(first.id)
    with pytest.raises(openai.BadRequestError) as lost:
        gpt.responses.create(model="offline", input="and?", previous_response_id=first.id)
    assert lost.value.code == "previous_response_not_found"
    with pytest.raises(openai.NotFoundError):
        gpt.responses.retrieve(first.id)
    with pytest.raises(openai.NotFoundError, match="not found"):
        gpt.responses.create(model="offline", input=[{"type": "item_reference", "id": first.output[-1].id}])


def test_every_answer_and_event_is_of_the_sdks_types(gpt: openai.OpenAI) -> None:
    read: Any = [{"role": "user", "content": "read a.txt"}]
    for tools in (CHAT_TOOLS, openai.NOT_GIVEN):
        whole = gpt.chat.completions.with_raw_response.create(model="offline", messages=read, tools=tools, n=2)
        ChatCompletion.model_validate(json.loads(whole.text))
    asked: Any = {"model": "offline", "messages": read, "tools": CHAT_TOOLS, "stream_options": {"include_usage": True}}
    with gpt.chat.completions.with_streaming_response.create(stream=True, **asked) as raw:
        body = b"".join(raw.iter_bytes())
    for event in parse_stream(body):
        if event.data != "[DONE]":
            ChatCompletionChunk.model_validate(event.value())
    reader = DIALECTS["openai_chat"].stream_reader()
    reader.feed(parse_stream(body))
    assert (reader.response().complete, reader.response().stop_reason) == (True, "tool_calls")
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    items: Any = {"model": "offline", "input": "read a.txt", "tools": RESPONSES_TOOLS, "reasoning": {"summary": "auto"}}
    Response.model_validate(json.loads(gpt.responses.with_raw_response.create(**items).text))
    with gpt.responses.with_streaming_response.create(stream=True, **items) as raw:
        body = b"".join(raw.iter_bytes())
    numbers = [adapter.validate_python(event.value()).sequence_number for event in parse_stream(body)]
    assert numbers == list(range(len(numbers)))
    reader = DIALECTS["openai_responses"].stream_reader()
    reader.feed(parse_stream(body))
    assert reader.response().complete


def test_stream_and_whole_say_the_same(gpt: openai.OpenAI) -> None:
    whole = gpt.chat.completions.create(model="gpt-5.4", messages=HELLO)
    with gpt.chat.completions.stream(model="gpt-5.4", messages=HELLO, stream_options={"include_usage": True}) as stream:
        streamed = stream.get_final_completion()
    assert streamed.choices[0].message.content == whole.choices[0].message.content
    assert streamed.usage == whole.usage
    first = gpt.responses.create(model="gpt-5.4", input="hello")
    with gpt.responses.stream(model="gpt-5.4", input="hello") as events:
        second = events.get_final_response()
    assert (second.output_text, second.usage) == (first.output_text, first.usage)


def test_structured_output(gpt: openai.OpenAI) -> None:
    class Port(BaseModel):
        host: str
        ports: list[int]

    parsed = gpt.chat.completions.parse(model="offline", messages=HELLO, response_format=Port)
    assert parsed.choices[0].message.parsed == Port(host="hello", ports=[])
    again = gpt.responses.parse(model="offline", input="hello", text_format=Port)
    assert again.output_parsed == Port(host="hello", ports=[])


def test_limits_of_an_answer(gpt: openai.OpenAI) -> None:
    say: Any = [{"role": "user", "content": "say 500 words"}]
    chat = gpt.chat.completions.create(model="gpt-4.1", messages=say, max_tokens=20, stop=["zebra"])
    assert (chat.choices[0].finish_reason, chat.usage and chat.usage.completion_tokens) == ("length", 20)
    cut = gpt.responses.create(model="gpt-4.1", input="say 500 words", max_output_tokens=20)
    assert (cut.status, cut.incomplete_details and cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    with gpt.responses.stream(model="gpt-4.1", input="say 500 words", max_output_tokens=20) as stream:
        kinds = [event.type for event in stream]
    assert kinds[-1] == "response.incomplete"


def test_the_window(gpt: openai.OpenAI) -> None:
    text = "word " * 129_000
    with pytest.raises(openai.BadRequestError) as chat:
        gpt.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
    assert chat.value.code == "context_length_exceeded"
    items: Any = [{"role": "user", "content": text}, {"role": "user", "content": "hello"}]
    with pytest.raises(openai.BadRequestError, match="exceeds the context window"):
        gpt.responses.create(model="gpt-4o", input=items)
    shorter = gpt.responses.create(model="gpt-4o", input=items, truncation="auto")
    assert shorter.usage and shorter.usage.input_tokens < 100


def test_automatic_cache(gpt: openai.OpenAI) -> None:
    talk: Any = [{"role": "system", "content": LONG}, *HELLO]
    first = gpt.chat.completions.create(model="gpt-5.1", messages=talk).usage
    second = gpt.chat.completions.create(model="gpt-5.1", messages=[*talk, *HELLO]).usage
    assert first and second and first.prompt_tokens_details and second.prompt_tokens_details
    assert first.prompt_tokens_details.cached_tokens == 0
    cached = second.prompt_tokens_details.cached_tokens
    assert cached and cached % 128 == 0 and first.prompt_tokens - 128 <= cached <= first.prompt_tokens


def test_cache_with_breakpoints(gpt: openai.OpenAI, running: RunningProvider) -> None:
    clock = running.server.provider.clock
    assert isinstance(clock, SetClock)

    def details() -> tuple[int, int]:
        usage = gpt.responses.create(model="gpt-5.6", instructions=LONG, input="hello").usage
        assert usage
        told = usage.input_tokens_details
        assert told.cached_tokens + told.cache_write_tokens <= usage.input_tokens
        return told.cached_tokens, told.cache_write_tokens

    read, written = details()
    assert (read, written > 1024) == (0, True)
    assert details() == (written, 0)
    clock.advance(1801)
    assert details() == (0, written)


def test_counts(gpt: openai.OpenAI) -> None:
    counted = gpt.responses.input_tokens.count(model="gpt-5.4", input=LONG, tools=RESPONSES_TOOLS).input_tokens
    used = gpt.responses.create(model="gpt-5.4", input=LONG, tools=RESPONSES_TOOLS).usage
    assert used and used.input_tokens == counted


def test_reasoning_of_earlier_turns(gpt: openai.OpenAI) -> None:
    first = gpt.responses.create(model="gpt-5.4", input="hello")
    second = gpt.responses.create(model="gpt-5.4", input="and?", previous_response_id=first.id)
    told = second.input_transformations
    assert told and [(one.action, one.reason, one.id) for one in told] == [
        ("removed", "turn_boundary", first.output[0].id)
    ]
    newer = gpt.responses.create(model="gpt-5.6", input="hello")
    assert (
        gpt.responses.create(model="gpt-5.6", input="and?", previous_response_id=newer.id).input_transformations is None
    )


def test_any_model_and_any_output_limit(gpt: openai.OpenAI) -> None:
    for model in ("qwen3-coder-plus", "gpt-5.6", "gpt-4.1"):
        said = gpt.chat.completions.create(model=model, messages=HELLO, max_tokens=10**6)
        assert (said.model, said.choices[0].finish_reason) == (model, "stop")
        told = gpt.responses.create(model=model, input="hello", max_output_tokens=10**6)
        assert (told.model, told.status) == (model, "completed")
    assert gpt.models.retrieve("qwen3-coder-plus").id == "qwen3-coder-plus"


def test_errors(gpt: openai.OpenAI, running: RunningProvider) -> None:
    running.server.provider.strict_models = True
    with pytest.raises(openai.BadRequestError, match="max_completion_tokens"):
        gpt.chat.completions.create(model="gpt-5.6", messages=HELLO, max_tokens=100)
    with pytest.raises(openai.BadRequestError) as caught:
        gpt.chat.completions.create(model="offline", messages=[{"role": "tool", "tool_call_id": "x", "content": "y"}])
    assert caught.value.param == "messages.[0].role"
    assert caught.value.request_id and caught.value.request_id.startswith("req_")
    with pytest.raises(openai.NotFoundError) as unknown:
        gpt.chat.completions.create(model="gpt-none", messages=HELLO)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        gpt.responses.create(model="gpt-none", input="hello")
    with pytest.raises(openai.AuthenticationError):
        gpt.with_options(api_key="invalid").responses.create(model="offline", input="hello")
    with pytest.raises(openai.NotFoundError):
        gpt.models.retrieve("gpt-none")
    assert next(iter(gpt.models.list())).id == "offline"
    assert gpt.models.retrieve("offline").owned_by == "ctxtui"
    with pytest.raises(openai.NotFoundError):
        gpt.responses.create(model="offline", input="x", conversation="conv_1")
    assert running.server.seen[-1].rule == "conversation"
