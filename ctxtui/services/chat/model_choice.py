"""How a chat's model is chosen: from flags, settings, keys and running servers; and which others it may go on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, NotFound, ProviderError
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.table import PriceTable, list_models
from ctxtui.providers.endpoint import (
    ADDRESSES,
    ANTHROPIC,
    CHAT,
    HEADERS,
    KEYS,
    OLLAMA,
    RESPONSES,
    Endpoint,
    headers_for,
    is_loopback,
    is_plain,
    key_for,
)
from ctxtui.providers.local_servers import LocalServer, ServedModel, find_servers, look_at
from ctxtui.providers.sdk_client import SdkLine
from ctxtui.services.chat.chat_model import OFFLINE, ChatModel, ModelChoice, keeps_to_itself
from ctxtui.services.chat.context_window import windowed
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import answer_limit

USUAL: Final[Mapping[str, str]] = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-terra"}
"""The model that a hosted provider is asked for where none is named."""
_PLAIN: Final = "; without your key, which does not go over plain http (key_over_http = true sends it)"
SERVERS: Final = ("ollama", "lm studio", "llama.cpp", "llama-cpp-python", "vllm")
NAMES: Final = ("anthropic", "openai", "openai-chat", *(name.replace(" ", "-") for name in SERVERS), OFFLINE)
"""What ``--provider`` takes."""


async def choose(wish: ModelChoice, config: Config, env: Mapping[str, str]) -> ChatModel:
    """The partner for `wish`. Raises `NotFound` for a provider or server that is not there, `BadConfig` for a window
    above the model's own."""
    settings = config.settings
    provider = wish.provider or ("" if wish.base_url else settings.provider)
    base_url = wish.base_url or ("" if wish.provider else settings.base_url)
    model = wish.model or settings.model
    if provider and provider not in NAMES:
        raise BadConfig(f"no provider {provider!r}", way_out=f"there are {', '.join(NAMES)}")
    if base_url:
        found = await _compatible(base_url, provider, model, env, key_over_http=settings.key_over_http)
    elif provider in ("anthropic", "openai", "openai-chat"):
        found = _hosted(provider, model, env)
    elif provider == OFFLINE:
        found = _offline(model)
    elif provider:
        found = await _running(provider.replace("-", " ") if provider == "lm-studio" else provider, model, env)
    elif not wish.model and config.from_project("model"):
        found = await _with_model(await _whatever("", env), model, env)
    else:
        found = await _whatever(model, env)
    addressed = _addressed(found, env, key_over_http=settings.key_over_http)
    return windowed(_with_headers(addressed, env, key_over_http=settings.key_over_http), config)


def usual_model(settings: Settings, env: Mapping[str, str]) -> str:
    """The model that a new chat would have by settings and keys; no server is asked."""
    keyed = (USUAL[name] for name in KEYS if env.get(KEYS[name]))
    return settings.model or next(keyed, USUAL["anthropic"])


def _addressed(found: ChatModel, env: Mapping[str, str], *, key_over_http: bool) -> ChatModel:
    """`found` with the address that the provider's own variable names: its SDK goes there, so that is said."""
    variable = ADDRESSES.get(found.endpoint.name, "")
    address = env.get(variable, "").strip()
    if not address or found.endpoint.base_url:
        return found
    plain = is_plain(address, key_over_http=key_over_http)
    endpoint = dataclasses.replace(found.endpoint, base_url=address, key="" if plain else found.endpoint.key)
    return replace(found, endpoint=endpoint, why=f"{found.why}; {variable} names the address{_PLAIN if plain else ''}")


def _with_headers(found: ChatModel, env: Mapping[str, str], *, key_over_http: bool) -> ChatModel:
    """`found` with the headers that the provider's own variable adds: they may be keys, so they go where a key goes."""
    endpoint, variable = found.endpoint, HEADERS.get(found.endpoint.name, "")
    headers = headers_for(endpoint.name, env)
    if not headers:
        return found
    if is_plain(endpoint.base_url, key_over_http=key_over_http):
        return replace(found, why=f"{found.why}; {variable} is not sent over plain http")
    names = ", ".join(name for name, _ in headers)
    why = f"{found.why}; {variable} adds {names}"
    return replace(found, endpoint=dataclasses.replace(endpoint, headers=headers), why=why)


async def _with_model(found: ChatModel, model: str, env: Mapping[str, str]) -> ChatModel:
    """`found` with the model that a project wishes, where its provider may have it: a project chooses no provider."""
    if found.endpoint.name in KEYS and found.endpoint.name in makers(model):
        return replace(found, model=model)
    if model == found.model:
        return found
    if model in found.models:
        return await _running(found.endpoint.kind, model, env)
    return replace(found, why=f"{found.why}; the project's {model} is another provider's, not taken")


def _hosted(provider: str, model: str, env: Mapping[str, str]) -> ChatModel:
    name = provider.partition("-")[0]
    key = key_for(name, env)
    if not key:
        raise NotFound(
            f"no key for {name}",
            way_out=f"set {KEYS[name]}, or keep it in your keyring: `keyring set ctxtui {name}`",
        )
    dialect = {"anthropic": ANTHROPIC, "openai": RESPONSES, "openai-chat": CHAT}[provider]
    return ChatModel(Endpoint(name, dialect, key=key), model or USUAL[name], why=f"key of {name}")


async def _compatible(
    base_url: str, provider: str, model: str, env: Mapping[str, str], *, key_over_http: bool
) -> ChatModel:
    """A server of any make at an address: what it tells of itself, else the dialect that `provider` names.

    A key goes over plain http only to this machine, elsewhere where `key_over_http` says so.
    """
    url = base_url.rstrip("/")
    dialect = {"anthropic": ANTHROPIC, "openai": RESPONSES}.get(provider, CHAT)
    key = key_for("anthropic" if dialect == ANTHROPIC else "openai", env)
    plain = key and is_plain(url, key_over_http=key_over_http)
    server = await look_at(url, env)
    kind = server.endpoint.kind if server is not None else ""
    local = server is not None or is_loopback(url)
    endpoint = Endpoint(kind or provider or "compatible", dialect, url, "" if plain else key, kind, local=local)
    note = _PLAIN if plain else ""
    if dialect == ANTHROPIC:
        endpoint = dataclasses.replace(endpoint, base_url=url.removesuffix("/v1"))
    elif kind == "ollama" and server is not None and not provider and not url.endswith("/v1"):
        # Its own API tells more than the one that it offers under /v1.
        endpoint = server.endpoint
    if server is not None and server.models:
        return _served(endpoint, server.models, model, f"{kind} at {url}{note}")
    if not model:
        raise NotFound(f"{url} does not list its models", way_out="name one with --model")
    return ChatModel(endpoint, model, why=f"server at {url}{note}")


async def _running(kind: str, model: str, env: Mapping[str, str]) -> ChatModel:
    servers = [server for server in await _servers(env) if server.endpoint.kind == kind]
    if not servers:
        raise NotFound(f"{kind} does not answer on its port", way_out="start it, or give its address with --base-url")
    return _of(servers[0], model)


async def _servers(env: Mapping[str, str]) -> list[LocalServer]:
    return await find_servers(env)


def _of(server: LocalServer, model: str) -> ChatModel:
    if not server.models and not model:
        raise NotFound(f"{server.endpoint.name} has no model", way_out="load one, or name one with --model")
    return _served(server.endpoint, server.models, model, f"{server.endpoint.kind} runs here")


def _served(endpoint: Endpoint, models: tuple[ServedModel, ...], model: str, why: str) -> ChatModel:
    chosen = next((one for one in models if one.id == model), None) or (models[0] if models and not model else None)
    names = tuple(one.id for one in models)
    if chosen is None:
        return ChatModel(endpoint, model, models=names, why=why)
    window = chosen.window or chosen.maximum
    return ChatModel(endpoint, chosen.id, window=window, origin=endpoint.name if window else "", models=names, why=why)


async def _whatever(model: str, env: Mapping[str, str]) -> ChatModel:
    """Without a wish: a key, else a server that runs here, else the embedded provider."""
    for provider in makers(model):
        if key_for(provider, env):
            return _hosted(provider, model, env)
    servers = [server for server in await _servers(env) if server.models]
    fitting = [server for server in servers if not model or model in {one.id for one in server.models}]
    if fitting:
        loaded = next((s for s in fitting if any(one.loaded for one in s.models)), fitting[0])
        return _of(loaded, model)
    if model and model != OFFLINE:
        way_out = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local server, or leave --model away"
        raise NotFound(f"no key and no local server that has {model}", way_out=way_out)
    return replace(_offline(""), why="no key, and no local server answers")


def makers(model: str) -> list[str]:
    """The hosted providers that may have `model`; all where none is named."""
    if not model:
        return list(KEYS)
    own = {"claude": "anthropic", "gpt-": "openai", "o3": "openai", "o4": "openai"}
    return [maker for start, maker in own.items() if model.startswith(start) and "oss" not in model]


def _offline(model: str) -> ChatModel:
    # Its address is known once it runs.
    return ChatModel(Endpoint(OFFLINE, ANTHROPIC, kind=OFFLINE, local=True), model or OFFLINE, why="asked for")


async def refined(partner: ChatModel, line: SdkLine, config: Config) -> ChatModel:
    """`partner` with what its own models list tells: ids, and for Anthropic window and longest answer. A provider that
    does not answer changes nothing."""
    try:
        listed = await line.get("/v1/models" if partner.endpoint.dialect == ANTHROPIC else "/models")
    except ProviderError:
        return partner
    data = listed.get("data") if isinstance(listed, dict) else None
    entries = [one for one in data or () if isinstance(one, dict)]
    ids = tuple(str(one.get("id")) for one in entries)
    own = next((one for one in entries if one.get("id") == partner.model), {})
    window, output = own.get("max_input_tokens"), own.get("max_tokens")
    if isinstance(window, int) and window:
        partner = windowed(replace(partner, window=window, origin=partner.endpoint.name), config)
    return replace(partner, models=ids or partner.models, most_output=output if isinstance(output, int) else 0)


def params_for(partner: ChatModel, settings: Settings) -> dict[str, Json]:
    """The top-level parameters of a chat's requests. An answer gets ``answer_tokens``, at most what the model can give
    and a quarter of its window."""
    most = answer_limit(settings.answer_tokens, partner.most_output, partner.window)
    dialect = partner.endpoint.dialect
    if dialect == ANTHROPIC:
        return {"model": partner.model, "max_tokens": most, "cache_control": {"type": "ephemeral"}, "stream": True}
    if dialect == RESPONSES:
        include = ["reasoning.encrypted_content"]
        return {
            "model": partner.model, "max_output_tokens": most, "store": False, "include": include, "stream": True
        }  # fmt: skip
    if dialect == OLLAMA:
        return {"model": partner.model, "stream": True}
    limit = "max_completion_tokens" if partner.endpoint.name.startswith("openai") else "max_tokens"
    return {"model": partner.model, limit: most, "stream": True, "stream_options": {"include_usage": True}}


class Offer(NamedTuple):
    """A model: its `window` in tokens (0: not known), USD per million tokens of `fresh` input and of `output` (None:
    not known), and whether the provider itself `listed` it."""

    id: str
    window: int
    fresh: float | None
    output: float | None
    listed: bool


def offers(partner: ChatModel, table: PriceTable) -> list[Offer]:
    """What `partner` can go on with, its present model first. Takes a moment: the price library is loaded."""
    known = {} if partner.endpoint.local else dict(list_models(partner.endpoint.name))
    own = dict.fromkeys((partner.model, *partner.models))
    return [_offer(name, partner, known, table, listed=name in own) for name in dict.fromkeys((*own, *known))]


def listed_rates(partner: ChatModel, table: PriceTable) -> tuple[float, float] | None:
    """The list prices of `partner` in USD for a million tokens of input and of output; None where none is known."""
    found = None if keeps_to_itself(partner) else find_rates(partner.model, partner.endpoint.name, table=table)
    return (found.fresh * 1e6, found.output * 1e6) if found is not None else None


def _offer(name: str, partner: ChatModel, known: dict[str, int], table: PriceTable, *, listed: bool) -> Offer:
    own = partner.window if name == partner.model else 0
    window = own or model_table().card(name).window or known.get(name, 0)
    found = None if partner.endpoint.local else find_rates(name, partner.endpoint.name, table=table)
    if found is None:
        return Offer(name, window, None, None, listed)
    return Offer(name, window, found.fresh * 1e6, found.output * 1e6, listed)
