"""Answers that ctxtui gives itself, where none can come from a provider."""

from __future__ import annotations

import json
from typing import Final

_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 502: "Bad Gateway"}


def refusal(status: int, why: str) -> bytes:
    """An answer that ctxtui gives itself, in the shape that the SDKs show; the connection ends with it."""
    error = {"type": "error", "error": {"type": "ctxtui_relay", "message": f"ctxtui: {why}"}}
    body = json.dumps(error).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
