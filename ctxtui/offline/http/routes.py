"""POST routes of the simulated Anthropic and OpenAI APIs, with checks for all routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.offline.anthropic import messages_api
from ctxtui.offline.anthropic.validate import MAX_BYTES
from ctxtui.offline.exchange import ApiRequest, NotJson, Refusal, Reply, StoredResponse, parse
from ctxtui.offline.openai import chat_api, responses_api
from ctxtui.offline.provider import Provider

REFUSED_KEY: Final = "invalid"
"""Keys that contain this word are refused, except by local servers."""


Serve = Callable[[Provider, ApiRequest], Reply | Refusal]


class ServedRoute(Struct, frozen=True):
    """One path of an API.

    - `find_refusals`: returns the reasons to refuse a request.
    - `serve`: makes the reply to a request without refusals, or refuses it.
    - `format_error`: makes the error body of a refusal and a request id, as the API does.
    - `id_header`: the header of the request id.
    - `check_key`: returns the refusal of a request without a valid key, by its headers; None if the key is valid.
    """

    find_refusals: Callable[[Provider, ApiRequest], list[Refusal]]
    serve: Serve
    format_error: Callable[[Refusal, str], Json]
    id_header: str
    check_key: Callable[[Mapping[str, str]], Refusal | None]


def _check_anthropic_key(headers: Mapping[str, str]) -> Refusal | None:
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key:
        return Refusal("x-api-key header is required", 401, rule="key")
    return Refusal("invalid x-api-key", 401, rule="key") if REFUSED_KEY in key else None


def _check_openai_key(headers: Mapping[str, str]) -> Refusal | None:
    key = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key:
        message = "You didn't provide an API key. You need to provide your API key in an Authorization header using "
        return Refusal(f"{message}Bearer auth (i.e. Authorization: Bearer YOUR_KEY).", 401, rule="key")
    if REFUSED_KEY in key:
        shown = f"{key[:4]}****{key[-4:]}"
        message = f"Incorrect API key provided: {shown}."
        message += " You can find your API key at https://platform.openai.com/account/api-keys."
        return Refusal(message, 401, code="invalid_api_key", rule="key")
    return None


_ANTHROPIC: Final = partial(
    ServedRoute, format_error=messages_api.format_error, id_header="request-id", check_key=_check_anthropic_key
)
_OPENAI: Final = partial(
    ServedRoute, format_error=chat_api.format_error, id_header="x-request-id", check_key=_check_openai_key
)
ROUTES: Final[dict[str, ServedRoute]] = {
    "/v1/messages": _ANTHROPIC(find_refusals=messages_api.find_refusals, serve=messages_api.create_message),
    "/v1/messages/count_tokens": _ANTHROPIC(
        find_refusals=partial(messages_api.find_refusals, counting=True), serve=messages_api.count_tokens
    ),
    "/v1/chat/completions": _OPENAI(find_refusals=chat_api.find_refusals, serve=chat_api.create_completion),
    "/v1/responses": _OPENAI(find_refusals=responses_api.find_refusals, serve=responses_api.create_response),
    "/v1/responses/input_tokens": _OPENAI(
        find_refusals=partial(responses_api.find_refusals, counting=True), serve=responses_api.count_tokens
    ),
}
"""By path. Routes of Google and of local servers are made elsewhere (``http/google_paths``, ``offline/local``)."""


def serve(
    route: ServedRoute,
    provider: Provider,
    raw: bytes,
    headers: Mapping[str, str],
    responses: dict[str, StoredResponse] | None = None,
) -> Reply | Refusal:
    """The reply to a request with body `raw`, or its refusal.

    Checks, in order: size, key, rate limit, JSON, the API's rules. `responses` are those stored for its WebSocket;
    None: it came by HTTP.
    """
    if len(raw) > MAX_BYTES:
        return Refusal("Request exceeds the maximum size", 413, rule="too large")
    refusal = route.check_key(headers)
    if refusal is not None:
        return refusal
    # The server makes the header `retry-after` of the seconds in `rule`.
    wait = provider.limits.wait_seconds(provider.now())
    if wait is not None:
        return Refusal("Rate limit reached. Please try again later.", 429, code=None, rule=f"rate limit {wait:.0f}")
    try:
        request = ApiRequest(raw, parse(raw), headers, responses)
    except NotJson as error:
        # Only OpenAI's APIs and local servers have this header.
        if route.id_header != "x-request-id":
            return Refusal(f"The request body is not valid JSON: {error}", rule="no JSON")
        message = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your"
        return Refusal(f"{message} HTTP library correctly. {error})", rule="no JSON")
    refusals = route.find_refusals(provider, request)
    if refusals:
        return refusals[0]
    try:
        return route.serve(provider, request)
    except Malformed as error:
        return Refusal(str(error), rule="malformed")
