"""Choose a chat's model by flags, settings, keys and running servers; list others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, NotFound, ProviderError
from ctxtui.core.json_values import as_count
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.table import PriceTable, list_models
from ctxtui.providers.endpoint import (
    ADDRESSES,
    ANTHROPIC,
    CHAT,
    GOOGLE,
    HEADERS,
    KEYS,
    OLLAMA,
    RESPONSES,
    Endpoint,
    check_address,
    headers_for,
    is_loopback,
    key_for,
    must_withhold_key,
)
from ctxtui.providers.local_servers import LocalServer, ServedModel, find_servers, identify_server
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.chat.chat_model import OFFLINE, ChatModel, ModelChoice, runs_model
from ctxtui.services.chat.context_window import with_window
from ctxtui.services.config.config import Config
from ctxtui.services.config.extras import install_command, is_installed
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import answer_limit
from ctxtui.wire.key_mask import mask_url

DEFAULT_MODELS: Final[Mapping[str, str]] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-terra",
    "google": "gemini-3.1-pro-preview",
}
_MODEL_LISTS: Final[Mapping[str, str]] = {ANTHROPIC: "/v1/models", GOOGLE: "/v1beta/models"}
_PLAIN_HTTP_NOTE: Final = "; without your key, which does not go over plain http (key_over_http = true sends it)"
SERVERS: Final = ("ollama", "lm studio", "llama.cpp", "llama-cpp-python", "vllm")
NAMES: Final = ("anthropic", "openai", "openai-chat", "google", *(name.replace(" ", "-") for name in SERVERS), OFFLINE)
"""Values of ``--provider``."""


async def choose_model(choice: ModelChoice, config: Config, env: Mapping[str, str]) -> ChatModel:
    """Choose the model for `choice`.

    Raises `NotFound` for an unavailable provider, server or model, `BadConfig` for an unknown provider, an invalid
    address, and as `with_window` does.
    """
    settings = config.settings
    provider = choice.provider or ("" if choice.base_url else settings.provider)
    base_url = choice.base_url or ("" if choice.provider else settings.base_url)
    model = choice.model or settings.model
    if provider and provider not in NAMES:
        raise BadConfig(f"no provider {provider!r}", way_out=f"there are {', '.join(NAMES)}")
    if base_url:
        check_address(base_url, "--base-url" if choice.base_url else "the setting base_url")
        chosen = await _choose_compatible(base_url, provider, model, env, key_over_http=settings.key_over_http)
    elif provider in ("anthropic", "openai", "openai-chat", "google"):
        chosen = _choose_hosted(provider, model, env)
    elif provider == OFFLINE:
        chosen = _choose_offline(model)
    elif provider:
        chosen = await _choose_running_server(
            provider.replace("-", " ") if provider == "lm-studio" else provider, model, env
        )
    elif not choice.model and config.from_project("model"):
        chosen = await _with_model(await _choose_available("", env), model, env)
    else:
        chosen = await _choose_available(model, env)
    addressed = _with_address(chosen, env, key_over_http=settings.key_over_http)
    return with_window(_with_headers(addressed, env, key_over_http=settings.key_over_http), config)


async def choose_to_continue(
    recorded_model: str, choice: ModelChoice, config: Config, env: Mapping[str, str]
) -> ChatModel:
    """Choose the model for a chat that continues a session of `recorded_model`.

    `recorded_model` ("": unknown, or a new chat) itself, if it is available, `choice` names no other, and the provider
    of the settings may have it; else the one of `choose_model`. Raises what that raises.
    """
    provider = config.settings.provider.partition("-")[0]
    if (
        recorded_model not in ("", OFFLINE)
        and not (choice.model or choice.provider or choice.base_url)
        and (config.settings.base_url or provider not in KEYS or provider in providers_of(recorded_model))
    ):
        with suppress(NotFound):
            return await choose_model(replace(choice, model=recorded_model), config, env)
    return await choose_model(choice, config, env)


def default_model(settings: Settings, env: Mapping[str, str]) -> str:
    """The model to count for, by settings and keys in `env`; no server is asked."""
    provider = settings.provider.partition("-")[0]
    names = [provider] if provider in KEYS else [name for name in KEYS if env.get(KEYS[name])]
    return settings.model or DEFAULT_MODELS[next(iter(names), "anthropic")]


def _with_address(chat_model: ChatModel, env: Mapping[str, str], *, key_over_http: bool) -> ChatModel:
    """Set the address from the provider's variable, unless one is set. Raises `BadConfig`."""
    variable = ADDRESSES.get(chat_model.endpoint.name, "")
    address = env.get(variable, "").strip()
    if not address or chat_model.endpoint.base_url:
        return chat_model
    check_address(address, variable)
    is_plain_http = must_withhold_key(address, key_over_http=key_over_http)
    endpoint = dataclasses.replace(
        chat_model.endpoint, base_url=address, key="" if is_plain_http else chat_model.endpoint.key
    )
    return replace(
        chat_model,
        endpoint=endpoint,
        why=f"{chat_model.why}; {variable} names the address{_PLAIN_HTTP_NOTE if is_plain_http else ''}",
    )


def _with_headers(chat_model: ChatModel, env: Mapping[str, str], *, key_over_http: bool) -> ChatModel:
    """Add the headers that the provider's variable sets; like a key, not over plain http."""
    endpoint, variable = chat_model.endpoint, HEADERS.get(chat_model.endpoint.name, "")
    headers = headers_for(endpoint.name, env)
    if not headers:
        return chat_model
    if must_withhold_key(endpoint.base_url, key_over_http=key_over_http):
        return replace(chat_model, why=f"{chat_model.why}; {variable} is not sent over plain http")
    names = ", ".join(name for name, _ in headers)
    why = f"{chat_model.why}; {variable} adds {names}"
    return replace(chat_model, endpoint=dataclasses.replace(endpoint, headers=headers), why=why)


async def _with_model(chat_model: ChatModel, model: str, env: Mapping[str, str]) -> ChatModel:
    """Set the model that a project requests, if the chosen provider may have it."""
    if chat_model.endpoint.name in KEYS and chat_model.endpoint.name in providers_of(model):
        return replace(chat_model, model=model)
    if model == chat_model.model:
        return chat_model
    if model in chat_model.models:
        return await _choose_running_server(chat_model.endpoint.kind, model, env)
    return replace(
        chat_model, why=f"{chat_model.why}; {model}, which the project sets, is not used: it may not be offered here"
    )


def _choose_hosted(provider: str, model: str, env: Mapping[str, str]) -> ChatModel:
    name = provider.partition("-")[0]
    key = key_for(name, env)
    if not key:
        raise NotFound(
            f"no key for {name}",
            way_out=f"set {KEYS[name]}, or keep it in your keyring: {_keyring_command(name)}",
        )
    dialect = {"anthropic": ANTHROPIC, "openai": RESPONSES, "openai-chat": CHAT, "google": GOOGLE}[provider]
    return ChatModel(Endpoint(name, dialect, key=key), model or DEFAULT_MODELS[name], why=f"key of {name}")


def _keyring_command(name: str) -> str:
    command = f"`keyring set ctxtui {name}`"
    return command if is_installed("keyring") else f"{install_command('keyring')}, then {command}"


async def _choose_compatible(
    base_url: str, provider: str, model: str, env: Mapping[str, str], *, key_over_http: bool
) -> ChatModel:
    """Choose a server by its address, in the dialect of `provider`.

    Without a `provider`: OpenAI's Chat Completions, or Ollama's own API.
    """
    url = base_url.rstrip("/")
    dialect = {"anthropic": ANTHROPIC, "openai": RESPONSES, "google": GOOGLE}.get(provider, CHAT)
    key = key_for({ANTHROPIC: "anthropic", GOOGLE: "google"}.get(dialect, "openai"), env)
    withholds_key = key and must_withhold_key(url, key_over_http=key_over_http)
    server = await identify_server(url, env)
    kind = server.endpoint.kind if server is not None else ""
    local = server is not None or is_loopback(url)
    endpoint = Endpoint(kind or provider or "compatible", dialect, url, "" if withholds_key else key, kind, local=local)
    note, shown = _PLAIN_HTTP_NOTE if withholds_key else "", mask_url(url)
    if dialect == ANTHROPIC:
        endpoint = dataclasses.replace(endpoint, base_url=url.removesuffix("/v1"))
    elif kind == "ollama" and server is not None and not provider and not url.endswith("/v1"):
        # Its own API reports more than its OpenAI-compatible one under /v1.
        endpoint = server.endpoint
    if server is not None and server.models:
        return _model_on_server(endpoint, server.models, model, f"{kind} at {shown}{note}")
    if not model:
        raise NotFound(f"the models of {shown} are not known", way_out="name one with --model")
    return ChatModel(endpoint, model, why=f"server at {shown}{note}")


async def _choose_running_server(kind: str, model: str, env: Mapping[str, str]) -> ChatModel:
    servers = [server for server in await find_servers(env) if server.endpoint.kind == kind]
    if not servers:
        raise NotFound(f"{kind} does not answer on its port", way_out="start it, or give its address with --base-url")
    return _choose_of_server(servers[0], model)


def _choose_of_server(server: LocalServer, model: str) -> ChatModel:
    if not server.models and not model:
        raise NotFound(f"{server.endpoint.name} has no model", way_out="load one, or name one with --model")
    return _model_on_server(server.endpoint, server.models, model, f"{server.endpoint.kind} runs here")


def _model_on_server(endpoint: Endpoint, models: tuple[ServedModel, ...], model: str, why: str) -> ChatModel:
    windows = {served.id: served.window or served.maximum for served in models}
    return ChatModel(endpoint, model or models[0].id, models=windows, why=why)


async def _choose_available(model: str, env: Mapping[str, str]) -> ChatModel:
    """Choose without a provider: by a key, else a local server, else the offline provider.

    Raises `NotFound` if there is a `model` and neither a key nor a server for it.
    """
    if model == OFFLINE:
        return _choose_offline(model)
    for provider in providers_of(model):
        if key_for(provider, env):
            return _choose_hosted(provider, model, env)
    servers = [server for server in await find_servers(env) if server.models]
    candidates = [server for server in servers if not model or model in {served.id for served in server.models}]
    if candidates:
        loaded = next((s for s in candidates if any(served.loaded for served in s.models)), candidates[0])
        return _choose_of_server(loaded, model)
    if model:
        way_out = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start a local server, or remove --model"
        raise NotFound(f"no key and no local server that has {model}", way_out=way_out)
    return replace(_choose_offline(""), why="no key, and no local server offers a model")


def providers_of(model: str) -> list[str]:
    """The hosted providers that may have `model`, by its name; all if it is ""."""
    if not model:
        return list(KEYS)
    by_prefix = {"claude": "anthropic", "gpt-": "openai", "o3": "openai", "o4": "openai", "gemini-": "google"}
    return [maker for prefix, maker in by_prefix.items() if model.startswith(prefix) and "oss" not in model]


def _choose_offline(model: str) -> ChatModel:
    # The address is set when it is started.
    return ChatModel(Endpoint(OFFLINE, ANTHROPIC, kind=OFFLINE, local=True), model or OFFLINE, why="your choice")


async def add_listed_details(chat_model: ChatModel, client: SdkClient, config: Config) -> ChatModel:
    """Add the provider's list of models, if it answers, with windows and answer limit if given.

    Raises as `with_window` does.
    """
    try:
        response = await client.get(_MODEL_LISTS.get(chat_model.endpoint.dialect, "/models"))
    except ProviderError:
        return chat_model
    data = response.get("data", response.get("models")) if isinstance(response, dict) else None
    entries = [_normalize_entry(e) for e in data if isinstance(e, dict)] if isinstance(data, list) else []
    by_id = {id_: entry for entry in entries if isinstance(id_ := entry.get("id"), str)}
    windows = {id_: as_count(entry.get("max_input_tokens")) for id_, entry in by_id.items()}
    output = as_count(by_id.get(chat_model.model, {}).get("max_tokens"))
    chat_model = replace(chat_model, models=windows or chat_model.models, most_output=output)
    if not windows.get(chat_model.model):
        return chat_model
    return with_window(replace(chat_model, window=0, origin=""), config)


def _normalize_entry(entry: dict[str, Json]) -> dict[str, Json]:
    if "inputTokenLimit" not in entry:
        return entry
    limits = {"max_input_tokens": entry["inputTokenLimit"], "max_tokens": entry.get("outputTokenLimit")}
    return {"id": str(entry.get("name")).removeprefix("models/"), **limits}


def params_for(chat_model: ChatModel, settings: Settings) -> dict[str, Json]:
    """The top-level parameters of a chat's requests; Ollama's own API has no answer limit."""
    max_tokens = answer_limit(settings.answer_tokens, chat_model.most_output, chat_model.window)
    dialect = chat_model.endpoint.dialect
    if dialect == ANTHROPIC:
        return {
            "model": chat_model.model,
            "max_tokens": max_tokens,
            "cache_control": {"type": "ephemeral"},
            "stream": True,
        }
    if dialect == RESPONSES:
        include = ["reasoning.encrypted_content"]
        return {
            "model": chat_model.model, "max_output_tokens": max_tokens, "store": False, "include": include,
            "stream": True,
        }  # fmt: skip
    if dialect == GOOGLE:
        config = {"maxOutputTokens": max_tokens, "thinkingConfig": {"includeThoughts": True}}
        return {"model": f"models/{chat_model.model}", "generationConfig": config}
    if dialect == OLLAMA:
        return {"model": chat_model.model, "stream": True}
    limit = "max_completion_tokens" if chat_model.endpoint.name.startswith("openai") else "max_tokens"
    return {"model": chat_model.model, limit: max_tokens, "stream": True, "stream_options": {"include_usage": True}}


class ModelOffer(NamedTuple):
    """A model that a chat can change to.

    `window` is in tokens (0: unknown), `fresh` and `output` in USD per million tokens (None: unknown, or a local
    server). `listed`: by the provider, or the present model; others are from price tables.
    """

    id: str
    window: int
    fresh: float | None
    output: float | None
    listed: bool


def list_offers(chat_model: ChatModel, table: PriceTable) -> list[ModelOffer]:
    """List the models that `chat_model` can be changed to, itself first. Slow: loads the price library."""
    table_models = {} if chat_model.endpoint.local else dict(list_models(chat_model.endpoint.name))
    listed = dict.fromkeys((chat_model.model, *chat_model.models))
    return [
        _make_offer(name, chat_model, table_models, table, listed=name in listed)
        for name in dict.fromkeys((*listed, *table_models))
    ]


def listed_rates(chat_model: ChatModel, table: PriceTable) -> tuple[float, float] | None:
    """USD per million tokens of input and output; None if unknown, or for a local server."""
    rates = None if runs_model(chat_model) else find_rates(chat_model.model, chat_model.endpoint.name, table=table)
    return (rates.fresh * 1e6, rates.output * 1e6) if rates is not None else None


def _make_offer(
    name: str, chat_model: ChatModel, table_models: dict[str, int], table: PriceTable, *, listed: bool
) -> ModelOffer:
    own_window = chat_model.window if name == chat_model.model else chat_model.models.get(name, 0)
    window = own_window or model_table().card(name).window or table_models.get(name, 0)
    rates = None if chat_model.endpoint.local else find_rates(name, chat_model.endpoint.name, table=table)
    if rates is None:
        return ModelOffer(name, window, None, None, listed)
    return ModelOffer(name, window, rates.fresh * 1e6, rates.output * 1e6, listed)
