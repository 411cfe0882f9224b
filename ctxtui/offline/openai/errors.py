"""Errors as OpenAI's two dialects spell them."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal

_TYPES: Final = {
    429: ("rate_limit_exceeded", "tokens"),
    500: ("server_error", "server_error"),
    503: ("server_error", "server_error"),
    529: ("server_error", "server_error"),
}


def error(refusal: Refusal, _request_id: str) -> Json:
    """The error body."""
    code, kind = refusal.code, refusal.type
    if refusal.status in _TYPES:
        default, kind = _TYPES[refusal.status]
        code = code or default
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}}
