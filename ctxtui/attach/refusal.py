"""Answers that ctxtui gives itself, where none can come from a provider: over HTTP, and as events of a WebSocket."""

from __future__ import annotations

import json
from typing import Final

from ctxtui.attach.http1 import END
from ctxtui.core.canonical import Json

_REASONS: Final = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    407: "Proxy Authentication Required",
    502: "Bad Gateway",
}


def refusal(status: int, why: str) -> bytes:
    """An answer of HTTP/1.1 in the shape that the SDKs show; the connection ends with it."""
    error = {"type": "error", "error": {"type": "ctxtui_relay", "message": f"ctxtui: {why}"}}
    body = json.dumps(error).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def events_of(answer: bytes) -> list[str]:
    """An answer of HTTP/1.1 as the messages of a WebSocket that say the same: the data of each event of a stream, or
    the error that a status tells."""
    head, _, body = answer.partition(END)
    start = head.split(b"\r\n", 1)[0].split(b" ")
    status = int(start[1]) if len(start) > 1 and start[1].isdigit() else 502
    events = [line[5:].strip().decode("utf-8", "replace") for line in body.splitlines() if line.startswith(b"data:")]
    if events and status == 200:
        return [event for event in events if event != "[DONE]"]
    try:
        told = json.loads(body)
    except ValueError:
        told = {}
    error: Json = told.get("error") if isinstance(told, dict) else None
    return [json.dumps({"type": "error", "status": status, "error": error or {"message": "refused"}})]
