"""What a file without readable context is, in words for a message: ``a HAR file``, ``binary data at byte 0``."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import obj

_MAGIC: Final = (
    (b"SQLite format 3\0", "a SQLite database"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_JSON_KINDS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"log"}), "a HAR file"),
    (frozenset({"sessionId", "projectHash"}), "a Gemini CLI session"),
    (frozenset({"eval", "plan"}), "an Inspect log"),
    (frozenset({"eval", "version"}), "an Inspect log"),
    (frozenset({"trajectory", "history"}), "a SWE-agent trajectory"),
    (frozenset({"trajectory_format", "messages"}), "a mini-SWE-agent trajectory"),
    (frozenset({"task_id", "traj"}), "a tau-bench result"),
    (frozenset({"resourceSpans"}), "an OpenTelemetry trace"),
    (frozenset({"stats", "agent"}), "an OpenHands state"),
)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def what_is(head: bytes, name: str = "") -> str:
    """What the bytes at a file's beginning are; `name` (the file's) is not needed to tell."""
    if not head:
        return "an empty file"
    if not head.strip():
        return "a file of white space only"
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    found = file_head.values(head, limit=20)
    # A bare word or number parses as JSON too, and tells nothing.
    found = [value for value in found if isinstance(value, dict | list)]
    if found and head.lstrip(b"\xef\xbb\xbf \t\r\n\0")[:1] in (b"{", b"["):
        return _json_kind(found)
    binary = _binary_at(head)
    if binary is not None:
        return f"binary data at byte {binary}"
    return _text_kind(head)


def _binary_at(head: bytes) -> int | None:
    odd = _CONTROL.search(head)
    try:
        head[: file_head.HEAD_BYTES - 4].decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return min(error.start, odd.start()) if odd else error.start
    return odd.start() if odd else None


def _json_kind(found: list[Json]) -> str:
    first = found[0]
    if isinstance(first, dict):
        if len(found) > 1 and str(first.get("type", "")).startswith("session."):
            return "a Copilot CLI session"
        if len(found) > 1 and first.get("type") == "session" and "cwd" in first:
            return "a pi session"
        for keys, words in _JSON_KINDS:
            if keys <= first.keys() and (words != "a HAR file" or "entries" in obj(first["log"])):
                return words
    return "JSON without any message of a model" if len(found) == 1 else "JSON lines without any message of a model"


def _text_kind(head: bytes) -> str:
    text = file_head.text_of_head(head)
    if "# aider chat started at" in text[:2000]:
        return "an aider history"
    if re.match(r"(event|data): ?", text):
        return "an event stream (SSE)"
    if re.match(r"(---\s*\n)?(http_)?interactions:", text):
        return "a VCR cassette"
    if re.match(r"\s*<(!doctype html|html)", text, re.IGNORECASE):
        return "an HTML page"
    return "text without any JSON record"
