"""Blocks: the parts of a request, stored once under the digest of their canonical JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

HEADER: Final = "header"
"""Kind of the block with a message's role and other members, without its content."""
NOT_RECORDED: Final = "not_recorded"
"""Kind of a block that stands for content that the recording lacks."""
UNREADABLE: Final = "unreadable"
"""Kind of a block that stands for a record that could not be read."""
ASSISTANT: Final = frozenset({"assistant", "model"})
"""Roles of what a model generated."""
TOOL: Final = "tool"
"""Kind of a block with a tool's definition."""

MARKER_KEYS: Final = ("cache_control", "prompt_cache_breakpoint")
"""Keys of a cache breakpoint in a block or in an item of a tool result; it is no content (facts §2, §4)."""


class Block(Struct, frozen=True, gc=False):
    """One part of a context, identified by `digest` (32 hex digits).

    `kind` is the provider's own type (``text``, ``tool_use``, ``function_call`` ...) or one of ours (``header``,
    ``tool``, ``not_recorded``, ``unreadable``). `body` is its canonical JSON.
    """

    digest: str
    kind: str
    body: bytes

    def value(self) -> Json:
        """Decode the body, anew on each call."""
        return canonical.loads(self.body)

    def member(self, key: str) -> Json:
        """One member of the body; None if it is missing or the body is no object (a damaged file)."""
        value = self.value()
        return value.get(key) if isinstance(value, dict) else None

    def __hash__(self) -> int:
        return hash(self.digest)


class Place(NamedTuple):
    """Position of a block in a request.

    - `section`: ``tools``, ``system`` or ``messages``.
    - `role`: the message's role ("" outside messages).
    - `mark`: what the transcript says it is: ``summary`` (a compaction's text), ``memory``, ``file`` (of a project),
      ``meta`` (added by the client, not by a person) or "".
    """

    section: str
    role: str = ""
    mark: str = ""


@lru_cache(maxsize=256)
def message_place(role: str, mark: str = "") -> Place:
    return Place("messages", role, mark)


class Item(NamedTuple):
    """A block at its place in a request."""

    block: Block
    place: Place


def make(kind: str, value: Json) -> Block:
    """Make the block of `kind` from a JSON `value` without cache breakpoints.

    See `without_markers`. The digest is that of the canonical JSON, with the kind if the JSON lacks it, so that kinds
    never share a digest.
    """
    body = canonical.dumps(value)
    kind_in_body = isinstance(value, Mapping) and value.get("type") == kind
    return Block(canonical.digest(body) if kind_in_body else digest_with_kind(kind, body), kind, body)


def digest_with_kind(kind: str, body: bytes) -> str:
    return canonical.digest(kind.encode("utf-8", "replace") + b"\0" + body)


def from_part(value: Json, default_kind: str = "text") -> Block:
    """Make the block of a provider's content part; one without type is of `default_kind`."""
    kind = value.get("type", default_kind) if isinstance(value, Mapping) else default_kind
    return make(kind if isinstance(kind, str) else default_kind, without_markers(value))


def text(content: str) -> Block:
    return make("text", {"type": "text", "text": content})


def header(role: str, extra: Mapping[str, Json] | None = None) -> Block:
    """Make the header of a message; `extra`: its other members except the content."""
    return make(HEADER, {"role": role, **(extra or {})})


def unreadable(place: str, reason: str) -> Block:
    """Make a placeholder for a record that could not be read.

    `place` is ``line 812`` or a JSON path.
    """
    return make(UNREADABLE, {"type": UNREADABLE, "place": place, "reason": reason})


def without_markers(value: Json) -> Json:
    """Remove cache breakpoints from `value` and a tool result's items, not from a tool's input."""
    if not isinstance(value, dict):
        return value
    bare = value
    if any(key in value for key in MARKER_KEYS):
        bare = {key: item for key, item in value.items() if key not in MARKER_KEYS}
    content = bare.get("content")
    if bare.get("type") == "tool_result" and isinstance(content, list):
        items = [without_markers(item) for item in content]
        if any(a is not b for a, b in zip(items, content, strict=True)):
            bare = {**bare, "content": items}
    return bare
