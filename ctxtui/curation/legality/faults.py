"""What a provider would refuse in a context, and where in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, NOT_RECORDED, UNREADABLE
from ctxtui.curation.apply.applied import RAW, Applied, AppliedItem, Edge
from ctxtui.curation.apply.standing_markers import standing_markers
from ctxtui.curation.context import Context, is_call
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.violation import PlacedViolation
from ctxtui.wire.cache_markers import with_markers
from ctxtui.wire.grammars import MESSAGE_PARTS, RESPONSES
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request

_PATH: Final = re.compile(r"^\$\.(messages|input|tools|system)(?:\[(\d+)\](?:\.content(?:\[(\d+)\])?)?)?")
_CALL: Final = re.compile(r"^\$\.messages\[\d+\]\.tool_calls\[(\d+)\]")
_PARAMS: Final = ("tool_choice", "thinking")
"""Parameters that rules about blocks depend on."""

_EMPTY: Final = {"messages": b'{"model":"m","max_tokens":1,"messages":[]}', "input": b'{"model":"m","input":[]}'}


def faults(applied: Applied, *, prefill: bool = True) -> list[PlacedViolation]:
    """What the provider would refuse in the context under its edits, message for message as it was recorded."""
    dialect = applied.context.dialect
    leaving = zip(applied.edges, applied.items, strict=True)
    marked = [(edge, one) for edge, one in leaving if one.item.block.kind not in (NOT_RECORDED, UNREADABLE)]
    kept = [one for _, one in marked]
    body = _EMPTY["input" if dialect == RESPONSES else "messages"]
    plain = DIALECTS[dialect].decode_request(body, None).with_items([one.item for one in kept])
    value = canonical.loads(encode(_marked(plain, applied, [edge for edge, _ in marked])))
    if isinstance(value, dict):
        value |= {key: given for key in _PARAMS if (given := applied.context.params.get(key)) is not None}
    found = [v for v in check(dialect, value, prefill=prefill) if not v.message.startswith("at least one")]
    places = _places(applied, kept)
    return [PlacedViolation(one, _position(one.path, places, applied.context)) for one in found]


def _marked(plain: Request, applied: Applied, kept: Sequence[Edge]) -> Request:
    had = {(position, RAW): ttl for position, ttl in applied.context.markers.items()}
    standing = standing_markers(applied, had)
    marks: dict[int, str | None] = {}
    for index, edge in enumerate(kept):
        edit = applied.marks.get(edge[0]) if edge[1] == RAW else None
        if edit is not None and edit.given.get("on") is not False:
            marks[index] = str(edit.given.get("ttl") or "")
        elif edge in standing:
            marks[index] = standing[edge]
    return with_markers(plain, marks) if marks else plain


def _places(applied: Applied, kept: Sequence[AppliedItem]) -> dict[str, list[list[int]]]:
    """The positions of every element of a section, header first."""
    found: dict[str, list[list[int]]] = {"tools": [], "system": [], "messages": []}
    alone = applied.context.dialect == RESPONSES
    for one in kept:
        position = applied.context.position(one.node) if one.node >= 0 else -1
        section, kind = one.item.place.section, one.item.block.kind
        groups = found[section]
        starts = section != "messages" or kind == HEADER or (alone and kind not in MESSAGE_PARTS)
        if starts or not groups:
            groups.append([])
        groups[-1].append(position)
    return found


def _position(path: str, places: dict[str, list[list[int]]], context: Context) -> int:
    match = _PATH.match(path)
    if match is None or match[2] is None:
        return -1
    groups = places["messages" if match[1] == "input" else match[1]]
    index = int(match[2])
    if index >= len(groups):
        return -1
    group, part = groups[index], match[3]
    if call := _CALL.match(path):
        calls = [p for p in group if p >= 0 and is_call(context.items[p].block.kind)]
        return calls[int(call[1])] if int(call[1]) < len(calls) else group[0]
    if part is not None and int(part) + 1 < len(group):
        return group[int(part) + 1]
    if part is None and path.endswith(".content") and len(group) > 1:
        return group[1]
    return group[0]
