"""``/v1/chat/completions`` of a local server (facts §5)."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply
from ctxtui.offline.json_shape import members
from ctxtui.offline.local.prompt import fitted
from ctxtui.offline.local.servers import LLAMA_CPP, LM_STUDIO, OLLAMA, VLLM, Local, rules, serving
from ctxtui.offline.openai.chat_api import chunks, completed
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest
from ctxtui.wire.grammar import CHAT


def completions(local: Local, provider: Provider, asked: ApiRequest) -> Reply | Refusal:
    """The reply of a local server."""
    model = serving(local, asked)
    # A server with one model answers with it whatever is named.
    asked = replace(asked, body={**asked.body, "model": model.name})

    def weigh(raw: bytes) -> WeighedRequest:
        return provider.ledger.weigh(provider.ledger.read(CHAT, raw), asked.model)

    weighed = fitted(asked, model.window, weigh) if local.cuts else weigh(asked.raw)
    if weighed.tokens > model.window and not local.cuts:
        return _too_long(local, weighed.tokens, model.window)
    reply = completed(provider, asked, weighed, rules(model, max(model.window, weighed.tokens)), local.kind)
    body = _as_told(local, reply.body)
    told = members(asked.body.get("stream_options")).get("include_usage") is True
    events = tuple(chunks(body, told)) if asked.streams else None
    return replace(reply, body=body, events=events, headers={})


def input_tokens(local: Local, provider: Provider, asked: ApiRequest) -> Reply:
    """llama.cpp's exact count."""
    request = provider.ledger.read(CHAT, asked.raw)
    return Reply(body={"input_tokens": provider.ledger.weigh(request, serving(local, asked).name).tokens})


def _too_long(local: Local, tokens: int, window: int) -> Refusal:
    if local.kind == LLAMA_CPP:
        told = "the request exceeds the available context size, try increasing it"
        return Refusal(told, 400, "exceed_context_size_error", rule="context window")
    told = (
        f"This model's maximum context length is {window} tokens. However, your request has {tokens} input tokens. "
        "Please reduce the length of the input messages."
    )
    return Refusal(told, 400, "BadRequestError", rule="context window")


def _as_told(local: Local, completion: dict[str, Json]) -> dict[str, Json]:
    """The completion with the figures that this kind of server tells, and no others."""
    usage = completion["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    told = {key: usage[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
    made = {key: value for key, value in completion.items() if key not in ("service_tier", "usage")}
    made |= {"usage": told, "system_fingerprint": "fp_ollama" if local.kind == OLLAMA else None}
    if local.kind == LLAMA_CPP:
        told["prompt_tokens_details"] = {"cached_tokens": cached}
        made["timings"] = {
            "cache_n": cached,
            "prompt_n": usage["prompt_tokens"] - cached,
            "prompt_ms": 1.0,
            "predicted_n": usage["completion_tokens"],
            "predicted_ms": 1.0,
        }
    elif local.kind == VLLM:
        told["prompt_tokens_details"] = {"cached_tokens": cached}
    elif local.kind == LM_STUDIO:
        made["stats"] = {}
    return made
