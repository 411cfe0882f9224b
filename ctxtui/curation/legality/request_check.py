"""The request that a curated context leaves as, and whether its provider would take it: the encoder's gatekeeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.applied import RAW, Applied
from ctxtui.curation.apply.standing_markers import standing_markers
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.violation import Violation
from ctxtui.curation.provider_rules import BINDING_BETA
from ctxtui.tokens.models import UNKNOWN_LIMITS, RequestLimits
from ctxtui.wire.cache_markers import takes_marker, with_markers, with_param, without_params
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request
from ctxtui.wire.translate.encode import build_body

DROP: Final = {"prefix_mismatch_behavior": "drop_block"}
"""What a request says so that thinking which does not fit is dropped instead of refused (facts §1)."""


class RequestRefused(CtxtuiError):
    """The provider would answer the request with an error; `message` says with which."""


class Outgoing(NamedTuple):
    """A request body, a line for each kind of thing that it could not carry, and what its provider would refuse."""

    body: bytes
    lost: list[str]
    violations: list[Violation]


def outgoing(
    applied: Applied,
    skeleton: Skeleton | None,
    *,
    dialect: str,
    model: str,
    params: Mapping[str, Json] | None = None,
    takes: RequestLimits = UNKNOWN_LIMITS,
) -> Outgoing:
    """What leaves: with the call's own `skeleton` where it is of `dialect` (so that nothing that no edit touched is
    spelled otherwise), else a fresh body of `model` with `params`. Raises `RequestRefused` where the edits cannot be
    applied."""
    if applied.refused:
        raise RequestRefused(applied.refused, way_out="revert the edit")
    lost: list[str] = []
    if skeleton is not None and skeleton.dialect == dialect:
        request = _with_its_markers(Request(tuple(applied.context.items), skeleton), applied)
    else:
        body, lost = build_body(dialect, applied.sent, model=model, params=params)
        request = DIALECTS[dialect].decode_request(body, None)
    request = _tool_choice(_marked(request, applied), applied, own=skeleton is not None and skeleton.dialect == dialect)
    if applied.withheld:
        thinking = request.params.get("thinking")
        told = thinking if isinstance(thinking, dict) else {"type": "adaptive"}
        request = with_param(request, "thinking", {**told, "block_binding": DROP})
        lost = [*lost, f"{len(applied.withheld)} thinking blocks, which the provider drops (send beta {BINDING_BETA})"]
    body = encode(request)
    return Outgoing(body, lost, check(dialect, body, takes=takes))


def _with_its_markers(recorded: Request, applied: Applied) -> Request:
    """The recorded request with the items that leave, and its markers where they stand now."""
    request = recorded.with_items(applied.sent)
    if request is recorded or "carried" in recorded.skeleton.parts:
        return request
    had = {(one.item, RAW): _ttl(one.value) for one in recorded.markers}
    standing = standing_markers(applied, had)
    has = {one.item for one in request.markers}
    changes: dict[int, str | None] = {}
    for index, edge in enumerate(applied.edges):
        # One that stands where it stood stays as it is spelled.
        if (edge in standing) != (index in has):
            changes[index] = standing.get(edge)
    return with_markers(request, changes) if changes else request


def _ttl(value: Json) -> str:
    return str(value.get("ttl") or "") if isinstance(value, dict) else ""


def _tool_choice(request: Request, applied: Applied, *, own: bool) -> Request:
    """A choice among tools is refused where there is none. In a body with its `own` skeleton it stays where no edit
    took them: a client may bring tools that are no member `tools` (Codex's `additional_tools`)."""
    if any(item.place.section == "tools" for item in request.items) or "tool_choice" not in request.params:
        return request
    if own and not any(item.place.section == "tools" for item in applied.context.items):
        return request
    return without_params(request, ("tool_choice", "parallel_tool_calls"))


def _marked(request: Request, applied: Applied) -> Request:
    """Breakpoint edits on the blocks that are left; in a body written afresh, on the blocks that equal them."""
    if not applied.marks:
        return request
    dialect = request.skeleton.dialect
    digests: dict[str, list[int]] = {}
    for index, item in enumerate(request.items):
        digests.setdefault(item.block.digest, []).append(index)
    changes: dict[int, str | None] = {}
    for one in applied.items:
        found = digests.get(one.item.block.digest)
        if not found:
            continue
        index = found.pop(0)
        if one.node < 0:
            continue
        edit = applied.marks.get(applied.context.position(one.node))
        if edit is not None and takes_marker(request.items[index], dialect):
            ttl = edit.params.get("ttl")
            changes[index] = (ttl if isinstance(ttl, str) else "") if edit.params.get("on") is not False else None
    return with_markers(request, changes)
