"""Anthropic: cache markers (facts §2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.field_errors import mark_refusals
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import members, rows

MOST: Final = 4
"""Markers of one request, the automatic one included."""

_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})
_ORDER: Final = "Note that blocks are processed in the following order: `tools`, `system`, `messages`."


class MarkedPath(NamedTuple):
    """A block that carries a marker: its path and the marker's TTL."""

    path: str
    ttl: str


def cache_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """What is wrong with all markers of a request together."""
    yield from mark_refusals(body.get("cache_control"), ("cache_control",))
    marks = list(marked(body))
    automatic = body.get("cache_control")
    if isinstance(automatic, dict):
        ttl = str(automatic.get("ttl") or "5m")
        last = _last_block(body)
        own = members(last.get("cache_control")) if last is not None else {}
        if own and str(own.get("ttl") or "5m") != ttl:
            told = "cache_control: the last block already carries a cache_control with a different ttl"
            yield Refusal(told, rule="automatic ttl")
        elif not own:
            if len(marks) == MOST:
                told = f"cache_control: all {MOST} cache breakpoints are used by blocks; none is left for the request"
                yield Refusal(told, rule="too many markers")
            marks.append(MarkedPath("cache_control", ttl))
    if len(marks) > MOST and not (len(marks) == MOST + 1 and marks[-1].path == "cache_control"):
        told = f"A maximum of {MOST} blocks with cache_control may be provided. Found {len(marks)}."
        yield Refusal(told, rule="too many markers")
    yield from _order(marks)


def _order(marks: list[MarkedPath]) -> Iterator[Refusal]:
    short = False
    for mark in marks:
        if mark.ttl == "1h" and short:
            where = f"{mark.path}.ttl" if mark.path == "cache_control" else f"{mark.path}.cache_control.ttl"
            told = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            yield Refusal(f"{where}: {told} {_ORDER}", rule="ttl order")
            return
        short = short or mark.ttl == "5m"


def marked(body: Mapping[str, Json]) -> Iterator[MarkedPath]:
    """The blocks that carry a marker, in prompt order."""
    for n, tool in enumerate(rows(body.get("tools"))):
        yield from _mark(tool, f"tools.{n}")
    for n, text in enumerate(rows(body.get("system"))):
        yield from _mark(text, f"system.{n}")
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(members(message).get("content"))):
            path = f"messages.{n}.content.{m}"
            if members(block).get("type") == "tool_result":
                for k, part in enumerate(rows(block.get("content"))):
                    yield from _mark(part, f"{path}.tool_result.content.{k}")
            yield from _mark(block, path)


def _mark(block: Json, path: str) -> Iterator[MarkedPath]:
    mark = members(block).get("cache_control")
    if isinstance(mark, dict):
        yield MarkedPath(path, str(mark.get("ttl") or "5m"))


def _last_block(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The last block that a marker may stand on: where automatic caching puts its own."""
    for message in reversed(rows(body.get("messages"))):
        for block in reversed(rows(members(message).get("content"))):
            if members(block).get("type") not in _UNMARKED:
                return members(block)
        if isinstance(members(message).get("content"), str):
            return {}
    return None
