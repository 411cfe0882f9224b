"""What goes along with edits: as changes of the context, and as the repairs that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPAIR, Edit, make
from ctxtui.core.edit_kinds import DROP, NOTE, STRIP
from ctxtui.curation.apply.applied import BlockChange, Insert
from ctxtui.curation.apply.closure import Closure, Gone
from ctxtui.curation.context import THINKING, Context

Fate = Mapping[int, tuple[Block | None, Edit]]
"""What edits ask for, by position: the block that shall stand there (None: none), and the edit."""


def changed(
    context: Context, fate: Fate, closure: Closure, inserts: Sequence[Insert]
) -> tuple[dict[int, BlockChange], tuple[Edit, ...]]:
    """What was asked for and what goes along with it, as changes of the blocks that stand there, and all repairs: what
    is taken out, in prompt order, then what is put in."""
    nodes, items = context.nodes, context.items
    changes = {at: BlockChange(at, nodes[at], items[at].block, block, edit) for at, (block, edit) in fate.items()}
    groups: dict[tuple[str, str], list[int]] = {}
    for position, gone in closure.removed.items():
        if position not in changes or changes[position].after is not None:
            groups.setdefault((_cause(fate, inserts, gone), gone.why), []).append(position)
    repairs: list[tuple[int, Edit]] = []
    for (cause, why), group in groups.items():
        group.sort()
        # A header goes with its last part, by the same edit.
        edit = repair(DROP, context, group, cause, why) if why else fate[closure.removed[group[0]].cause][1]
        if why:
            repairs.append((group[0], edit))
        for p in group:
            changes[p] = BlockChange(p, nodes[p], items[p].block, None, edit, why)
    out = (edit for _, edit in sorted(repairs, key=lambda one: (one[0], one[1].id)))
    return changes, (*out, *(one.edit for one in inserts if one.edit.author == REPAIR))


def _cause(fate: Fate, inserts: Sequence[Insert], gone: Gone) -> str:
    if gone.cause in fate:
        return fate[gone.cause][1].id
    return inserts[0].edit.id if inserts else ""


def repair(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    """The edit that a repair is, made once for each context."""
    key = (kind, tuple(positions), str(cause), why)
    found = context.repairs.get(key)
    if found is None:
        found = context.repairs[key] = _made(kind, context, positions, cause, why)
    return found


def _made(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    strip = bool(positions) and all(context.items[p].block.kind in THINKING for p in positions)
    given: dict[str, Json] = {"for": str(cause), "why": why} if kind != NOTE else {"text": why, "where": "before"}
    return make(STRIP if strip else kind, context.targets(positions), given, author=REPAIR)
