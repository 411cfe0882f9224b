"""The offline provider as a local server: Ollama, LM Studio, llama.cpp or vLLM (facts §5).

Such servers answer Chat requests, describe their models at paths of their own, and some drop the oldest messages of a
long prompt.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import from_part
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import LENGTH, ModelAnswer, Thought, limit_answer
from ctxtui.offline.conversation import read_task
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, compact, split_text
from ctxtui.offline.http.routes import Serve, ServedRoute
from ctxtui.offline.http.sending import json_response
from ctxtui.offline.json_shape import clamp
from ctxtui.offline.model import AnswerOptions
from ctxtui.offline.openai.chat_api import MAX_OUTPUT_TOKENS, chunks, complete
from ctxtui.offline.openai.models import Gpt
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest, card, encoding, output_tokens, text_counter
from ctxtui.wire import grammar
from ctxtui.wire.registry import encode

OLLAMA: Final = "ollama"
LM_STUDIO: Final = "lm studio"
LLAMA_CPP: Final = "llama.cpp"
VLLM: Final = "vllm"
KINDS: Final = (OLLAMA, LM_STUDIO, LLAMA_CPP, VLLM)
_TRUNCATING: Final = (OLLAMA, LM_STUDIO)


class LocalModel(Struct, frozen=True):
    """A model of a local server.

    `window` is the window that it runs with, `maximum` its largest possible one, in tokens. If it is not `loaded`, LM
    Studio names no window for it, and Ollama does not list it as running.
    """

    name: str = "offline"
    window: int = 4096
    maximum: int = 131_072
    loaded: bool = True


class LocalServer(Struct, frozen=True):
    """The server to simulate: its `kind`, one of `KINDS`, and its models."""

    kind: str
    models: tuple[LocalModel, ...] = (LocalModel(),)

    @property
    def truncates(self) -> bool:
        """Whether it silently drops the oldest messages of a prompt that is too long.

        Other servers refuse such a prompt, and so does Ollama's own API if ``truncate`` is false.
        """
        return self.kind in _TRUNCATING

    def model(self, name: str) -> LocalModel | None:
        """The model named `name`; Ollama's ``:latest`` may be left out."""
        names = (name, f"{name}:latest")
        return next((model for model in self.models if model.name in names), None)


def find_refusals(local: LocalServer, request: ApiRequest, strict: bool) -> list[Refusal]:
    """The reasons of a local server to refuse a request: it accepts nearly everything.

    A model that Ollama or vLLM does not have is refused if `strict`; otherwise the first one answers.
    """
    name = request.body.get("model")
    if local.kind == OLLAMA and not isinstance(name, str):
        return [Refusal("model is required", rule="no model")]
    if strict and local.model(str(name)) is None and local.kind not in (LLAMA_CPP, LM_STUDIO):
        message = f"model '{name}' not found" if local.kind == OLLAMA else f"The model `{name}` does not exist."
        return [Refusal(message, 404, "NotFoundError", rule="unknown model")]
    messages = request.body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(as_dict(message).get("role"), str) for message in messages):
        return [Refusal("messages: a list of objects with a role is required", rule="messages")]
    return []


def find_model(local: LocalServer, request: ApiRequest) -> LocalModel:
    return local.model(str(request.body.get("model"))) or local.models[0]


def chat_rules(model: LocalModel, window: int) -> Gpt:
    """A local model's rules, in the form of the Chat API."""
    return Gpt(
        model.name,
        window=window,
        max_output=window,
        reasons=False,
        max_tokens=True,
        fixed=False,
        breakpoints=False,
        all_turns=True,
        system_role=True,
    )


def format_error(local: LocalServer, refusal: Refusal) -> Json:
    if local.kind == OLLAMA:
        return {"error": refusal.message}
    kind = refusal.type if refusal.status != 429 else "rate_limit_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.status}}


def render_prompt(body: Mapping[str, Json]) -> str:
    """Render `body` with ctxtui's own chat template; the templates of real models differ.

    The prompt has the tools, every message after a mark with its role, and the mark of the answer.
    """
    tools = f"<|tools|>\n{dump_text(body['tools'])}<|end|>\n" if as_list(body.get("tools")) else ""
    messages = "".join(
        f"<|{message.get('role')}|>\n{_message_text(message)}<|end|>\n"
        for message in map(as_dict, as_list(body.get("messages")))
    )
    return f"{tools}{messages}<|assistant|>\n"


def _message_text(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    texts = (
        [str(as_dict(part).get("text", "")) for part in content] if isinstance(content, list) else [str(content or "")]
    )
    calls = [f"\n<|call|>{dump_text(as_dict(call).get('function'))}" for call in as_list(message.get("tool_calls"))]
    return "".join([*texts, *calls])


def fit_window(request: ApiRequest, window: int, weigh: Callable[[bytes], WeighedRequest]) -> WeighedRequest:
    """The request as evaluated in `window` tokens: without the oldest messages if it is longer.

    Every system message and the last message always stay, even if they do not fit.
    """
    weighed = weigh(request.raw)
    messages = as_list(request.body.get("messages"))
    if weighed.tokens <= window or len(messages) < 2:
        return weighed
    low, high = 1, len(messages) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if weigh(_without_oldest(request, middle)).tokens <= window else (middle + 1, high)
    return weigh(_without_oldest(request, low))


def _without_oldest(request: ApiRequest, first: int) -> bytes:
    """The body without the messages before number `first`, except system messages."""
    messages: list[Json] = as_list(request.body.get("messages"))
    kept_messages = [message for n, message in enumerate(messages) if n >= first or message.get("role") == "system"]
    return canonical.dumps({**request.body, "messages": kept_messages})


Listing = Callable[[LocalServer, dict[str, Json]], Json]
"""Makes what a server reports of itself, or of the text in a request's body; None for an unknown model."""

_MODEL_TIME: Final = "2026-11-01T00:00:00Z"
_DETAILS: Final = {"format": "gguf", "family": "offline", "parameter_size": "0B", "quantization_level": "none"}


def _model_listing(row: Callable[[LocalModel], dict[str, Json]], *, loaded: bool = False) -> Listing:
    return lambda local, _: {"models": [row(model) for model in local.models if model.loaded or not loaded]}


def _openai_listing(owner: str, more: Callable[[LocalModel], dict[str, Json]] = lambda _: {}) -> Listing:
    def row(model: LocalModel) -> dict[str, Json]:
        return {"id": model.name, "object": "model", "created": 0, "owned_by": owner, **more(model)}

    return lambda local, _: {"object": "list", "data": [row(model) for model in local.models]}


def _tag_row(model: LocalModel) -> dict[str, Json]:
    named = {"name": model.name, "model": model.name, "size": 4_000_000_000, "digest": "0" * 64}
    return {**named, "details": _DETAILS, "modified_at": _MODEL_TIME}


def _running_row(model: LocalModel) -> dict[str, Json]:
    return {**_tag_row(model), "expires_at": _MODEL_TIME, "size_vram": 0, "context_length": model.window}


def _show_model(local: LocalServer, body: dict[str, Json]) -> Json:
    model = local.model(str(body.get("model") or body.get("name")))
    if model is None:
        return None
    return {
        "modelfile": "",
        "parameters": f"num_ctx                        {model.window}",
        "template": "{{ .Prompt }}",
        "details": _DETAILS,
        "model_info": {"general.architecture": "offline", "offline.context_length": model.maximum},
        "capabilities": ["completion", "tools", "thinking"],
        "modified_at": _MODEL_TIME,
    }


def _studio_v0_row(model: LocalModel) -> dict[str, Json]:
    row = {"id": model.name, "object": "model", "type": "llm", "max_context_length": model.maximum}
    loaded = {"state": "loaded", "loaded_context_length": model.window}
    return row | (loaded if model.loaded else {"state": "not-loaded"})


def _studio_v1_row(model: LocalModel) -> dict[str, Json]:
    instance = {"id": model.name, "config": {"context_length": model.window}}
    row = {"key": model.name, "type": "llm", "display_name": model.name, "max_context_length": model.maximum}
    return row | {"loaded_instances": [instance] if model.loaded else []}


def _server_properties(local: LocalServer, _: dict[str, Json]) -> Json:
    model = local.models[0]
    return {
        "default_generation_settings": {"id": 0, "n_ctx": model.window, "is_processing": False},
        "total_slots": 1,
        "model_path": model.name,
        "chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
    }


def _tokenize(local: LocalServer, text: str) -> list[int]:
    ids: list[int] = encoding(card(local.models[0].name).encoding).encode_ordinary(text)
    return ids


def _vllm_tokenize(local: LocalServer, body: dict[str, Json]) -> Json:
    ids = _tokenize(local, str(body["prompt"]) if "prompt" in body else render_prompt(body))
    return {"count": len(ids), "max_model_len": local.models[0].window, "tokens": ids, "token_strs": None}


LISTINGS: Final[dict[str, dict[str, Listing]]] = {
    OLLAMA: {
        "GET /api/tags": _model_listing(_tag_row),
        "GET /api/ps": _model_listing(_running_row, loaded=True),
        "GET /api/version": lambda *_: {"version": "0.0.0-ctxtui-offline"},
        "GET /v1/models": _openai_listing("library"),
        "POST /api/show": _show_model,
    },
    LM_STUDIO: {
        "GET /api/v0/models": lambda local, _: {"object": "list", "data": [*map(_studio_v0_row, local.models)]},
        "GET /api/v1/models": _model_listing(_studio_v1_row),
        "GET /v1/models": _openai_listing("organization_owner"),
    },
    LLAMA_CPP: {
        "GET /props": _server_properties,
        "GET /slots": lambda local, _: [{"id": 0, "n_ctx": local.models[0].window, "is_processing": False}],
        "GET /health": lambda *_: {"status": "ok"},
        "GET /v1/models": _openai_listing("llamacpp", lambda model: {"meta": {"n_ctx_train": model.maximum}}),
        "POST /tokenize": lambda local, body: {"tokens": _tokenize(local, str(body.get("content", "")))},
        "POST /apply-template": lambda _, body: {"prompt": render_prompt(body)},
    },
    VLLM: {
        "GET /v1/models": _openai_listing("vllm", lambda model: {"max_model_len": model.window}),
        "POST /tokenize": _vllm_tokenize,
    },
}
"""By kind of server, method and path."""


def add_listings(app: web.Application, local: LocalServer) -> None:
    for place, listing in LISTINGS[local.kind].items():
        method, _, path = place.partition(" ")
        app.router.add_route(method, path, partial(_answer_listing, local, listing))


async def _answer_listing(local: LocalServer, listing: Listing, request: web.Request) -> web.StreamResponse:
    try:
        body = as_dict(await request.json()) if request.method == "POST" else {}
    except (ValueError, RecursionError) as error:
        return json_response({"error": f"invalid JSON: {error}"}, 400)
    information = listing(local, body)
    return json_response({"error": "model not found"}, 404) if information is None else json_response(information)


def serve_completions(local: LocalServer, provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """The reply to a Chat request, without the oldest messages where the server truncates."""
    model = find_model(local, request)
    # If the request names an unknown model, the first model answers.
    request = replace(request, body={**request.body, "model": model.name})

    def weigh(raw: bytes) -> WeighedRequest:
        return provider.ledger.weigh(grammar.CHAT, raw, request.model)

    weighed = fit_window(request, model.window, weigh) if local.truncates else weigh(request.raw)
    if weighed.tokens > model.window and not local.truncates:
        return _refuse_too_long(local, weighed.tokens, model.window)
    reply = complete(provider, request, weighed, chat_rules(model, max(model.window, weighed.tokens)), local.kind)
    body = _with_own_usage(local, reply.body)
    with_usage = as_dict(request.body.get("stream_options")).get("include_usage") is True
    events = tuple(chunks(body, with_usage)) if request.streams else None
    return replace(reply, body=body, events=events, headers={})


def serve_token_count(local: LocalServer, provider: Provider, request: ApiRequest) -> Reply:
    weighed = provider.ledger.weigh(grammar.CHAT, request.raw, find_model(local, request).name)
    return Reply(body={"input_tokens": weighed.tokens})


def _refuse_too_long(local: LocalServer, tokens: int, window: int) -> Refusal:
    if local.kind == LLAMA_CPP:
        message = "the request exceeds the available context size, try increasing it"
        return Refusal(message, 400, "exceed_context_size_error", rule="context window")
    message = (
        f"This model's maximum context length is {window} tokens. However, your request has {tokens} input tokens. "
        "Please reduce the length of the input messages."
    )
    return Refusal(message, 400, "BadRequestError", rule="context window")


def _with_own_usage(local: LocalServer, completion: dict[str, Json]) -> dict[str, Json]:
    """The completion with the usage figures that this kind of server reports."""
    usage = completion["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    own_usage = {key: usage[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
    result = {key: value for key, value in completion.items() if key not in ("service_tier", "usage")}
    result |= {"usage": own_usage, "system_fingerprint": "fp_ollama" if local.kind == OLLAMA else None}
    if local.kind == LLAMA_CPP:
        own_usage["prompt_tokens_details"] = {"cached_tokens": cached}
        result["timings"] = {
            "cache_n": cached,
            "prompt_n": usage["prompt_tokens"] - cached,
            "prompt_ms": 1.0,
            "predicted_n": usage["completion_tokens"],
            "predicted_ms": 1.0,
        }
    elif local.kind == VLLM:
        own_usage["prompt_tokens_details"] = {"cached_tokens": cached}
    elif local.kind == LM_STUDIO:
        result["stats"] = {}
    return result


_NDJSON: Final = "application/x-ndjson"
OLLAMA_COUNTS: Final = ("prompt_eval_count", "eval_count")
_PHASE_NANOSECONDS: Final = 1_000_000
"""Invented duration of each phase of an answer: a millisecond."""


def serve_chat(local: LocalServer, provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """The reply of Ollama's ``/api/chat``: a stream unless disabled."""
    model = find_model(local, request)
    options = as_dict(request.body.get("options"))
    window = clamp(options.get("num_ctx") or model.window, model.window, model.maximum)

    def weigh(raw: bytes) -> WeighedRequest:
        return provider.ledger.weigh(grammar.OLLAMA, raw, request.model)

    if request.body.get("truncate") is False and weigh(request.raw).tokens > window:
        return Refusal("input length exceeds the context length", 400, rule="context window")
    weighed = fit_window(request, window, weigh)
    if request.body.get("_debug_render_only") is True:
        text = render_prompt(canonical.loads(encode(weighed.request)))
        return Reply(body=_reply_shell(provider, request) | {"_debug_info": {"rendered_template": text}})
    outcome = provider.ledger.predict(weighed, request.model, provider.now(), provider=local.kind)
    answer = _make_answer(provider, request, weighed, options)
    message = _make_message(provider, answer)
    output = _count_output(request, answer, message)
    reply_body = _reply_shell(provider, request) | {
        "message": message,
        "done": True,
        "done_reason": "length" if answer.ended == LENGTH else "stop",
        "total_duration": 3 * _PHASE_NANOSECONDS,
        "load_duration": _PHASE_NANOSECONDS,
        # Includes cached tokens, which are not reported separately.
        "prompt_eval_count": weighed.tokens,
        "prompt_eval_duration": _PHASE_NANOSECONDS,
        "eval_count": output,
        "eval_duration": _PHASE_NANOSECONDS,
    }
    provider.limits.count_request(provider.now(), weighed.tokens, output)
    streams = request.body.get("stream") is not False
    return Reply(
        body=reply_body,
        events=tuple(_stream_lines(reply_body)) if streams else None,
        begin=lambda: provider.ledger.record(outcome, provider.now()),
        failure_event=compact({"error": "an error was encountered while running the model"}) + b"\n",
        media_type=_NDJSON,
        output_tokens=output,
    )


def _reply_shell(provider: Provider, request: ApiRequest) -> dict[str, Json]:
    now = datetime.datetime.fromtimestamp(provider.now(), datetime.UTC)
    return {"model": request.model, "created_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def _make_answer(
    provider: Provider, request: ApiRequest, weighed: WeighedRequest, options: dict[str, Json]
) -> ModelAnswer:
    form = request.body.get("format")
    answer_options = AnswerOptions(
        thinks=request.body.get("think") not in (None, False),
        schema=form if isinstance(form, dict) else {"type": "object"} if form == "json" else None,
    )
    answer = provider.make_answer(weighed.request, read_task(weighed.request), answer_options)
    stops = [stop for stop in as_list(options.get("stop")) if isinstance(stop, str)]
    requested = options.get("num_predict")
    limit = min(requested, MAX_OUTPUT_TOKENS) if isinstance(requested, int) and requested > 0 else MAX_OUTPUT_TOKENS
    return limit_answer(answer, stops, limit, text_counter(request.model))


def _make_message(provider: Provider, answer: ModelAnswer) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": answer.text}
    thoughts = "".join(part.text for part in answer.parts if isinstance(part, Thought))
    if thoughts:
        message["thinking"] = thoughts
    if answer.calls:
        message["tool_calls"] = [
            {"id": provider.names.new("call_", 8), "function": {"index": n, "name": c.name, "arguments": c.arguments}}
            for n, c in enumerate(answer.calls)
        ]
    return message


def _count_output(request: ApiRequest, answer: ModelAnswer, message: dict[str, Json]) -> int:
    count = text_counter(request.model)
    thought = sum(count(part.text) for part in answer.parts if isinstance(part, Thought))
    blocks = [from_part({"type": "text", "text": answer.text})] if answer.text else []
    blocks += [from_part({**call, "type": "tool_call"}) for call in message.get("tool_calls", ())]
    return thought + output_tokens(request.model, blocks)


def _stream_lines(whole: dict[str, Json]) -> Iterator[bytes]:
    shell = {key: whole[key] for key in ("model", "created_at")}
    message = whole["message"]

    def line(delta: dict[str, Json]) -> bytes:
        return compact({**shell, "message": {"role": "assistant", "content": "", **delta}, "done": False}) + b"\n"

    for key in ("thinking", "content"):
        for piece in split_text(message.get(key, "")):
            yield line({key: piece})
    for call in message.get("tool_calls", ()):
        yield line({"tool_calls": [call]})
    yield compact({**whole, "message": {"role": "assistant", "content": ""}}) + b"\n"


def local_routes(local: LocalServer) -> dict[str, ServedRoute]:
    """The API paths that this kind of server answers, besides its listings."""
    routes = {"/v1/chat/completions": _make_route(local, partial(serve_completions, local))}
    if local.kind == OLLAMA:
        routes["/api/chat"] = _make_route(local, partial(serve_chat, local))
    if local.kind == LLAMA_CPP:
        routes["/v1/chat/completions/input_tokens"] = _make_route(local, partial(serve_token_count, local))
    return routes


def _make_route(local: LocalServer, serve: Serve) -> ServedRoute:
    return ServedRoute(
        lambda provider, request: find_refusals(local, request, provider.strict_models),
        serve,
        lambda refusal, _: format_error(local, refusal),
        "x-request-id",
        lambda _: None,
    )
