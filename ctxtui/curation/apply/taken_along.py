"""What goes along with edits: as changes of the context, and as the repairs that make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPAIR, Edit, make
from ctxtui.core.edit_kinds import DROP, NOTE, STRIP
from ctxtui.curation.apply.applied import BlockChange, Insert
from ctxtui.curation.apply.closure import DANGLING, PAIR, SUCCESSOR, Closure, Gone
from ctxtui.curation.context import THINKING, Context
from ctxtui.curation.provider_rules import ProviderRules

Fate = Mapping[int, tuple[Block | None, Edit]]
"""What edits ask for, by position: the block that shall stand there (None: none), and the edit."""
Repairs = Mapping[tuple[str, str], tuple[int, Edit]]
"""Repairs that take something out, by the edit that they belong to and the rule, with the first position of each."""
_LOCAL: Final = frozenset({"", PAIR, SUCCESSOR, DANGLING})


def changed(context: Context, fate: Fate) -> dict[int, BlockChange]:
    """What was asked for, as changes of the blocks that stand there."""
    nodes, items = context.nodes, context.items
    return {at: BlockChange(at, nodes[at], items[at].block, block, edit) for at, (block, edit) in fate.items()}


def taken_along(
    context: Context,
    fate: Fate,
    closure: Closure,
    positions: Iterable[int],
    changes: dict[int, BlockChange],
    inserts: Sequence[Insert],
) -> Repairs:
    """Put what of `positions` goes along with others into `changes`; gives the repairs that take it out, by cause and
    rule, with the first position of each."""
    groups: dict[tuple[str, str], list[int]] = {}
    for position in positions:
        if position not in changes or changes[position].after is not None:
            gone = closure.removed[position]
            groups.setdefault((_cause(fate, inserts, gone), gone.why), []).append(position)
    repairs: dict[tuple[str, str], tuple[int, Edit]] = {}
    for (cause, why), group in groups.items():
        group.sort()
        # A header goes with its last part, by the same edit.
        edit = repair(DROP, context, group, cause, why) if why else fate[closure.removed[group[0]].cause][1]
        if why:
            repairs[cause, why] = group[0], edit
        for p in group:
            changes[p] = BlockChange(p, context.nodes[p], context.items[p].block, None, edit, why)
    return repairs


def listed(repairs: Repairs, inserts: Iterable[Insert]) -> tuple[Edit, ...]:
    """All repairs: what is taken out, in prompt order, then what is put in."""
    out = [edit for _, edit in sorted(repairs.values(), key=lambda one: (one[0], one[1].id))]
    return (*out, *(one.edit for one in inserts if one.edit.author == REPAIR))


def binds(context: Context, rules: ProviderRules) -> bool:
    """Whether something in the context hangs on messages far away: what is said by the system in between, and thinking
    that is bound to all that stands before it."""
    return bool(context.systems or (rules.binds_thinking and context.thinking))


def is_local(removed: Iterable[Gone]) -> bool:
    """Whether nothing is out by a rule that depends on more than the calls, answers and messages concerned, and
    the run of answers that each stands in."""
    return all(gone.why in _LOCAL for gone in removed)


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
