"""A request's bytes in the pieces that an edit may be about: what comes before the messages, each part of each message
with what wraps it, what comes behind; and what an attached recording says of the bytes that came and that left."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

_DECODER = json.JSONDecoder()


def pieces(body: str) -> list[str]:
    """The pieces of a request of the Messages, the Responses or Google's API; joined by commas they are all of it."""
    name = next(name for name in ('"messages":[', '"contents":[', '"input":[') if name in body)
    start = body.index(name) + len(name)
    found, end = [body[:start]], start
    for item, begin, end in _items(body, start):
        text = body[begin:end]
        parts = next((key for key in ("content", "parts") if isinstance(item.get(key), list)), "")
        if parts and item[parts] and f'"{parts}":[' in text and "role" in item:
            inner = text.index(f'"{parts}":[') + len(f'"{parts}":[')
            found.append(text[:inner])
            last = inner
            for _, at, last in _items(text, inner):
                found.append(text[at:last])
            found.append(text[last:])
        else:
            found.append(text)
    return [*found, body[end:]]


def _items(text: str, at: int) -> Iterator[tuple[dict[str, Any], int, int]]:
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield value, at, end
        at = end + 1 if text[end] == "," else end


def bodies(lines: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """By exchange: what the client sent over HTTP, and what left in its place."""
    asked: dict[str, bytes] = {}
    sent: dict[str, bytes] = {}
    for line in lines:
        for name, known in (("asked", asked), ("sent", sent)):
            told = line.get(name, {}).get("body")
            if told and told["size"]:
                said = base64.b64decode(told["base64"]) if "base64" in told else told.get("text", "").encode()
                if "like" in told:
                    before = known[told["like"]]
                    said = before[: told["head"]] + said + (before[-told["tail"] :] if told["tail"] else b"")
                known[line["x"]] = said
    return {x: body.decode() for x, body in asked.items()}, {x: body.decode() for x, body in sent.items()}
