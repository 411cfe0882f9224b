"""Parse the JSON values in a file's head, and repair an object or list that the head cuts.

The head is the beginning of a file, by which its format is detected.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

HEAD_BYTES: Final = 65536

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[\[\]{},]|[^\s\[\]{},"]+', re.DOTALL)
"""A token of JSON; group 1 is "" for a string without its closing quote."""
_HALF: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9A-Fa-f]{0,3})?$")
"""A cut escape; group 1 are the complete escaped backslashes before it."""
_CLOSERS: Final = {"{": "}", "[": "]"}


def decode_head(head: bytes) -> str:
    """Decode the first `HEAD_BYTES` of `head`; invalid UTF-8 (a cut character) is replaced."""
    return head[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def parse_values(head: bytes, limit: int = 50) -> list[Json]:
    """Parse up to `limit` consecutive JSON values in `head`.

    Text between them is skipped to the end of its line. An object or list without an end is the last value: its
    complete members, and a cut string that is a member's value, so that a 3 MB body still shows its first keys. The
    values are shared between sniffers and must not be changed.
    """
    return list(_cached_values(head[:HEAD_BYTES], limit))


@lru_cache(maxsize=4)
def _cached_values(head: bytes, limit: int) -> tuple[Json, ...]:
    # The sniffers of all formats read the same head.
    return tuple(_parse_values(head, limit))


def _parse_values(head: bytes, limit: int) -> list[Json]:
    text = decode_head(head)
    parsed: list[Json] = []
    offset = _next_value(text, 0)
    while offset < len(text) and len(parsed) < limit:
        try:
            value, offset = canonical.raw_decode(text, offset)
        except (ValueError, RecursionError):
            if _is_cut_container(text, offset):
                mended = repair_json(text[offset:], keep_cut_string=True)
                return [*parsed, mended] if mended is not None else parsed
            offset = _next_line(text, offset)
        else:
            parsed.append(value)
        offset = _next_value(text, offset)
    return parsed


def parse_records(head: bytes, limit: int = 50) -> list[dict[str, Json]]:
    """List the objects among the first `limit` values in `head`; of a list, its items."""
    flat = [item for value in parse_values(head, limit) for item in (value if isinstance(value, list) else [value])]
    return [item for item in flat[:limit] if isinstance(item, dict)]


def repair_json(text: str, *, keep_cut_string: bool = False) -> Json:
    """Parse the cut JSON `text` without its incomplete end; None if that is no JSON.

    With `keep_cut_string`, a member's value that is cut is kept: a system prompt may be longer than the head.
    """
    end, before = 0, ""
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0] == '"' and not match.group(1):
            if keep_cut_string and before.endswith(":"):
                closed = text[: match.start()] + _HALF.sub(r"\1", token) + '"'
                with suppress(ValueError, RecursionError):
                    return canonical.loads(closed + _missing_closers(closed))
            break
        if token in ",[]{}":
            end = match.start() if token == "," else match.end()
        before = token
    try:
        return canonical.loads(text[:end] + _missing_closers(text[:end]))
    except (ValueError, RecursionError):
        return None


def _missing_closers(text: str) -> str:
    closers: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _CLOSERS:
            closers.append(_CLOSERS[token])
        elif token in "]}" and closers:
            closers.pop()
    return "".join(reversed(closers))


def _next_value(text: str, offset: int) -> int:
    while offset < len(text) and (text[offset].isspace() or text[offset] == "\0"):
        offset += 1
    return offset


def _next_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _is_cut_container(text: str, offset: int) -> bool:
    if text[offset] not in "{[":
        return False
    depth = 0
    for match in _TOKEN.finditer(text, offset):
        token = match.group()
        depth += (token in _CLOSERS) - (token in "]}")
        if depth == 0:
            return False
    return True
