"""Explicit caching: contents that the provider keeps under a name until they expire."""

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
_TTL: Final = re.compile(r"(\d+(?:\.\d+)?)s")


def find(provider: Provider, name: str) -> CachedContent | Refusal:
    """Return the cached content `name` that has not expired."""
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
        told = f"Model used by GenerateContent request (models/{model}) and CachedContent (models/{cached.model}) has "
        return [wrong(f"{told}to be the same.", "other model")]
    if {"systemInstruction", "tools", "toolConfig"} & members(body).keys():
        told = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
        told += "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        return [wrong(told, "beside cached content")]
    return []


def merged(body: Mapping[str, Json], cached: CachedContent | None) -> dict[str, Json]:
    """Return the request with the contents of `cached` in front of its own."""
    own = dict(members(camel(dict(body))))
    if cached is None:
        return dict(body)
    own.pop("cachedContent", None)
    contents = [*as_rows(cached.held.get("contents")), *as_rows(own.get("contents"))]
    return {**own, **cached.held, "contents": contents}


def create_refused(provider: Provider, request: ApiRequest) -> list[Refusal]:
    """Why a content is not cached."""
    value = camel(request.body)
    found = [*shape_refusals(value, CACHED, ()), *content_refusals(members(value))]
    if not found and gemini(_model(value), provider.strict_models) is None:
        found = [Refusal(f"models/{_model(value)} is not found for API version v1beta.", 404, rule="unknown model")]
    return found


def _model(value: Json) -> str:
    return str(members(value).get("model")).rpartition("/")[2]


def create(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """Keep a content."""
    value = dict(members(camel(request.body)))
    model = _model(value)
    rules = gemini(model, provider.strict_models)
    assert rules is not None
    held: dict[str, Json] = {key: value[key] for key in _HELD if key in value}
    weighed = provider.ledger.weigh(GOOGLE, canonical.dumps({"contents": [], **held}), model)
    if weighed.tokens < rules.min_cached:
        told = f"Cached content is too small. total_token_count={weighed.tokens}, min_total_token_count="
        return wrong(f"{told}{rules.min_cached}", "small")
    now = provider.now()
    name = PREFIX + provider.names.new("", 16).lower()
    title = str(value.get("displayName") or "")
    cached = CachedContent(name, model, held, weighed.tokens, now, now, now + LIFE, title)
    wrong_life = _set_life(cached, value, now)
    if wrong_life is not None:
        return wrong_life
    provider.cached[name] = cached
    return Reply(body=cached.resource())


def _set_life(cached: CachedContent, value: Mapping[str, Json], now: float) -> Refusal | None:
    ttl, expires = value.get("ttl"), value.get("expireTime")
    if isinstance(ttl, str):
        found = _TTL.fullmatch(ttl)
        if found is None:
            return wrong(f"Invalid value at 'ttl' (type.googleapis.com/google.protobuf.Duration), {ttl!r}", "ttl")
        cached.expires = now + float(found[1])
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
    wrong_life = _set_life(cached, members(camel(dict(value))), provider.now())
    cached.updated = provider.now()
    return wrong_life or Reply(body=cached.resource())
