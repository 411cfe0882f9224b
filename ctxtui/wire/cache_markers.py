"""Add and remove cache breakpoints on a request's blocks (facts §2, §4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import HEADER, TOOL, Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.skeleton import markers_json, read_markers, read_styles
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.parts import WireMarker
from ctxtui.wire.request import Request

_KEYS: Final = {ANTHROPIC: "cache_control", CHAT: "prompt_cache_breakpoint", RESPONSES: "prompt_cache_breakpoint"}
"""The member of a block that is a breakpoint, by dialect."""
_UNMARKED: Final = frozenset({HEADER, "thinking", "redacted_thinking", "not_recorded", "unreadable"})
"""Kinds of blocks that Anthropic accepts no breakpoint on."""
_MARKED_OPENAI: Final = frozenset("text image_url input_audio file input_text input_image input_file".split())
"""Kinds of blocks that OpenAI accepts a breakpoint on."""


def takes_marker(item: Item, dialect: str) -> bool:
    """Whether the provider accepts a breakpoint on the block of `item`."""
    if dialect not in _KEYS:
        return False
    if dialect == ANTHROPIC:
        text = item.block.member("text") if item.block.kind == "text" else "-"
        return item.block.kind not in _UNMARKED and bool(str(text).strip())
    return (
        item.block.kind in _MARKED_OPENAI and item.place.role not in ("assistant", "tool") and item.block.kind != TOOL
    )


def make_marker(dialect: str, ttl: str = "") -> Json:
    """The value of a breakpoint's member; `ttl`: its lifetime, such as ``1h`` ("": the default)."""
    member = {"ttl": ttl} if ttl else {}
    return {"type": "ephemeral", **member} if dialect == ANTHROPIC else {"mode": "explicit", **member}


def with_markers(request: Request, changes: Mapping[int, str | None]) -> Request:
    """Set or remove the breakpoints on items.

    `changes` maps an item's index to a TTL ("": the default), or to None, which removes the breakpoint. Other
    breakpoints inside the content of these items are removed. Items are numbered as in `request.items`; those that the
    provider keeps (``previous_response_id``) are skipped.
    """
    dialect = request.skeleton.dialect
    first, count = request.skeleton.parts.get("carried", (0, 0))
    markers = read_markers(request.skeleton.parts)
    for item, ttl in changes.items():
        if first <= item < first + count:
            continue
        own_index = item - count if item >= first + count else item
        markers.pop(own_index, None)
        if ttl is not None:
            value = request.items[item].block.value()
            markers[own_index] = (WireMarker(-1, _KEYS[dialect], len(value), make_marker(dialect, ttl)),)
    parts = {key: value for key, value in request.skeleton.parts.items() if key != "marks"}
    if markers:
        parts["marks"] = markers_json(markers)
    return Request(request.items, Skeleton(dialect, parts))


def without_params(request: Request, names: Iterable[str]) -> Request:
    """Remove the top-level members `names`, except sections."""
    frame = Frame.from_json(request.skeleton.parts["frame"])
    for name in names:
        if frame.index(name) is None:
            frame = frame.without(name)
    return Request(
        request.items, Skeleton(request.skeleton.dialect, {**request.skeleton.parts, "frame": frame.to_json()})
    )


def with_param(request: Request, name: str, value: Json) -> Request:
    """Set the top-level member `name`: in place if it exists, else as the last one.

    Of duplicates the last is set.
    """
    frame = Frame.from_json(request.skeleton.parts["frame"])
    style = read_styles(request.skeleton.parts)[0]
    entries = list(frame.entries)
    index = max((n for n, entry in enumerate(entries) if entry.name == name and entry.raw is not None), default=None)
    if index is None:
        frame = frame.with_section(name, style, len(entries))
        entries, index = list(frame.entries), len(entries)
    entries[index] = replace(entries[index], raw=style.write(value, 1))
    changed = Frame(tuple(entries), frame.after)
    return Request(
        request.items, Skeleton(request.skeleton.dialect, {**request.skeleton.parts, "frame": changed.to_json()})
    )
