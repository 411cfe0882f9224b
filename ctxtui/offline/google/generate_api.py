"""Google's generateContent, streamGenerateContent and countTokens: requests in, answers out."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core import canonical
from ctxtui.core.block import make
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import CALLS, END, LENGTH, STOP, AnsweredCall, ModelAnswer, PlainText, Thought, limit_answer
from ctxtui.offline.conversation import read_task
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, compact, split_text
from ctxtui.offline.google import cached_contents
from ctxtui.offline.google.models import Gemini, gemini
from ctxtui.offline.google.validate import refusals, shape_refusals, to_camel_case
from ctxtui.offline.json_shape import clamp, fields
from ctxtui.offline.model import AnswerOptions
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest, output_tokens, text_counter
from ctxtui.wire.google_parts import part_kind
from ctxtui.wire.grammar import GOOGLE

SSE: Final = "text/event-stream"
LIST: Final = "application/json"
THOUGHT_TITLE: Final = "**Working it out**"
"""Google's summaries of thoughts begin with a title, which clients show."""
_FINISH_REASONS: Final = {END: "STOP", CALLS: "STOP", LENGTH: "MAX_TOKENS", STOP: "STOP"}
_STATUSES: Final = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE",
}  # fmt: skip
_COUNTED: Final = fields(
    "model string, contents array|object, generateContentRequest object, systemInstruction object, tools array|object, "
    "generationConfig object"
)
_BROKEN: Final[Json] = {
    "error": {"code": 500, "message": "An internal error has occurred. Please retry.", "status": "INTERNAL"}
}


class Target(Struct, frozen=True):
    """The contents of a request's URL: the model, and whether and how to stream.

    A stream is sent as server-sent events (`sse`) or as a JSON list.
    """

    model: str
    streams: bool = False
    sse: bool = False


def format_error(refusal: Refusal, _request_id: str) -> Json:
    status = _STATUSES.get(refusal.status, "UNKNOWN")
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def find_refusals(provider: Provider, request: ApiRequest, target: Target) -> list[Refusal]:
    """The reasons to refuse a request for an answer, except that it is too long."""
    model = gemini(target.model, provider.strict_models)
    if model is None:
        return [_refuse_unknown_model(target.model)]
    cached = cached_contents.find_named(provider, request.body)
    if isinstance(cached, Refusal):
        return [cached]
    if cached is not None:
        conflicts = cached_contents.find_conflicts(cached, to_camel_case(request.body), target.model)
        if conflicts:
            return conflicts
    return refusals(cached_contents.merge(request.body, cached), model)


def _refuse_unknown_model(model: str) -> Refusal:
    message = f"models/{model} is not found for API version v1beta, or is not supported for generateContent. Call "
    message += "ListModels to see the list of available models and their supported methods."
    return Refusal(message, 404, rule="unknown model")


def generate(provider: Provider, request: ApiRequest, target: Target) -> Reply | Refusal:
    """The answer to a request, whole or as a stream; a refusal if it is too long."""
    model = gemini(target.model, provider.strict_models)
    assert model is not None
    cached = cached_contents.find_named(provider, request.body)
    assert not isinstance(cached, Refusal)
    raw = request.raw if cached is None else canonical.dumps(cached_contents.merge(request.body, cached))
    weighed = provider.ledger.weigh(GOOGLE, raw, target.model)
    if weighed.tokens > model.window:
        message = f"The input token count ({weighed.tokens}) exceeds the maximum number of tokens allowed"
        return Refusal(f"{message} ({model.window}).", rule="context window")
    now = provider.now()
    outcome = provider.ledger.predict(weighed, target.model, now, provider=GOOGLE)
    answer = _make_answer(provider, request, weighed, model)
    parts = list(_answer_parts(provider, answer, _generation_config(request), model))
    usage = _make_usage(outcome, answer, parts, model, cached.tokens if cached is not None else 0)
    top = {
        "usageMetadata": usage,
        "modelVersion": target.model,
        "responseId": provider.names.new("", 22),
    }
    reason = _FINISH_REASONS[answer.ended]
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}
    output = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
    provider.limits.count_request(now, outcome.total, output)
    return Reply(
        body={"candidates": [candidate], **top},
        events=tuple(_stream_chunks(parts, reason, top, target.sse)) if target.streams else None,
        media_type=SSE if target.sse else LIST,
        begin=lambda: provider.ledger.record(outcome, provider.now()),
        output_tokens=output,
        failure_event=b"data: " + compact(_BROKEN) + b"\r\n\r\n" if target.sse else b",\r\n" + compact(_BROKEN) + b"]",
    )


def _generation_config(request: ApiRequest) -> dict[str, Json]:
    return dict(as_dict(to_camel_case(as_dict(to_camel_case(request.body)).get("generationConfig"))))


def _make_answer(provider: Provider, request: ApiRequest, weighed: WeighedRequest, model: Gemini) -> ModelAnswer:
    config, choice = _generation_config(request), _function_choice(request)
    answer = provider.make_answer(weighed.request, read_task(weighed.request), _answer_options(config, choice, model))
    room = max(1, model.window - weighed.tokens)
    max_tokens = min(clamp(config.get("maxOutputTokens"), model.max_output, model.max_output), room)
    stops = [stop for stop in as_list(config.get("stopSequences")) if isinstance(stop, str)]
    return limit_answer(answer, stops, max_tokens, text_counter(model.id))


def _function_choice(request: ApiRequest) -> dict[str, Json]:
    tools = as_dict(to_camel_case(as_dict(to_camel_case(request.body)).get("toolConfig")))
    return dict(as_dict(to_camel_case(tools.get("functionCallingConfig"))))


def _answer_options(config: dict[str, Json], choice: dict[str, Json], model: Gemini) -> AnswerOptions:
    allowed = as_list(choice.get("allowedFunctionNames"))
    forced = ("*" if len(allowed) != 1 else str(allowed[0])) if choice.get("mode") == "ANY" else ""
    form = config.get("responseJsonSchema") or config.get("responseSchema")
    if form is None and config.get("responseMimeType") == "application/json":
        form = {"type": "object"}
    thinking = as_dict(to_camel_case(config.get("thinkingConfig")))
    return AnswerOptions(
        forced_tool=forced,
        may_call=choice.get("mode") != "NONE",
        thinks=model.thinks and thinking.get("thinkingBudget") != 0,
        schema=form,
        model=model.id,
    )


def _answer_parts(
    provider: Provider, answer: ModelAnswer, config: dict[str, Json], model: Gemini
) -> Iterator[dict[str, Json]]:
    """The answer's parts: thoughts only if requested.

    The first call has a signature if `model` signs its calls.
    """
    includes_thoughts = as_dict(to_camel_case(config.get("thinkingConfig"))).get("includeThoughts") is True
    signs = model.signs
    for part in answer.parts:
        if isinstance(part, Thought):
            if includes_thoughts:
                yield {"text": f"{THOUGHT_TITLE}\n\n{part.text}", "thought": True}
        elif isinstance(part, PlainText):
            yield {"text": part.text}
        else:
            call = {"name": part.name, "args": _call_arguments(part), "id": provider.names.new("", 8)}
            signature = {"thoughtSignature": sign(call)} if signs else {}
            signs = False
            yield {"functionCall": call, **signature}


def _call_arguments(call: AnsweredCall) -> Json:
    return call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}


def sign(call: Json) -> str:
    return base64.b64encode(canonical.digest(canonical.dumps(call)).encode()).decode()


def _make_usage(
    outcome: CacheOutcome, answer: ModelAnswer, parts: list[dict[str, Json]], model: Gemini, cached: int
) -> dict[str, Json]:
    count = text_counter(model.id)
    thoughts = sum(count(part.text) for part in answer.parts if isinstance(part, Thought))
    blocks = [make(part_kind(part), part) for part in parts if not part.get("thought")]
    output = output_tokens(model.id, blocks)
    # Zeros are left out.
    figures = {
        "promptTokenCount": outcome.total,
        "candidatesTokenCount": output,
        "totalTokenCount": outcome.total + output + thoughts,
        "cachedContentTokenCount": max(outcome.read, cached),
        "thoughtsTokenCount": thoughts,
    }
    details = [{"modality": "TEXT", "tokenCount": outcome.total}]
    return {**{name: number for name, number in figures.items() if number}, "promptTokensDetails": details}


def _stream_chunks(parts: list[dict[str, Json]], reason: str, top: dict[str, Json], sse: bool) -> Iterator[bytes]:
    """Chunks, each an answer with a piece; the last one says why the answer ends."""
    chunks = [piece for part in parts for piece in _split_part(part)] or [{"text": ""}]
    for n, piece in enumerate(chunks):
        is_last = n == len(chunks) - 1
        candidate = {"content": {"parts": [piece], "role": "model"}, "index": 0}
        candidate |= {"finishReason": reason} if is_last else {}
        data = compact({"candidates": [candidate], **top})
        if sse:
            yield b"data: " + data + b"\r\n\r\n"
        else:
            yield (b",\r\n" if n else b"[") + data + (b"]" if is_last else b"")


def _split_part(part: dict[str, Json]) -> list[dict[str, Json]]:
    # A summary of thoughts comes whole.
    if "text" not in part or part.get("thought"):
        return [part]
    # Google streams larger pieces than other providers.
    pieces = split_text(part["text"])
    return [{**part, "text": "".join(pieces[n : n + 8])} for n in range(0, len(pieces), 8)] or [part]


def find_count_refusals(provider: Provider, request: ApiRequest, target: Target) -> list[Refusal]:
    """The reasons to refuse a request for a token count."""
    body = to_camel_case(request.body)
    refusals = list(shape_refusals(body, _COUNTED, ()))
    inner = as_dict(body).get("generateContentRequest")
    return refusals or find_refusals(
        provider, ApiRequest(request.raw, inner or dict(as_dict(body)), request.headers), target
    )


def count_tokens(provider: Provider, request: ApiRequest, target: Target) -> Reply | Refusal:
    body = as_dict(to_camel_case(request.body))
    inner = as_dict(body.get("generateContentRequest")) or body
    cached = cached_contents.find_named(provider, inner)
    full_request = cached_contents.merge(inner, None if isinstance(cached, Refusal) else cached)
    weighed = provider.ledger.weigh(GOOGLE, canonical.dumps(full_request), target.model)
    return Reply(
        body={
            "totalTokens": weighed.tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": weighed.tokens}],
        }
    )
