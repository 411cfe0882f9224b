"""Reads the cache markers of a request body: positions, lifetimes, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.cache.rules import CacheRules
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.request import Marker, Request

_UNMARKED: Final = frozenset({"thinking", "redacted_thinking", HEADER})
_ANSWERS: Final = frozenset({"output_text", "refusal"})
"""Kinds of blocks of an OpenAI answer, which may not have a marker."""


class BlockMarker(NamedTuple):
    """A marker on block `item` of the request (0-based).

    Its entry lives for `life` seconds after each use. `ends` is `CacheMarker.ends`: 1 for the automatic marker, which
    moves to the end of each request, else 0.
    """

    item: int
    life: float
    ends: int = 0


class MarkerRefusal(NamedTuple):
    """A reason for the provider to refuse the request with status 400.

    `item` is the index of the block that causes it (-1: the body).
    """

    message: str
    item: int = -1


class Markers(NamedTuple):
    """Valid markers in prompt order, and refusals of the others.

    `explicit`: the request asks OpenAI to cache only at marked positions.
    """

    valid: tuple[BlockMarker, ...]
    refusals: tuple[MarkerRefusal, ...]
    explicit: bool = False


def read_markers(request: Request, rules: CacheRules) -> Markers:
    """Read the markers of `request`, including the automatic one (facts §2, §4)."""
    return read_markers_on(request.items, request, rules)


def read_markers_on(items: Sequence[Item], request: Request, rules: CacheRules) -> Markers:
    """Like `read_markers`, for a request whose blocks are given as `items`."""
    if request.skeleton.dialect == ANTHROPIC or rules.mechanism.writes_at_markers:
        return _anthropic(items, request, rules)
    return _openai(items, request, rules)


def _anthropic(items: Sequence[Item], request: Request, rules: CacheRules) -> Markers:
    valid: list[BlockMarker] = []
    refusals: list[MarkerRefusal] = []
    block_markers = [marker for marker in request.markers if marker.key == "cache_control"]
    for marker in block_markers:
        problem = _find_refusal(items, marker, rules)
        if problem:
            refusals.append(MarkerRefusal(problem, marker.item))
        else:
            valid.append(BlockMarker(marker.item, rules.seconds(_lifetime_name(marker.value))))
    count = len(block_markers)
    control = request.params.get("cache_control")
    if control is not None:
        count = _automatic(items, control, rules, valid, refusals, count)
    if count > rules.markers > 0:
        refusals.append(
            MarkerRefusal(f"A maximum of {rules.markers} blocks with cache_control may be provided. Found {count}.")
        )
    for before, after in pairwise(valid):
        if after.life > before.life:
            refusals.append(
                MarkerRefusal(
                    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that "
                    "blocks are processed in the following order: `tools`, `system`, `messages`.",
                    after.item,
                )
            )
            break
    return Markers(tuple(valid), tuple(refusals))


def _automatic(
    items: Sequence[Item],
    control: Json,
    rules: CacheRules,
    valid: list[BlockMarker],
    refusals: list[MarkerRefusal],
    count: int,
) -> int:
    """Add the marker that a top-level `cache_control` puts on the last markable block.

    Returns the number of markers, of which `count` are on blocks. If the last block has a marker already, none is
    added: a different lifetime is refused; the same lifetime is refused only if the maximum is reached.
    """
    problem = _check_control(control, rules)
    if problem:
        refusals.append(MarkerRefusal(problem))
        return count
    last = next((n for n in range(len(items) - 1, -1, -1) if is_markable(items[n].block)), None)
    if last is None:
        return count
    life = rules.seconds(_lifetime_name(control))
    own_marker = next((mark for mark in valid if mark.item == last), None)
    if own_marker is None:
        valid.append(BlockMarker(last, life, 1))
        return count + 1
    if own_marker.life != life:
        refusals.append(
            MarkerRefusal("cache_control: the last block already has a cache_control with a different ttl", last)
        )
    elif count >= rules.markers > 0:
        refusals.append(MarkerRefusal(f"cache_control: no slot is left next to {count} blocks with cache_control"))
    return count


def is_markable(block: Block) -> bool:
    """Whether a block may have a marker: not thinking, a header or an empty text (facts §2)."""
    if block.kind in _UNMARKED:
        return False
    return block.kind != "text" or bool(read(block).text)


def _find_refusal(items: Sequence[Item], marker: Marker, rules: CacheRules) -> str:
    item = items[marker.item]
    # If a marker is on a part inside a block (in a tool result), only its value is checked.
    if marker.inner < 0 and item.block.kind == "text" and not read(item.block).text:
        return "cache_control cannot be set for empty text blocks"
    if marker.inner < 0 and not is_markable(item.block):
        return "cache_control: Extra inputs are not permitted"
    return _check_control(marker.value, rules)


def _check_control(control: Json, rules: CacheRules) -> str:
    if not isinstance(control, Mapping) or control.get("type") != "ephemeral":
        return "cache_control.type: Input should be 'ephemeral'"
    ttl = control.get("ttl")
    if ttl is not None and not (isinstance(ttl, str) and ttl in rules.lives):
        return f"cache_control.ttl: Input should be {' or '.join(map(repr, rules.lives))}"
    return ""


def _lifetime_name(control: Json) -> str:
    name = control.get("ttl") if isinstance(control, Mapping) else None
    return name if isinstance(name, str) else ""


def _openai(items: Sequence[Item], request: Request, rules: CacheRules) -> Markers:
    if not rules.mechanism.takes_breakpoints:
        return Markers((), ())
    options = request.params.get("prompt_cache_options")
    explicit = isinstance(options, Mapping) and options.get("mode") == "explicit"
    ttl = _lifetime_name(options)
    valid: list[BlockMarker] = []
    refusals: list[MarkerRefusal] = []
    for marker in request.markers:
        if marker.key != "prompt_cache_breakpoint":
            continue
        item = items[marker.item]
        if item.place.role == "assistant" or item.block.kind in _ANSWERS:
            refusals.append(MarkerRefusal("prompt_cache_breakpoint is not allowed on assistant output", marker.item))
        else:
            valid.append(BlockMarker(marker.item, rules.seconds(_lifetime_name(marker.value) or ttl)))
    return Markers(tuple(valid), tuple(refusals), explicit)
