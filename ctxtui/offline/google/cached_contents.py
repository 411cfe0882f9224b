"""Google's explicit caching.

Contents that the provider keeps under a name until they expire. The handlers of ``cachedContents`` are here;
`generate_api` uses `named`, `conflicts` and `merged` for requests that name a cached content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import ApiRequest, CachedContent, Refusal, Reply
from ctxtui.offline.google.models import gemini
from ctxtui.offline.google.validate import CACHED, as_rows, camel, content_refusals, shape_refusals, wrong
from ctxtui.offline.json_shape import members
from ctxtui.offline.provider import Provider
from ctxtui.wire.grammar import GOOGLE

PREFIX: Final = "cachedContents/"
LIFE: Final = 3600.0
"""Seconds that a cached content lives by default (Gemini API docs, context caching)."""
_HELD: Final = ("contents", "tools", "toolConfig", "systemInstruction")
"""Members of a request that are cached."""
_TTL: Final = re.compile(r"(\d+(?:\.\d+)?)s")
"""A lifetime: seconds, followed by ``s``."""


def find(provider: Provider, name: str) -> CachedContent | Refusal:
    """Return the cached content `name`, or the refusal if there is none or it has expired."""
    cached = provider.cached.get(f"{PREFIX}{name.rpartition('/')[2]}")
    if cached is None or cached.expires <= provider.now():
        return Refusal("CachedContent not found (or permission denied)", 403, rule="no cached content")
    return cached


def named(provider: Provider, body: Json) -> CachedContent | Refusal | None:
    """Return the cached content that a request names; None if it names none."""
    name = members(camel(body)).get("cachedContent")
    return find(provider, name) if isinstance(name, str) and name else None


def conflicts(cached: CachedContent, body: Json, model: str) -> list[Refusal]:
    """Check a request against the cached content that it names."""
    if cached.model != model:
        message = (
            f"Model used by GenerateContent request (models/{model}) and CachedContent (models/{cached.model}) has "
        )
        return [wrong(f"{message}to be the same.", "other model")]
    if {"systemInstruction", "tools", "toolConfig"} & members(body).keys():
        message = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
        message += "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        return [wrong(message, "next to cached content")]
    return []


def merged(body: Mapping[str, Json], cached: CachedContent | None) -> dict[str, Json]:
    """Return the request with the contents of `cached` in front of its own."""
    body_members = dict(members(camel(dict(body))))
    if cached is None:
        return dict(body)
    body_members.pop("cachedContent", None)
    contents = [*as_rows(cached.contents.get("contents")), *as_rows(body_members.get("contents"))]
    return {**body_members, **cached.contents, "contents": contents}


def create_refused(provider: Provider, request: ApiRequest) -> list[Refusal]:
    """The reasons to refuse a request to cache contents."""
    value = camel(request.body)
    refusals = [*shape_refusals(value, CACHED, ()), *content_refusals(members(value))]
    if not refusals and gemini(_model_name(value), provider.strict_models) is None:
        refusals = [
            Refusal(f"models/{_model_name(value)} is not found for API version v1beta.", 404, rule="unknown model")
        ]
    return refusals


def _model_name(value: Json) -> str:
    return str(members(value).get("model")).rpartition("/")[2]


def create(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """Cache the contents of a request."""
    value = dict(members(camel(request.body)))
    model = _model_name(value)
    rules = gemini(model, provider.strict_models)
    assert rules is not None
    contents: dict[str, Json] = {key: value[key] for key in _HELD if key in value}
    weighed = provider.ledger.weigh(GOOGLE, canonical.dumps({"contents": [], **contents}), model)
    if weighed.tokens < rules.min_cached:
        message = f"Cached content is too small. total_token_count={weighed.tokens}, min_total_token_count="
        return wrong(f"{message}{rules.min_cached}", "small")
    now = provider.now()
    name = PREFIX + provider.names.new("", 16).lower()
    title = str(value.get("displayName") or "")
    cached = CachedContent(name, model, contents, weighed.tokens, now, now, now + LIFE, title)
    wrong_life = _set_expiry(cached, value, now)
    if wrong_life is not None:
        return wrong_life
    provider.cached[name] = cached
    return Reply(body=cached.resource())


def _set_expiry(cached: CachedContent, value: Mapping[str, Json], now: float) -> Refusal | None:
    ttl, expires = value.get("ttl"), value.get("expireTime")
    if isinstance(ttl, str):
        match = _TTL.fullmatch(ttl)
        if match is None:
            return wrong(f"Invalid value at 'ttl' (type.googleapis.com/google.protobuf.Duration), {ttl!r}", "ttl")
        cached.expires = now + float(match[1])
    elif isinstance(expires, str):
        try:
            cached.expires = datetime.fromisoformat(expires).timestamp()
        except ValueError:
            return wrong(f"Invalid value at 'expire_time' (TYPE_TIMESTAMP), {expires!r}", "expire time")
    return None


def update(provider: Provider, name: str, value: Mapping[str, Json]) -> Reply | Refusal:
    """Change how long a content is kept."""
    cached = find(provider, name)
    if isinstance(cached, Refusal):
        return cached
    wrong_life = _set_expiry(cached, members(camel(dict(value))), provider.now())
    cached.updated = provider.now()
    return wrong_life or Reply(body=cached.resource())
