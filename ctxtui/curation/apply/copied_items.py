"""The payload of a transplant: blocks copied from another session, with role and mark.

A transplant is the edit that inserts such blocks into a context.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Item, message_place, without_markers
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.curation.context import Context, is_call
from ctxtui.wire.grammar import MESSAGE_PARTS, RESPONSES


def describe_items(items: Iterable[Item]) -> list[Json]:
    """The payload's ``blocks``: ``kind``, ``role``, ``value``, and ``mark`` if there is one."""
    return [
        {
            "kind": item.block.kind,
            "role": item.place.role,
            "value": item.block.value(),
            **({"mark": item.place.mark} if item.place.mark else {}),
        }
        for item in items
    ]


@lru_cache(maxsize=64)
def items_of(payload: str) -> tuple[Item, ...]:
    """The items of a payload.

    Empty if one is malformed, or the first begins neither a message nor a Responses item.
    """
    params = canonical.loads(payload)
    entries = params.get("blocks") if isinstance(params, dict) else None
    items = [_item(entry) for entry in entries] if isinstance(entries, list) else []
    valid = [item for item in items if item is not None]
    if not valid or len(valid) < len(items):
        return ()
    first = valid[0].block.kind
    starts_item = first == HEADER or (params.get("dialect") == RESPONSES and first not in MESSAGE_PARTS)
    return tuple(valid) if starts_item else ()


def _item(entry: Json) -> Item | None:
    if not isinstance(entry, dict):
        return None
    kind, role, value, mark = (entry.get(key) for key in ("kind", "role", "value", "mark"))
    if not isinstance(kind, str) or not isinstance(role, str) or not isinstance(value, (dict, str)):
        return None
    if kind == HEADER and not isinstance(value, dict):
        return None
    place = message_place(role, mark if isinstance(mark, str) else "")
    return Item(blocks.make(kind, without_markers(value)), place)


@lru_cache(maxsize=64)
def call_ids(payload: str) -> frozenset[str]:
    """The ids of the calls in a payload."""
    calls = (item.block for item in items_of(payload) if is_call(item.block.kind))
    return frozenset(id_ for block in calls if (id_ := read(block).call_id))


def why_unusable(context: Context, edit: Edit, earlier: Iterable[Edit]) -> str:
    """Why a transplant cannot follow the `earlier` ones in `context`; "" if it can."""
    if not items_of(edit.payload):
        return "its copied blocks are missing or damaged"
    dialect = edit.params.get("dialect")
    if dialect != context.dialect:
        return f"its blocks are written for {dialect}, the context is for {context.dialect}"
    ids = call_ids(edit.payload)
    if any(map(context.has_call, ids)) or any(ids & call_ids(earlier_edit.payload) for earlier_edit in earlier):
        return "its calls are in the context already"
    return ""
