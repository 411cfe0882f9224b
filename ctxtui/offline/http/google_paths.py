"""The paths of Google's API on the offline server: models, their methods, cached contents.

Methods and cached contents exist in the form for API keys and in Vertex AI's; the list of models only in the former.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from aiohttp import web

from ctxtui.offline.exchange import NotJson, Refusal, Reply, parse
from ctxtui.offline.google import cached_contents, generate_api
from ctxtui.offline.google.generate_api import Target
from ctxtui.offline.google.models import describe_model, gemini, list_models
from ctxtui.offline.http.routes import REFUSED_KEY, ServedRoute
from ctxtui.offline.http.sending import json_response
from ctxtui.offline.provider import Provider

_VERSION: Final = "v1(?:alpha|beta|beta1)?"
_VERTEX: Final = "/projects/[^/]+/locations/[^/]+"
ID_HEADER: Final = "x-goog-request-id"

Post = Callable[[str, ServedRoute, web.Request], Awaitable[web.StreamResponse]]


def _check_key(query: str, headers: Mapping[str, str]) -> Refusal | None:
    key = headers.get("x-goog-api-key") or query or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key:
        message = (
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key "
        )
        return Refusal(f"{message}or other form of API consumer identity to call this API.", 403, rule="key")
    return Refusal("API key not valid. Please pass a valid API key.", 400, rule="key") if REFUSED_KEY in key else None


def _make_route(request: web.Request, method: str) -> ServedRoute:
    streams = method == "streamGenerateContent"
    target = Target(request.match_info["model"], streams, streams and request.query.get("alt") == "sse")
    counts = method == "countTokens"
    return ServedRoute(
        find_refusals=partial(
            generate_api.find_count_refusals if counts else generate_api.find_refusals, target=target
        ),
        serve=partial(generate_api.count_tokens if counts else generate_api.generate, target=target),
        format_error=generate_api.format_error,
        id_header=ID_HEADER,
        check_key=partial(_check_key, request.query.get("key", "")),
    )


def is_google(request: web.Request) -> bool:
    """Whether a request is of a client of Google's API, at a path that other APIs have, too."""
    return any(name.lower().startswith("x-goog-") for name in request.headers)


def google_model(request: web.Request, strict: bool) -> web.Response:
    name = request.match_info["id"]
    if gemini(name, strict) is None:
        return _refusal_response(
            Refusal(f"models/{name} is not found for API version v1beta.", 404, rule="unknown model")
        )
    return json_response(describe_model(name))


def add_google(app: web.Application, provider: Provider, post: Post) -> None:
    """Add Google's paths to `app`; `post` serves a request with a body."""

    async def serve_method(request: web.Request) -> web.StreamResponse:
        return await post(request.path, _make_route(request, request.match_info["method"]), request)

    async def models(_: web.Request) -> web.StreamResponse:
        return json_response(list_models())

    async def model(request: web.Request) -> web.StreamResponse:
        return google_model(request, provider.strict_models)

    async def create_cached(request: web.Request) -> web.StreamResponse:
        route = ServedRoute(
            find_refusals=cached_contents.find_refusals,
            serve=cached_contents.create,
            format_error=generate_api.format_error,
            id_header=ID_HEADER,
            check_key=partial(_check_key, request.query.get("key", "")),
        )
        return await post(request.path, route, request)

    async def list_cached(_: web.Request) -> web.StreamResponse:
        now = provider.now()
        resources = [content.resource() for content in provider.cached.values() if content.expires > now]
        return json_response({"cachedContents": resources} if resources else {})

    async def cached(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        content = cached_contents.find(provider, name)
        if isinstance(content, Refusal):
            return _refusal_response(content)
        if request.method == "DELETE":
            del provider.cached[content.name]
            return json_response({})
        if request.method == "PATCH":
            try:
                change = parse(await request.read())
            except NotJson as error:
                return _refusal_response(Refusal(f"Invalid JSON payload received. {error}", rule="no JSON"))
            changed = cached_contents.update(provider, name, change)
            return json_response(changed.body) if isinstance(changed, Reply) else _refusal_response(changed)
        return json_response(content.resource())

    version = f"/{{version:{_VERSION}(?:{_VERTEX})?}}"
    publisher = f"/{{version:{_VERSION}(?:{_VERTEX}/publishers/google)?}}"
    methods = "generateContent|streamGenerateContent|countTokens"
    app.router.add_post(f"{publisher}/models/{{model:[^/:]+}}:{{method:{methods}}}", serve_method)
    app.router.add_get("/v1beta/models", models)
    app.router.add_get("/v1beta/models/{id}", model)
    app.router.add_post(f"{version}/cachedContents", create_cached)
    app.router.add_get(f"{version}/cachedContents", list_cached)
    for method in ("GET", "PATCH", "DELETE"):
        app.router.add_route(method, f"{version}/cachedContents/{{name}}", cached)


def _refusal_response(refusal: Refusal) -> web.Response:
    return json_response(generate_api.format_error(refusal, ""), refusal.status)
