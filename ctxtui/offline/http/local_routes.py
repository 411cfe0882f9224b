"""The paths of a local server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from aiohttp import web

from ctxtui.core.canonical import Json
from ctxtui.offline.data import card, encoding
from ctxtui.offline.http.routes import Serve, ServedRoute
from ctxtui.offline.http.sending import json_response
from ctxtui.offline.json_shape import members
from ctxtui.offline.local import chat_api, ollama_api
from ctxtui.offline.local.listing import LISTINGS, Told, shown
from ctxtui.offline.local.prompt import rendered
from ctxtui.offline.local.servers import LLAMA_CPP, LM_STUDIO, OLLAMA, VLLM, Local, error, refused

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def local_desks(local: Local) -> dict[str, ServedRoute]:
    """What a local server serves, by path."""
    made = {"/v1/chat/completions": _desk(local, partial(chat_api.completions, local))}
    if local.kind == OLLAMA:
        made["/api/chat"] = _desk(local, partial(ollama_api.chat, local))
    if local.kind == LLAMA_CPP:
        made["/v1/chat/completions/input_tokens"] = _desk(local, partial(chat_api.input_tokens, local))
    return made


def _desk(local: Local, serve: Serve) -> ServedRoute:
    return ServedRoute(
        lambda _, asked: refused(local, asked),
        serve,
        lambda refusal, _: error(local, refusal),
        "x-request-id",
        lambda _: None,
    )


def add_listings(app: web.Application, local: Local) -> None:
    """Add what the server tells of itself and of texts."""
    for path, told in LISTINGS[local.kind].items():
        app.router.add_get(path, _telling(local, told))
    for path, answer in _POSTED[local.kind].items():
        app.router.add_post(path, _answering(local, answer))


def _telling(local: Local, told: Told) -> Handler:
    async def handler(_: web.Request) -> web.StreamResponse:
        return json_response(told(local))

    return handler


def _answering(local: Local, answer: Callable[[Local, dict[str, Json]], Json]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            body = members(await request.json())
        except ValueError as trouble:
            return json_response({"error": f"invalid JSON: {trouble}"}, 400)
        found = answer(local, body)
        return json_response({"error": "model not found"}, 404) if found is None else json_response(found)

    return handler


def _show(local: Local, body: dict[str, Json]) -> Json:
    return shown(local, str(body.get("model") or body.get("name")))


def _tokens(local: Local, text: str) -> list[int]:
    ids: list[int] = encoding(card(local.models[0].name).encoding).encode_ordinary(text)
    return ids


def _llama_tokenize(local: Local, body: dict[str, Json]) -> Json:
    return {"tokens": _tokens(local, str(body.get("content", "")))}


def _llama_template(_: Local, body: dict[str, Json]) -> Json:
    return {"prompt": rendered(body)}


def _vllm_tokenize(local: Local, body: dict[str, Json]) -> Json:
    text = str(body["prompt"]) if "prompt" in body else rendered(body)
    ids = _tokens(local, text)
    return {"count": len(ids), "max_model_len": local.models[0].window, "tokens": ids, "token_strs": None}


_POSTED: Final[dict[str, dict[str, Callable[[Local, dict[str, Json]], Json]]]] = {
    OLLAMA: {"/api/show": _show},
    LM_STUDIO: {},
    LLAMA_CPP: {"/tokenize": _llama_tokenize, "/apply-template": _llama_template},
    VLLM: {"/tokenize": _vllm_tokenize},
}
