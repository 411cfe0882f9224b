"""The offline provider's Messages API: requests in, messages or streams out (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core import canonical
from ctxtui.core.block import from_part, make
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import CALLS, END, LENGTH, STOP, ModelAnswer, PlainText, Thought, limit_answer
from ctxtui.offline.anthropic import message_threads
from ctxtui.offline.anthropic.context_edits import apply_edits, map_blocks
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.anthropic.thinking import CONTROLS, AnswerSigner, CheckedThinking, check_thinking
from ctxtui.offline.anthropic.validate import SAFEGUARD, VERSIONS, refusals
from ctxtui.offline.conversation import read_task
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, named_event, named_events, split_text
from ctxtui.offline.model import AnswerOptions
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest, output_tokens, text_counter
from ctxtui.wire.grammar import ANTHROPIC


def content_of(
    provider: Provider, request: ApiRequest, answer: ModelAnswer, last_signature: str
) -> Iterator[dict[str, Json]]:
    """The blocks of an answer; `last_signature`: of the thinking before the answer ("": none)."""
    shown = as_dict(request.body.get("thinking")).get("display") != "omitted"
    signer = AnswerSigner(request.body, last_signature)
    for part in answer.parts:
        block: dict[str, Json]
        if isinstance(part, Thought):
            text = part.text if shown else ""
            block = {"type": "thinking", "thinking": text, "signature": signer.sign(part.text)}
        elif isinstance(part, PlainText):
            block = {"type": "text", "text": part.text, "citations": None}
        else:
            id_ = provider.names.new("toolu_01")
            block = {"type": "tool_use", "id": id_, "name": part.name, "input": part.arguments}
        signer.add(block)
        yield block


def usage_of(request: ApiRequest, outcome: CacheOutcome, content: list[dict[str, Json]]) -> dict[str, Json]:
    writes = dict(outcome.writes)
    # Thinking counts in full even if its text is omitted: the signature has the same number of tokens.
    thoughts = [from_part(block) for block in content if block["type"] == "thinking"]
    thinking_tokens = output_tokens(request.model, thoughts) if thoughts else 0
    spoken_blocks = [
        make(b["type"], b) if b["type"] == "tool_use" else from_part(b) for b in content if b["type"] != "thinking"
    ]
    spoken_tokens = output_tokens(request.model, spoken_blocks) if spoken_blocks else 0
    return {
        "input_tokens": outcome.fresh,
        "cache_creation_input_tokens": outcome.written,
        "cache_read_input_tokens": outcome.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": writes.get(300.0, 0),
            "ephemeral_1h_input_tokens": writes.get(3600.0, 0),
        },
        "output_tokens": thinking_tokens + spoken_tokens,
        "output_tokens_details": {"thinking_tokens": thinking_tokens},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def events(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The events that stream `message`."""
    begun = {**message["usage"], "output_tokens": 1, "output_tokens_details": None}
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": begun}
    start.pop("context_management", None)
    start.pop("safeguard_results", None)
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _opened_block(block)}
        if index == 0:
            yield {"type": "ping"}
        for delta in _block_deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    omitted = ("cache_creation", "service_tier", "inference_geo")
    final_usage = {key: value for key, value in message["usage"].items() if key not in omitted}
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    if "safeguard_results" in message:
        delta["safeguard_results"] = message["safeguard_results"]
    end = {"type": "message_delta", "delta": delta, "usage": final_usage}
    if "context_management" in message:
        end["context_management"] = message["context_management"]
    yield end
    yield {"type": "message_stop"}


def _opened_block(block: dict[str, Json]) -> dict[str, Json]:
    empty: dict[str, dict[str, Json]] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _block_deltas(block: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if block["type"] == "thinking":
        for piece in split_text(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        for piece in split_text(block["text"]):
            yield {"type": "text_delta", "text": piece}
    else:
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in split_text(dump_text(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}


_STOP_REASONS: Final = {END: "end_turn", CALLS: "tool_use", LENGTH: "max_tokens", STOP: "stop_sequence"}
_ERROR_TYPES: Final = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class PreparedRequest(NamedTuple):
    """A request as its `model` reads it.

    - `checked`: the result of the check of its thinking.
    - `applied`: the provider's report on the context edits that it applied; `tokens_before`: input tokens before them.
    """

    weighed: WeighedRequest
    checked: CheckedThinking
    model: Claude
    applied: list[Json]
    tokens_before: int


def format_error(refusal: Refusal, request_id: str) -> Json:
    error_body: dict[str, Json] = {"type": _ERROR_TYPES.get(refusal.status, refusal.type), "message": refusal.message}
    if refusal.code:
        error_body["details"] = {"error_code": refusal.code}
    return {"type": "error", "error": error_body, "request_id": request_id}


def betas_of(request: ApiRequest) -> tuple[str, ...]:
    return tuple(name.strip() for name in request.headers.get("anthropic-beta", "").split(",") if name.strip())


def find_refusals(provider: Provider, request: ApiRequest, counting: bool = False) -> list[Refusal]:
    """The reasons to refuse the request, except that it is too long."""
    version = request.headers.get("anthropic-version")
    if version is None:
        return [Refusal("anthropic-version: header is required", rule="version")]
    if version not in VERSIONS:
        return [Refusal(f'anthropic-version: "{version}" is not a valid version', rule="version")]
    expanded = _expand_thread(provider, request)
    if isinstance(expanded, Refusal):
        return [expanded]
    betas, strict = betas_of(request), provider.strict_models
    return refusals(expanded.body, version=version, betas=betas, counting=counting, strict=strict)


def _expand_thread(provider: Provider, request: ApiRequest) -> ApiRequest | Refusal:
    """The request with the messages of its thread; unchanged without the beta for threads."""
    if not any(name.startswith(message_threads.BETA) for name in betas_of(request)):
        return request
    return provider.threads.expand(request, provider.now())


def count_tokens(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    expanded = _expand_thread(provider, request)
    if isinstance(expanded, Refusal):
        return expanded
    prepared = _prepare(provider, expanded)
    if prepared.weighed.tokens > prepared.model.window:
        return _refuse_too_long(prepared.weighed, prepared.model)
    body: dict[str, Json] = {"input_tokens": prepared.weighed.tokens}
    if request.body.get("context_management") is not None:
        body["context_management"] = {"original_input_tokens": prepared.tokens_before}
    return Reply(body=body)


def create_message(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """Answer a request: the message and its stream; a refusal if the prompt is too long."""
    expanded = _expand_thread(provider, request)
    if isinstance(expanded, Refusal):
        return expanded
    request = expanded
    prepared = _prepare(provider, request)
    weighed, checked, model = prepared.weighed, prepared.checked, prepared.model
    if weighed.tokens > model.window:
        return _refuse_too_long(weighed, model)
    now = provider.now()
    outcome = provider.ledger.predict(weighed, request.model, now, provider="anthropic", betas=betas_of(request))
    answer, stop = _make_answer(provider, request, weighed, model)
    content = list(content_of(provider, request, answer, checked.last_signature))
    usage = usage_of(request, outcome, content)
    message = {
        "id": provider.names.new("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": answer.stop or None,
        "stop_details": None,
        "usage": usage,
    }
    if CONTROLS in betas_of(request):
        message["input_transformations"] = checked.transformations
    if request.body.get("context_management") is not None:
        message["context_management"] = {"applied_edits": prepared.applied}
    provider.threads.store(request, message, now)
    if request.body.get("safeguards") is not None:
        # Calls are not checked, and none is flagged.
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        uses = {id_: {"type": "evaluated", "outcome": "not_flagged"} for id_ in calls}
        message["safeguard_results"] = [{"type": SAFEGUARD, "status": {"type": "available", "tool_uses": uses}}]
    provider.limits.count_request(now, outcome.fresh + outcome.written, usage["output_tokens"])
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return Reply(
        body=message,
        events=named_events(events(message)) if request.streams else None,
        headers=provider.limits.anthropic_headers(now),
        begin=lambda: provider.ledger.record(outcome, provider.now()),
        output_tokens=usage["output_tokens"],
        failure_event=named_event("error", failure),
    )


def _prepare(provider: Provider, request: ApiRequest) -> PreparedRequest:
    model = claude(request.model, provider.strict_models)
    assert model is not None
    checked = check_thinking(request.body, model, betas_of(request))
    dropped = checked.dropped
    body = (
        map_blocks(request.body, lambda n, m, block: None if (n, m) in dropped else block) if dropped else request.body
    )

    def weigh(edited: dict[str, Json]) -> WeighedRequest:
        raw = request.raw if edited is request.body else canonical.dumps(edited)
        return provider.ledger.weigh(ANTHROPIC, raw, request.model)

    read_body, applied = apply_edits(body, model, lambda edited: weigh(edited).tokens)
    weighed = weigh(read_body)
    return PreparedRequest(weighed, checked, model, applied, weigh(body).tokens if applied else weighed.tokens)


def _refuse_too_long(weighed: WeighedRequest, model: Claude) -> Refusal:
    return Refusal(f"prompt is too long: {weighed.tokens} tokens > {model.window} maximum", rule="context window")


def _make_answer(
    provider: Provider, request: ApiRequest, weighed: WeighedRequest, model: Claude
) -> tuple[ModelAnswer, str]:
    max_tokens = int(request.body["max_tokens"])
    if max_tokens == 0:
        return ModelAnswer((), LENGTH), "max_tokens"
    room = model.window - weighed.tokens
    task = read_task(weighed.request)
    stops = [stop for stop in as_list(request.body.get("stop_sequences")) if isinstance(stop, str)]
    full = provider.make_answer(weighed.request, task, _answer_options(request, model))
    answer = limit_answer(full, stops, min(max_tokens, room), text_counter(request.model))
    if answer.ended == LENGTH and room < max_tokens:
        return answer, "model_context_window_exceeded"
    return answer, _STOP_REASONS[answer.ended]


def _answer_options(request: ApiRequest, model: Claude) -> AnswerOptions:
    choice, thinking = as_dict(request.body.get("tool_choice")), as_dict(request.body.get("thinking"))
    kind = choice.get("type")
    form = as_dict(as_dict(request.body.get("output_config")).get("format"))
    return AnswerOptions(
        forced_tool="*" if kind == "any" else str(choice["name"]) if kind == "tool" else "",
        may_call=kind != "none",
        parallel=choice.get("disable_parallel_tool_use") is not True,
        thinks=thinking.get("type") in ("adaptive", "enabled") or (not thinking and model.thinks),
        schema=form.get("schema"),
        model=request.model,
    )
