"""The prompt as a local server's template makes it: the text that the model really reads (facts §5)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound
from ctxtui.providers.bounded_answers import json_of
from ctxtui.providers.endpoint import Endpoint

_PATIENCE = 30.0


async def rendered(endpoint: Endpoint, body: bytes) -> str:
    """The rendered prompt of the request `body`. Raises `NotFound` where the server does not tell it."""
    from aiohttp import ClientError, ClientSession, ClientTimeout

    request = canonical.loads(body)
    found: str | None = None
    with suppress(ClientError, OSError, ValueError, TimeoutError, KeyError, TypeError):
        async with ClientSession(timeout=ClientTimeout(total=_PATIENCE)) as http:
            if endpoint.kind == "ollama":
                found = await _ollama(http, endpoint.base_url, request)
            elif endpoint.kind == "llama.cpp":
                found = await _llama_cpp(http, _root(endpoint), request)
            elif endpoint.kind == "vllm":
                found = await _vllm(http, _root(endpoint), request)
    if found is None:
        raise NotFound(f"{endpoint.name} does not tell how it renders a prompt")
    return found


def _root(endpoint: Endpoint) -> str:
    return endpoint.base_url.rstrip("/").removesuffix("/v1")


async def _posted(http: Any, url: str, value: Json) -> Json:
    data, headers = canonical.dumps(value), {"content-type": "application/json"}
    async with http.post(url, data=data, headers=headers, allow_redirects=False) as answer:
        answer.raise_for_status()
        return await json_of(answer)


async def _ollama(http: Any, base: str, request: Json) -> str:
    debug = {**request, "stream": False, "_debug_render_only": True}
    answer = await _posted(http, f"{base}/chat", debug)
    return str(answer["_debug_info"]["rendered_template"])


async def _llama_cpp(http: Any, root: str, request: Json) -> str:
    known = {key: request[key] for key in ("messages", "tools") if key in request}
    return str((await _posted(http, f"{root}/apply-template", known))["prompt"])


async def _vllm(http: Any, root: str, request: Json) -> str:
    known = {key: request[key] for key in ("model", "messages", "tools") if key in request}
    asked = {**known, "add_generation_prompt": True, "return_token_strs": True}
    return "".join((await _posted(http, f"{root}/tokenize", asked))["token_strs"])
