"""Google's explicit caching: contents that are kept under a name until they expire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.offline.exchange import ApiRequest, CachedContent, Refusal, Reply
from ctxtui.offline.google.models import gemini
from ctxtui.offline.google.validate import (
    CACHED,
    as_entries,
    content_refusals,
    invalid_argument,
    shape_refusals,
    to_camel_case,
)
from ctxtui.offline.provider import Provider
from ctxtui.wire.grammar import GOOGLE

PREFIX: Final = "cachedContents/"
LIFETIME_S: Final = 3600.0
"""Seconds that a content is kept by default (Gemini API docs, context caching)."""
_CACHED_MEMBERS: Final = ("contents", "tools", "toolConfig", "systemInstruction")
_TTL: Final = re.compile(r"(\d+(?:\.\d+)?)s")
_MAX_EXPIRY: Final = 253_402_300_799.0
"""The end of the year 9999, in Unix seconds."""


def find(provider: Provider, name: str) -> CachedContent | Refusal:
    """The cached content `name`, or the refusal if there is none or it has expired."""
    cached = provider.cached.get(f"{PREFIX}{name.rpartition('/')[2]}")
    if cached is None or cached.expires <= provider.now():
        return Refusal("CachedContent not found (or permission denied)", 403, rule="no cached content")
    return cached


def find_named(provider: Provider, body: Json) -> CachedContent | Refusal | None:
    """The cached content that a request names, or its refusal; None if it names none."""
    name = as_dict(to_camel_case(body)).get("cachedContent")
    return find(provider, name) if isinstance(name, str) and name else None


def find_conflicts(cached: CachedContent, body: Json, model: str) -> list[Refusal]:
    """Check a request against the cached content that it names."""
    if cached.model != model:
        message = f"Model used by GenerateContent request (models/{model}) and CachedContent (models/{cached.model})"
        return [invalid_argument(f"{message} has to be the same.", "other model")]
    if {"systemInstruction", "tools", "toolConfig"} & as_dict(body).keys():
        message = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
        message += "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        return [invalid_argument(message, "next to cached content")]
    return []


def merge(body: Mapping[str, Json], cached: CachedContent | None) -> dict[str, Json]:
    """The request with the contents of `cached` in front of its own."""
    if cached is None:
        return dict(body)
    body_members = dict(as_dict(to_camel_case(dict(body))))
    body_members.pop("cachedContent", None)
    contents = [*as_entries(cached.contents.get("contents")), *as_entries(body_members.get("contents"))]
    return {**body_members, **cached.contents, "contents": contents}


def find_refusals(provider: Provider, request: ApiRequest) -> list[Refusal]:
    """The reasons to refuse a request to cache contents."""
    value = to_camel_case(request.body)
    refusals = [*shape_refusals(value, CACHED, ()), *content_refusals(as_dict(value))]
    if not refusals and gemini(_model_name(value), provider.strict_models) is None:
        refusals = [
            Refusal(f"models/{_model_name(value)} is not found for API version v1beta.", 404, rule="unknown model")
        ]
    return refusals


def _model_name(value: Json) -> str:
    return str(as_dict(value).get("model")).rpartition("/")[2]


def create(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """Keep contents for later requests, which name them; a refusal if they are too small."""
    value = dict(as_dict(to_camel_case(request.body)))
    model = _model_name(value)
    rules = gemini(model, provider.strict_models)
    assert rules is not None
    contents: dict[str, Json] = {key: value[key] for key in _CACHED_MEMBERS if key in value}
    weighed = provider.ledger.weigh(GOOGLE, canonical.dumps({"contents": [], **contents}), model)
    if weighed.tokens < rules.min_cached:
        message = f"Cached content is too small. total_token_count={weighed.tokens}, min_total_token_count="
        return invalid_argument(f"{message}{rules.min_cached}", "small")
    now = provider.now()
    name = PREFIX + provider.names.new("", 16).lower()
    title = str(value.get("displayName") or "")
    cached = CachedContent(name, model, contents, weighed.tokens, now, now, now + LIFETIME_S, title)
    refusal = _set_expiry(cached, value, now)
    if refusal is not None:
        return refusal
    provider.cached[name] = cached
    return Reply(body=cached.resource())


def _set_expiry(cached: CachedContent, value: Mapping[str, Json], now: float) -> Refusal | None:
    ttl, expires = value.get("ttl"), value.get("expireTime")
    if isinstance(ttl, str):
        match = _TTL.fullmatch(ttl)
        if match is None or now + float(match[1]) > _MAX_EXPIRY:
            return invalid_argument(
                f"Invalid value at 'ttl' (type.googleapis.com/google.protobuf.Duration), {ttl!r}", "ttl"
            )
        cached.expires = now + float(match[1])
    elif isinstance(expires, str):
        try:
            cached.expires = min(max(0.0, datetime.fromisoformat(expires).timestamp()), _MAX_EXPIRY)
        except (ValueError, OverflowError):
            return invalid_argument(f"Invalid value at 'expire_time' (TYPE_TIMESTAMP), {expires!r}", "expire time")
    return None


def update(provider: Provider, name: str, value: Mapping[str, Json]) -> Reply | Refusal:
    """Change how long a content is kept."""
    cached = find(provider, name)
    if isinstance(cached, Refusal):
        return cached
    now = provider.now()
    refusal = _set_expiry(cached, as_dict(to_camel_case(dict(value))), now)
    if refusal is not None:
        return refusal
    cached.updated = now
    return Reply(body=cached.resource())
