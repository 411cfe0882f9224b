"""Local model servers: which ones run, their models, and the models' windows (facts §5)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound
from ctxtui.core.json_values import as_count, as_dict
from ctxtui.providers.bounded_answers import read_json
from ctxtui.providers.endpoint import CHAT, OLLAMA, Endpoint

if TYPE_CHECKING:
    from aiohttp import ClientSession

PORT_TIMEOUT_S: Final = 0.5
_OLLAMA_WINDOW: Final = 4096
"""Window of a model if neither it nor a setting names one: the smallest that Ollama chooses by memory."""


class ServedModel(Struct, frozen=True):
    """A model of a server.

    - `window`: tokens of the largest running instance (0: unknown); in Ollama also what a model would be loaded with.
    - `maximum`: the model's limit (0: unknown).
    - `loaded`: it is in memory; True for servers that do not say (llama.cpp, vLLM).
    """

    id: str
    window: int = 0
    maximum: int = 0
    loaded: bool = False


class LocalServer(Struct, frozen=True):
    """A server that answered: its `endpoint` and its models, loaded ones first."""

    endpoint: Endpoint
    models: tuple[ServedModel, ...]


def candidate_servers(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """List the kind and the root URL of each server to ask (facts §5).

    Ollama's URL is in ``OLLAMA_HOST``, the others have default ports.
    """
    ollama = env.get("OLLAMA_HOST", "").rstrip("/") or "127.0.0.1"
    if "//" not in ollama:
        # As in Ollama: an address with a scheme has the scheme's port.
        ollama = f"http://{ollama}{'' if re.search(r':[0-9]+$', ollama) else ':11434'}"
    return [
        ("ollama", ollama.replace("//0.0.0.0", "//127.0.0.1")),
        ("lm studio", "http://127.0.0.1:1234"),
        ("llama.cpp", "http://127.0.0.1:9931"),
        ("llama.cpp", "http://127.0.0.1:8080"),
        ("vllm", "http://127.0.0.1:8000"),
        ("llama-cpp-python", "http://127.0.0.1:8000"),
    ]


async def find_servers(env: Mapping[str, str], places: list[tuple[str, str]] | None = None) -> list[LocalServer]:
    """The running servers, in the order of `candidate_servers` (or of `places`)."""
    # Imported here, as a chat needs it for nothing else.
    from aiohttp import ClientSession, ClientTimeout

    async with ClientSession(timeout=ClientTimeout(total=PORT_TIMEOUT_S)) as http:
        places_to_query = candidate_servers(env) if places is None else places
        servers = await asyncio.gather(*(_query(http, kind, root, env) for kind, root in places_to_query))
    return [server for server in servers if server is not None]


async def identify_server(base_url: str, env: Mapping[str, str]) -> LocalServer | None:
    """Identify the server behind an OpenAI-style base URL; None if it cannot be recognized."""
    from aiohttp import ClientSession, ClientTimeout

    root = base_url.rstrip("/").removesuffix("/v1")
    async with ClientSession(timeout=ClientTimeout(total=PORT_TIMEOUT_S * 4)) as http:
        kind = _server_kind(await _fetch_json(http, f"{root}/v1/models"), root)
        kind = kind or ("llama-cpp-python" if await _is_llama_cpp_python(http, root) else "")
        return await _query(http, kind, root, env) if kind else None


def _server_kind(models: Json, root: str) -> str:
    """The kind of server by its list of `models`, else by its port, else "".

    Only Ollama's and LM Studio's default ports tell the kind.
    """
    for entry in _list_entries(models, "data"):
        owner = entry.get("owned_by")
        if owner == "llamacpp" or "meta" in entry:
            return "llama.cpp"
        if owner == "vllm" or "max_model_len" in entry:
            return "vllm"
        if owner == "library":
            return "ollama"
        if owner == "organization_owner":
            return "lm studio"
    return {"11434": "ollama", "1234": "lm studio"}.get(root.rpartition(":")[2], "")


async def _query(http: ClientSession, kind: str, root: str, env: Mapping[str, str]) -> LocalServer | None:
    models = await _QUERIES[kind](http, root, env)
    if models is None:
        return None
    dialect, base = (OLLAMA, f"{root}/api") if kind == "ollama" else (CHAT, f"{root}/v1")
    loaded_first = sorted(models, key=lambda model: not model.loaded)
    return LocalServer(Endpoint(kind, dialect, base, kind=kind, local=True), tuple(loaded_first))


async def _query_ollama(http: ClientSession, root: str, env: Mapping[str, str]) -> list[ServedModel] | None:
    tags = await _fetch_json(http, f"{root}/api/tags")
    if not isinstance(tags, dict):
        return None
    running = {
        str(entry.get("name")): entry for entry in _list_entries(await _fetch_json(http, f"{root}/api/ps"), "models")
    }
    names = [str(entry.get("name")) for entry in _list_entries(tags, "models")]
    shown = await asyncio.gather(*(_fetch_json(http, f"{root}/api/show", {"model": name}) for name in names))
    return [ollama_model(name, show, running.get(name), env) for name, show in zip(names, shown, strict=True)]


def ollama_model(name: str, show: Json, running: Json, env: Mapping[str, str]) -> ServedModel:
    """Decode a model from Ollama's ``/api/show`` and ``/api/ps``.

    `running` is None if the model is not running.
    """
    about = as_dict(as_dict(show).get("model_info"))
    maximum = next((_as_int(v) for k, v in about.items() if k.endswith(".context_length")), 0)
    loaded = isinstance(running, dict)
    if running_window := _as_int(as_dict(running).get("context_length")):
        return ServedModel(name, running_window, maximum, loaded=True)
    num_ctx = re.search(r"^num_ctx\s+(\d+)", str(as_dict(show).get("parameters", "")), re.MULTILINE)
    window = _as_int(num_ctx[1] if num_ctx else env.get("OLLAMA_CONTEXT_LENGTH")) or _OLLAMA_WINDOW
    return ServedModel(name, min(window, maximum or window), maximum, loaded=loaded)


async def _query_lm_studio(http: ClientSession, root: str, env: Mapping[str, str]) -> list[ServedModel] | None:
    newest, older = await asyncio.gather(
        _fetch_json(http, f"{root}/api/v1/models"), _fetch_json(http, f"{root}/api/v0/models")
    )
    if not isinstance(newest, dict) and not isinstance(older, dict):
        return None
    return lm_studio_models(newest, older)


def lm_studio_models(newest: Json, older: Json) -> list[ServedModel]:
    """Decode the model list of LM Studio's REST v1, or its v0, without embedding models."""
    models = []
    for entry in _list_entries(newest, "models") or _list_entries(older, "data"):
        if str(entry.get("type", "llm")).startswith("embedding"):
            continue
        instances = _list_entries(entry, "loaded_instances")
        windows = [_as_int(as_dict(instance.get("config")).get("context_length")) for instance in instances]
        window = max(windows, default=0) or (
            _as_int(entry.get("loaded_context_length")) if entry.get("state") == "loaded" else 0
        )
        name = str(entry.get("key") or entry.get("id") or "")
        loaded = bool(instances) or entry.get("state") == "loaded"
        models.append(ServedModel(name, window, _as_int(entry.get("max_context_length")), loaded=loaded))
    return models


async def _query_llama_cpp(http: ClientSession, root: str, env: Mapping[str, str]) -> list[ServedModel] | None:
    props, models = await asyncio.gather(_fetch_json(http, f"{root}/props"), _fetch_json(http, f"{root}/v1/models"))
    if not isinstance(props, dict) and _server_kind(models, "") != "llama.cpp":
        return None
    window = _as_int(as_dict(as_dict(props).get("default_generation_settings")).get("n_ctx"))
    return [
        ServedModel(
            str(entry.get("id", "")), window, _as_int(as_dict(entry.get("meta")).get("n_ctx_train")), loaded=True
        )
        for entry in _list_entries(models, "data")
    ]


async def _query_vllm(http: ClientSession, root: str, env: Mapping[str, str]) -> list[ServedModel] | None:
    models = await _fetch_json(http, f"{root}/v1/models")
    if _server_kind(models, "") != "vllm":
        return None
    served = []
    for entry in _list_entries(models, "data"):
        window = _as_int(entry.get("max_model_len"))
        served.append(ServedModel(str(entry.get("id", "")), window, window, loaded=True))
    return served


async def _query_llama_cpp_python(http: ClientSession, root: str, env: Mapping[str, str]) -> list[ServedModel] | None:
    # It reports no window (0.3.36).
    if not await _is_llama_cpp_python(http, root):
        return None
    listed = _list_entries(await _fetch_json(http, f"{root}/v1/models"), "data")
    return [ServedModel(str(entry.get("id", "")), loaded=True) for entry in listed]


async def _is_llama_cpp_python(http: ClientSession, root: str) -> bool:
    about = await _fetch_json(http, f"{root}/openapi.json")
    info = about.get("info") if isinstance(about, dict) else None
    return isinstance(info, dict) and "llama.cpp Python API" in str(info.get("title"))


_QUERIES: Final = {
    "ollama": _query_ollama,
    "lm studio": _query_lm_studio,
    "llama.cpp": _query_llama_cpp,
    "llama-cpp-python": _query_llama_cpp_python,
    "vllm": _query_vllm,
}
"""The query for each kind: its models, loaded or not; None if no server, or one of another kind, answers."""


async def _fetch_json(http: ClientSession, url: str, body: Json = None) -> Json:
    """The JSON at `url` (posting `body` if given); None on any failure."""
    from aiohttp import ClientError

    with suppress(ClientError, OSError, ValueError):
        async with http.request("GET" if body is None else "POST", url, json=body, allow_redirects=False) as answer:
            if answer.status == 200:
                return await read_json(answer)
    return None


def _list_entries(value: Json, key: str) -> list[dict[str, Any]]:
    entries = value.get(key) if isinstance(value, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _as_int(value: Json) -> int:
    """A count, also as text; 0 for anything else."""
    return as_count(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 19 else value)


_RENDER_TIMEOUT_S = 30.0


async def render_prompt(endpoint: Endpoint, body: bytes) -> str:
    """The prompt that the server renders from the request `body`.

    Raises `NotFound` if the server does not tell it.
    """
    from aiohttp import ClientError, ClientSession, ClientTimeout

    request = canonical.loads(body)
    root = endpoint.base_url.rstrip("/").removesuffix("/v1")
    shared = {key: request[key] for key in ("messages", "tools") if key in request}
    with suppress(ClientError, OSError, ValueError, KeyError, TypeError):
        async with ClientSession(timeout=ClientTimeout(total=_RENDER_TIMEOUT_S)) as http:
            if endpoint.kind == "ollama":
                debug = {**request, "stream": False, "_debug_render_only": True}
                reply = await _post_json(http, f"{endpoint.base_url}/chat", debug)
                return str(reply["_debug_info"]["rendered_template"])
            if endpoint.kind == "llama.cpp":
                return str((await _post_json(http, f"{root}/apply-template", shared))["prompt"])
            if endpoint.kind == "vllm":
                tokenize_body = {
                    **shared,
                    "model": request["model"],
                    "add_generation_prompt": True,
                    "return_token_strs": True,
                }
                return "".join((await _post_json(http, f"{root}/tokenize", tokenize_body))["token_strs"])
    raise NotFound(f"{endpoint.name} has no way to show the prompt that it renders")


async def _post_json(http: ClientSession, url: str, value: Json) -> Json:
    data, headers = canonical.dumps(value), {"content-type": "application/json"}
    async with http.post(url, data=data, headers=headers, allow_redirects=False) as answer:
        answer.raise_for_status()
        return await read_json(answer)
