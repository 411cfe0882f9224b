"""The offline provider's Chat Completions: requests in, answers or streams out (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core import canonical
from ctxtui.core.block import from_part
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import CALLS, END, LENGTH, STOP, AnsweredCall, ModelAnswer, Thought, limit_answer
from ctxtui.offline.conversation import read_task
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, data_event, split_text
from ctxtui.offline.json_shape import clamp
from ctxtui.offline.model import AnswerOptions
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_chat import MAX_CHOICES, refusals
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest, output_tokens, text_counter
from ctxtui.wire.grammar import CHAT

# OpenAI has one reason for the model's own end and for a stop sequence.
_FINISH_REASONS: Final = {END: "stop", CALLS: "tool_calls", LENGTH: "length", STOP: "stop"}
MAX_OUTPUT_TOKENS: Final = 200_000
"""Maximum tokens of all choices of a request together."""
_CHUNK_MEMBERS: Final = ("id", "created", "model", "service_tier", "system_fingerprint")
_ERROR_TYPES: Final = {
    429: ("rate_limit_exceeded", "tokens"),
    500: ("server_error", "server_error"),
    503: ("server_error", "server_error"),
    529: ("server_error", "server_error"),
}
_BROKEN: Final = {
    "error": {"message": "The server had an error while processing your request.", "type": "server_error"}
}


def find_refusals(provider: Provider, request: ApiRequest) -> list[Refusal]:
    """The reasons to refuse the request, except that it is too long."""
    return refusals(request.body, strict=provider.strict_models)


def create_completion(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """The reply to a Chat request; a refusal if it is longer than the window."""
    model = gpt(request.model, provider.strict_models)
    assert model is not None
    weighed = provider.ledger.weigh(CHAT, request.raw, request.model)
    if weighed.tokens > model.window:
        return _refuse_too_long(weighed, model)
    return complete(provider, request, weighed, model, "openai")


def complete(provider: Provider, request: ApiRequest, weighed: WeighedRequest, model: Gpt, host: str) -> Reply:
    """The reply to a request that fits the window, also of a local server.

    `host` is the provider whose caching rules apply: ``openai``, or the kind of local server.
    """
    now = provider.now()
    outcome = provider.ledger.predict(weighed, request.model, now, provider=host)
    count = clamp(request.body.get("n"), 1, MAX_CHOICES)
    # The choices of one request are equal.
    choices = [_make_answer(provider, request, weighed, model, MAX_OUTPUT_TOKENS // count)] * count
    messages = [_make_message(provider, answer) for answer in choices]
    usage = _make_usage(request, outcome, choices, messages, model)
    completion = {
        "id": provider.names.new("chatcmpl-", 29),
        "object": "chat.completion",
        "created": int(now),
        "model": request.model,
        "choices": [
            {"index": n, "message": message, "logprobs": None, "finish_reason": _FINISH_REASONS[answer.ended]}
            for n, (message, answer) in enumerate(zip(messages, choices, strict=True))
        ],
        "usage": usage,
        "service_tier": "default",
        "system_fingerprint": "fp_ctxtui_offline",
    }
    provider.limits.count_request(now, usage["prompt_tokens"], usage["completion_tokens"])
    with_usage = as_dict(request.body.get("stream_options")).get("include_usage") is True
    return Reply(
        body=completion,
        events=tuple(chunks(completion, with_usage)) if request.streams else None,
        headers=provider.limits.openai_headers(now),
        begin=lambda: provider.ledger.record(outcome, provider.now()),
        output_tokens=usage["completion_tokens"],
        failure_event=data_event(_BROKEN),
    )


def _refuse_too_long(weighed: WeighedRequest, model: Gpt) -> Refusal:
    message = (
        f"This model's maximum context length is {model.window} tokens. However, your messages resulted in "
        f"{weighed.tokens} tokens. Please reduce the length of the messages."
    )
    return Refusal(message, param="messages", code="context_length_exceeded", rule="context window")


def _make_answer(
    provider: Provider, request: ApiRequest, weighed: WeighedRequest, model: Gpt, limit: int
) -> ModelAnswer:
    body = request.body
    requested = body.get("max_completion_tokens") or body.get("max_tokens") or model.max_output
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else as_list(body.get("stop"))
    answer = provider.make_answer(weighed.request, read_task(weighed.request), _answer_options(request, model))
    max_tokens = min(clamp(requested, model.max_output, limit), model.window - weighed.tokens)
    return limit_answer(
        answer, [stop for stop in stops if isinstance(stop, str)], max_tokens, text_counter(request.model)
    )


def _answer_options(request: ApiRequest, model: Gpt) -> AnswerOptions:
    body, choice = request.body, request.body.get("tool_choice")
    named = as_dict(as_dict(choice).get("function")).get("name")
    form = as_dict(as_dict(body.get("response_format")).get("json_schema")).get("schema")
    if as_dict(body.get("response_format")).get("type") == "json_object":
        form = {"type": "object"}
    return AnswerOptions(
        forced_tool="*" if choice == "required" else str(named or ""),
        may_call=choice != "none",
        parallel=body.get("parallel_tool_calls") is not False,
        thinks=model.reasons and body.get("reasoning_effort") != "none",
        schema=form,
        model=request.model,
    )


def _make_message(provider: Provider, answer: ModelAnswer) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": answer.text or None, "refusal": None, "annotations": []}
    if not answer.text and not answer.calls:
        message["content"] = ""
    if answer.calls:
        message["tool_calls"] = [_make_call(provider, call) for call in answer.calls]
    return message


def _make_call(provider: Provider, call: AnsweredCall) -> dict[str, Json]:
    inner = {"name": call.name, "arguments": canonical.dump_text(call.arguments)}
    return {"id": provider.names.new("call_"), "type": "function", "function": inner}


def _make_usage(
    request: ApiRequest, outcome: CacheOutcome, choices: list[ModelAnswer], messages: list[dict[str, Json]], model: Gpt
) -> dict[str, Json]:
    count = text_counter(request.model)
    reasoning = sum(count(p.text) for answer in choices for p in answer.parts if isinstance(p, Thought))
    blocks = [from_part({"type": "text", "text": m["content"]}) for m in messages if m["content"]]
    blocks += [from_part({**call, "type": "tool_call"}) for m in messages for call in m.get("tool_calls", ())]
    output = reasoning + output_tokens(request.model, blocks)
    details = {"cached_tokens": outcome.read, "audio_tokens": 0}
    if model.breakpoints:
        details["cache_write_tokens"] = outcome.written
    return {
        "prompt_tokens": outcome.total,
        "completion_tokens": output,
        "total_tokens": outcome.total + output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {
            "reasoning_tokens": reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def chunks(completion: dict[str, Json], with_usage: bool) -> Iterator[bytes]:
    """The chunks of a streamed `completion`; `with_usage`: the last one has its usage."""
    base: dict[str, Json] = {key: completion[key] for key in _CHUNK_MEMBERS if key in completion}
    base |= {"object": "chat.completion.chunk"} | ({"usage": None} if with_usage else {})

    def chunk(index: int, delta: dict[str, Json], reason: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
        return data_event({**base, "choices": [choice]})

    for choice in completion["choices"]:
        index, message = choice["index"], choice["message"]
        calls = message.get("tool_calls", [])
        # OpenAI opens a message that has only calls with null.
        opening = None if calls and not message["content"] else ""
        yield chunk(index, {"role": "assistant", "content": opening, "refusal": None})
        for piece in split_text(message["content"] or ""):
            yield chunk(index, {"content": piece})
        for n, call in enumerate(calls):
            head = {"index": n, "id": call["id"], "type": "function"}
            inner = {"name": call["function"]["name"], "arguments": ""}
            yield chunk(index, {"tool_calls": [{**head, "function": inner}]})
            for piece in split_text(call["function"]["arguments"]):
                yield chunk(index, {"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
        yield chunk(index, {}, choice["finish_reason"])
    # llama.cpp's timings, which `offline.local` adds.
    base |= {"timings": completion["timings"]} if "timings" in completion else {}
    if with_usage:
        yield data_event({**base, "choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def format_error(refusal: Refusal, _request_id: str) -> Json:
    """The body of an error, the same in both of OpenAI's dialects."""
    code, kind = refusal.code, refusal.type
    if refusal.status in _ERROR_TYPES:
        default, kind = _ERROR_TYPES[refusal.status]
        code = code or default
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}}
