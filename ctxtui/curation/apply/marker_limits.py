"""Which breakpoint edits are done: four markers at most, long lifetimes before short ones (facts §2, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import RAW, Applied, Edge, HeldEdit
from ctxtui.curation.apply.standing_markers import standing_markers
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import MOST_MARKERS
from ctxtui.wire.cache_markers import takes_marker
from ctxtui.wire.grammar import ANTHROPIC, RESPONSES

NOWHERE = "no marker may stand on this block"
TOO_MANY = f"a request carries {MOST_MARKERS} markers at most"
ORDER = "markers of 1h must stand before those of 5m"
LIFETIMES = {ANTHROPIC: ("", "5m", "1h"), RESPONSES: ("", "30m", "12h")}
"""The lifetimes that a marker may name ("" for the default), by dialect; Chat's are those of Responses."""


def chosen(plain: Applied, wanted: Sequence[tuple[int, Edit]]) -> tuple[dict[int, Edit], list[HeldEdit]]:
    """The breakpoint edits that count, by position, and those that are held: later ones give way to earlier ones.
    `plain` is the context under the other edits."""
    context = plain.context
    if not wanted:
        return {}, []
    gone = {position for position, change in plain.changes.items() if change.after is None}
    off = {position: edit for position, edit in wanted if edit.params.get("on") is False}
    standing = standing_markers(
        replace(plain, marks=off), {(position, RAW): ttl for position, ttl in context.markers.items()}
    )
    marks: dict[int, Edit] = {}
    held: list[HeldEdit] = []
    for position, edit in wanted:
        if edit.params.get("on") is False:
            standing.pop((position, RAW), None)
            marks[position] = edit
            continue
        if position in gone:
            continue
        why = _against(context, standing, position, edit)
        if why:
            held.append(HeldEdit(edit, position, why))
        else:
            standing[position, RAW] = str(edit.params.get("ttl") or "")
            marks[position] = edit
    return marks, held


def _against(context: Context, standing: Mapping[Edge, str], position: int, edit: Edit) -> str:
    ttl = str(edit.params.get("ttl") or "")
    if not takes_marker(context.items[position], context.dialect):
        return NOWHERE
    known = LIFETIMES.get(context.dialect, LIFETIMES[RESPONSES])
    if ttl not in known:
        return f"a breakpoint here can last {' or '.join(known[1:])}"
    if len({*standing, (position, RAW)}) + ("cache_control" in context.params) > MOST_MARKERS:
        return TOO_MANY
    if context.dialect == ANTHROPIC and not _in_order({**standing, (position, RAW): ttl}):
        return ORDER
    return ""


def _in_order(standing: Mapping[Edge, str]) -> bool:
    lives = [ttl == "1h" for _, ttl in sorted(standing.items())]
    return lives == sorted(lives, reverse=True)
