"""Selects the breakpoint edits that the provider allows (facts §2, §4).

At most four may be set; Anthropic's long lifetimes must come before short ones. Edits that are not allowed are rejected
with the reason. `resolve` calls this last, when the other edits are applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import RAW, Applied, Position, RejectedEdit
from ctxtui.curation.apply.moved_markers import markers_under_edits
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import MAX_MARKERS
from ctxtui.wire.cache_markers import takes_marker
from ctxtui.wire.grammar import ANTHROPIC, RESPONSES

NOWHERE = "this block cannot have a marker"
TOO_MANY = f"a request carries {MAX_MARKERS} markers at most"
ORDER = "markers of 1h must come before those of 5m"
LIFETIMES = {ANTHROPIC: ("", "5m", "1h"), RESPONSES: ("", "30m", "12h")}
"""The lifetimes that a breakpoint may name ("" for the default), by dialect; Chat's are those of Responses."""


def select_breakpoints(
    plain: Applied, requests: Sequence[tuple[int, Edit]]
) -> tuple[dict[int, Edit], list[RejectedEdit]]:
    """Split breakpoint edits into valid ones by position and rejected ones.

    `requests` are in the order of the log. `plain` is the context under the other edits.
    """
    context = plain.context
    if not requests:
        return {}, []
    removed = {position for position, change in plain.changes.items() if change.after is None}
    removals = {position: edit for position, edit in requests if edit.params.get("on") is False}
    breakpoints = markers_under_edits(
        replace(plain, marks=removals), {(position, RAW): ttl for position, ttl in context.markers.items()}
    )
    marks: dict[int, Edit] = {}
    rejected_edits: list[RejectedEdit] = []
    for position, edit in requests:
        if edit.params.get("on") is False:
            breakpoints.pop((position, RAW), None)
            marks[position] = edit
            continue
        if position in removed:
            continue
        why = _find_objection(context, breakpoints, position, edit)
        if why:
            rejected_edits.append(RejectedEdit(edit, position, why))
        else:
            breakpoints[position, RAW] = str(edit.params.get("ttl") or "")
            marks[position] = edit
    return marks, rejected_edits


def _find_objection(context: Context, breakpoints: Mapping[Position, str], position: int, edit: Edit) -> str:
    ttl = str(edit.params.get("ttl") or "")
    if not takes_marker(context.items[position], context.dialect):
        return NOWHERE
    lifetimes = LIFETIMES.get(context.dialect, LIFETIMES[RESPONSES])
    if ttl not in lifetimes:
        return f"a breakpoint here can last {' or '.join(lifetimes[1:])}"
    if len({*breakpoints, (position, RAW)}) + ("cache_control" in context.params) > MAX_MARKERS:
        return TOO_MANY
    if context.dialect == ANTHROPIC and not _is_sorted_by_lifetime({**breakpoints, (position, RAW): ttl}):
        return ORDER
    return ""


def _is_sorted_by_lifetime(breakpoints: Mapping[Position, str]) -> bool:
    lives = [ttl == "1h" for _, ttl in sorted(breakpoints.items())]
    return lives == sorted(lives, reverse=True)
