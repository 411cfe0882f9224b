"""Encodes the request of a context under edits, and checks whether its provider accepts it.

Chats, relays and exports call `encode_outgoing` for the bytes to send.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.applied import RAW, Applied
from ctxtui.curation.apply.moved_markers import markers_under_edits
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.violation import Violation
from ctxtui.curation.provider_rules import BINDING_BETA
from ctxtui.tokens.models import UNKNOWN_LIMITS, RequestLimits
from ctxtui.wire.cache_markers import takes_marker, with_markers, with_param, without_params
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request
from ctxtui.wire.translate.encode import build_body

DROP: Final = {"prefix_mismatch_behavior": "drop_block"}
"""Value of ``block_binding`` with which thinking that does not fit is dropped instead of refused (facts §1)."""


class RequestRefused(CtxtuiError):
    """The provider would answer the request with an error, given in the message."""


class Outgoing(NamedTuple):
    """A request body that could be sent.

    `lost` has a line for each kind of content that the dialect cannot carry or that the provider drops; `violations`
    are the provider's objections.
    """

    body: bytes
    lost: list[str]
    violations: list[Violation]


def encode_outgoing(
    applied: Applied,
    skeleton: Skeleton | None,
    *,
    dialect: str,
    model: str,
    limits: RequestLimits = UNKNOWN_LIMITS,
) -> Outgoing:
    """Encode the request to be sent.

    If the call's own `skeleton` is of `dialect`, it is used, so that untouched parts keep their spelling. Otherwise a
    new body of `model` is made. Raises `RequestRefused` if the edits cannot be applied.
    """
    if applied.refused:
        raise RequestRefused(applied.refused, way_out="revert the edit")
    lost: list[str] = []
    if skeleton is not None and skeleton.dialect == dialect:
        request = _with_moved_markers(Request(tuple(applied.context.items), skeleton), applied)
    else:
        body, lost = build_body(dialect, applied.sent, model=model, recorded=skeleton)
        request = DIALECTS[dialect].decode_request(body, None)
    request = _without_tool_choice(
        _with_breakpoint_edits(request, applied), applied, own=skeleton is not None and skeleton.dialect == dialect
    )
    if applied.withheld:
        thinking = request.params.get("thinking")
        settings = thinking if isinstance(thinking, dict) else {"type": "adaptive"}
        request = with_param(request, "thinking", {**settings, "block_binding": DROP})
        lost = [*lost, f"{len(applied.withheld)} thinking blocks, which the provider drops (send beta {BINDING_BETA})"]
    body = encode(request)
    return Outgoing(body, lost, check(dialect, body, limits=limits))


def _with_moved_markers(recorded: Request, applied: Applied) -> Request:
    """The recorded request with the items to be sent, and its breakpoints moved with them.

    If the provider keeps a part of the context (``carried``), they do not move.
    """
    request = recorded.with_items(applied.sent)
    if request is recorded or "carried" in recorded.skeleton.parts:
        return request
    had = {(marker.item, RAW): _lifetime_of(marker.value) for marker in recorded.markers}
    markers = markers_under_edits(applied, had)
    has = {marker.item for marker in request.markers}
    changes: dict[int, str | None] = {}
    for index, position in enumerate(applied.positions):
        # A breakpoint that did not move keeps its spelling.
        if (position in markers) != (index in has):
            changes[index] = markers.get(position)
    return with_markers(request, changes) if changes else request


def _lifetime_of(value: Json) -> str:
    return str(value.get("ttl") or "") if isinstance(value, dict) else ""


def _without_tool_choice(request: Request, applied: Applied, *, own: bool) -> Request:
    """Remove the tool choice from a request without tools, which the provider would refuse.

    In a body with its `own` skeleton the choice stays unless an edit removed the tools: a client may provide tools
    outside of the member `tools` (Codex's ``additional_tools``).
    """
    if any(item.place.section == "tools" for item in request.items) or "tool_choice" not in request.params:
        return request
    if own and not any(item.place.section == "tools" for item in applied.context.items):
        return request
    return without_params(request, ("tool_choice", "parallel_tool_calls"))


def _with_breakpoint_edits(request: Request, applied: Applied) -> Request:
    if not applied.marks:
        return request
    dialect = request.skeleton.dialect
    digests: dict[str, list[int]] = {}
    for index, item in enumerate(request.items):
        digests.setdefault(item.block.digest, []).append(index)
    changes: dict[int, str | None] = {}
    for applied_item in applied.items:
        indexes = digests.get(applied_item.item.block.digest)
        if not indexes:
            continue
        index = indexes.pop(0)
        if applied_item.node < 0:
            continue
        edit = applied.marks.get(applied.context.position(applied_item.node))
        if edit is not None and takes_marker(request.items[index], dialect):
            ttl = edit.params.get("ttl")
            changes[index] = (ttl if isinstance(ttl, str) else "") if edit.params.get("on") is not False else None
    return with_markers(request, changes)
