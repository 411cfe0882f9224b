"""What a fresh body has no place for, though it writes the block that carried it: named, so that nobody misses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core.block import HEADER, MARKER_KEYS, Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import Losses

_SPELLED: Final = frozenset(
    "role content tool_calls function_call tool_call_id type id status refusal images thinking "
    "reasoning_content thinking_blocks".split()
)
"""Members of a message that its blocks hold, that name it, or that only say how it was spelled."""
_ANSWERING: Final = frozenset({"tool", "function"})
"""Roles whose messages repeat the tool's name, which stands in the call."""
_NO_DETAIL: Final = ("", "auto", None)
"""What a provider takes where no detail is asked for."""


def note_members(items: Iterable[Item], losses: Losses) -> None:
    """Note the members of messages beside their content, such as a speaker's ``name``."""
    for block, place in items:
        value = block.value() if block.kind == HEADER and place.role not in _ANSWERING else None
        for key, held in value.items() if isinstance(value, dict) else ():
            if key not in _SPELLED and held is not None:
                losses.note(f"the member {key} of messages")


def note_details(items: Iterable[Item], losses: Losses) -> None:
    """Note how closely pictures were to be looked at, which other providers take no word of."""
    for block, _ in items:
        if block.kind in ("image_url", "input_image") and _detail(block.value()) not in _NO_DETAIL:
            losses.note("the detail asked for of pictures")


def _detail(value: Json) -> Json:
    inner = value.get("image_url") if isinstance(value, dict) else None
    return inner.get("detail") if isinstance(inner, dict) else value.get("detail") if isinstance(value, dict) else None


def note_markers(items: Iterable[Item], skeleton: Skeleton, losses: Losses) -> None:
    """Note the cache markers that the recorded request `items` had."""
    request = Request(tuple(items), skeleton)
    marked = len(request.markers) + len(request.params.keys() & set(MARKER_KEYS))
    if marked:
        losses.note("cache markers", marked)
