"""Makes edits that a user requests by a key or a command.

Edits that would change nothing are left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.block import ASSISTANT, HEADER, NOT_RECORDED, TOOL, UNREADABLE, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import (
    COMPACT_JSON,
    DEDUPLICATE,
    DROP,
    EXTERNALIZE,
    HOIST,
    MINIMISE,
    MOVE,
    PIN,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
)
from ctxtui.curation import edits_from_selection
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import UNRECORDED
from ctxtui.curation.apply.block_text import block_text, has_editable_text, is_changeable
from ctxtui.curation.apply.compact_json import values
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.apply.shared_text import extend_to_line_ends
from ctxtui.curation.context import Context, is_result
from ctxtui.curation.edits_from_selection import Keep, SummaryTerms, runs, summarize_run
from ctxtui.curation.policies.builtin import compact_json, dedupe_reads, minimise_schemas
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.record_summary import is_empty

COMPACTING: Final[Policy] = replace(
    compact_json.POLICY, defaults={key: value for key, value in compact_json.POLICY.defaults.items() if key != "least"}
)
"""The rules of ``compact``, as the policy spells them; the user alone decides whether it saves enough."""

NO_JSON: Final = "there is no JSON in it that could be made smaller"


class ManualEdits(NamedTuple):
    """The edits to stage together.

    `why` is the reason why there are none, or why `left` blocks stay unchanged.
    """

    edits: Sequence[Edit] = ()
    why: str = ""
    left: int = 0


def deduplicate(applied: Applied, positions: Sequence[int]) -> ManualEdits:
    """Replace tool results that equal another one, or that a later one outdates, by references."""
    context = applied.context
    policy_context = PolicyContext(
        context=context, log=(), tokens=lambda p: len(context.items[p].block.body), count=_byte_size, computed=applied
    )
    all_results = frozenset(policy_context.results)
    chosen = [p for p in positions if p in all_results]
    if not chosen:
        return ManualEdits(why="only results of tools are deduplicated")
    if not any(map(policy_context.is_unchanged, chosen)):
        return ManualEdits(why="another edit has changed it already")
    repeats = list(dedupe_reads.repeats(policy_context, 0, frozenset(chosen)))
    if not repeats:
        return ManualEdits(why="no other result says the same, and no later one makes it outdated")
    shorter = [repeat for repeat in repeats if len(repeat.text) < len(context.reading(repeat.position).text)]
    edits = [make(DEDUPLICATE, [context.target(repeat.position)], {"text": repeat.text}) for repeat in shorter]
    return ManualEdits(edits, "" if edits else "it is shorter than a reference would be")


def compact_blocks(applied: Applied, positions: Sequence[int], rules: Mapping[str, Json]) -> ManualEdits:
    """Compact JSON by `rules`, which are settings of `COMPACTING`."""
    positions_with_json = _positions_with_json(applied, positions)
    if not positions_with_json:
        return ManualEdits(why=NO_JSON)
    params = {**COMPACTING.defaults, **rules}
    edits = [make(COMPACT_JSON, [applied.context.target(p)], params) for p in positions_with_json]
    return _keep_smaller(applied, edits, "these rules make nothing in it smaller")


def why_no_json(applied: Applied, positions: Sequence[int]) -> str:
    """Why there is nothing to compact at `positions`; "" if there is something."""
    return "" if _positions_with_json(applied, positions) else NO_JSON


def _positions_with_json(applied: Applied, positions: Sequence[int]) -> list[int]:
    return [p for p in positions if (block := current_block(applied, p)) is not None and _has_json(block)]


def _has_json(block: Block) -> bool:
    return has_editable_text(block) and next(values(block_text(block)), None) is not None


def minimise_tools(applied: Applied, positions: Sequence[int]) -> ManualEdits:
    context = applied.context
    tools = [p for p in positions if context.items[p].block.kind == TOOL]
    if not tools:
        return ManualEdits(why="only definitions of tools are minimised")
    params = minimise_schemas.POLICY.defaults
    edits = [make(MINIMISE, [context.target(p)], params) for p in tools]
    return _keep_smaller(applied, edits, "it is as small as it gets")


def _keep_smaller(applied: Applied, edits: Iterable[Edit], why: str) -> ManualEdits:
    smaller = []
    for edit in edits:
        position = applied.context.find(edit.targets[0])
        before = current_block(applied, position) if position is not None else None
        after = rewrite(before, edit) if before is not None else None
        if before is not None and after is not None and _byte_size(after) < _byte_size(before):
            smaller.append(edit)
    return ManualEdits(smaller, "" if smaller else why)


def hoistable_texts(applied: Applied, positions: Sequence[int]) -> list[str]:
    """The current texts at `positions`; empty if one of the blocks cannot be moved to the front."""
    texts = []
    for position in positions:
        block, place = current_block(applied, position), applied.context.items[position].place
        is_movable = place.section == "messages" and place.role not in ASSISTANT
        if block is None or not is_movable or not has_editable_text(block) or not block_text(block).strip():
            return []
        texts.append(block_text(block))
    return texts


def hoist(applied: Applied, positions: Sequence[int], part: str) -> ManualEdits:
    """Move `part` out of all the blocks to the front, once.

    It goes to the end of the system prompt. If it is from a tool result, it goes before the first message instead, as
    content of tools must not be in the system prompt.
    """
    texts = hoistable_texts(applied, positions)
    part = extend_to_line_ends(part, texts) if part and texts else part
    if not texts or not part.strip() or any(part not in text for text in texts):
        return ManualEdits(why="this text is not in the block: shorten it, do not rewrite it")
    if not all(text.replace(part, "", 1).strip() for text in texts):
        return ManualEdits(why="that is the whole text: cut it down, or move the block")
    context = applied.context
    is_from_result = any(is_result(context.items[p].block.kind) for p in positions)
    is_from_result = is_from_result or any(context.items[p].place.role in ("tool", "function") for p in positions)
    return ManualEdits(
        [make(HOIST, context.targets(positions), {"text": part, "to": "first" if is_from_result else "system"})]
    )


def move(context: Context, positions: Sequence[int], to: str) -> list[Edit]:
    """Move the blocks at `positions` to ``start``, ``end`` or ``system``."""
    return [make(MOVE, context.targets(positions), {"to": to})]


def existing_moves(context: Context, in_force: Sequence[Edit], positions: Sequence[int], to: str) -> list[Edit]:
    """The user's moves to `to` that already cover all of `positions`."""
    moves: dict[int, Edit] = {}
    wanted_positions = frozenset(positions)
    for edit in in_force:
        if edit.kind == MOVE and edit.author == USER:
            moved_positions = [
                position for target in edit.targets if (position := context.find(target)) in wanted_positions
            ]
            moves.update((position, edit) for position in moved_positions if position is not None)
    all_moved = all(position in moves and moves[position].params.get("to", "system") == to for position in positions)
    return list({edit.id: edit for edit in moves.values()}.values()) if all_moved else []


def current_block(applied: Applied, position: int) -> Block | None:
    """The block at a raw position under the edits; None if removed."""
    change = applied.changes.get(position)
    return applied.context.items[position].block if change is None else change.after


def _byte_size(block: Block) -> int:
    return len(block.body)


OUT: Final = "it is out of the context already"
SIGNED: Final = "its provider signed it: it can be left out (d), not changed"
SHORT: Final = "already short"
NO_TEXT: Final = "it has no text to externalize"
NOTHING_TO_STRIP: Final = "no thinking and no image in it"
NOTHING_TO_DRAW: Final = "it has nothing to summarize"
LONGER: Final = "its replacement would be longer"


_TERMS: Final = SummaryTerms()


def edits_for_key(
    applied: Applied, kind: str, positions: Sequence[int], keep: Keep, terms: SummaryTerms = _TERMS
) -> ManualEdits:
    """Make the edits that the key of `kind` stages on the blocks at `positions` (in order).

    `keep` stores externalized content, `terms` are those of a summary. Removed blocks, blocks that the edit would not
    change, and those whose text would get longer are left out. Raises `ValueError` for a kind that needs more than
    blocks.
    """
    if kind == SUMMARIZE:
        return _summarize_selection(applied, positions, terms)
    artifacts: dict[str, bytes] = {}
    edits, why, unchanged_count = list[Edit](), "", 0
    for position in positions:
        reason = _find_objection(applied, kind, position)
        new_edits = (
            [] if reason else edits_from_selection.make_edits(applied.context, kind, [position], artifacts.__setitem__)
        )
        reason = reason or _why_no_gain(applied, kind, position, new_edits)
        if reason:
            why, unchanged_count = why or reason, unchanged_count + 1
        else:
            edits += new_edits
    for edit in edits:
        name = str(edit.params.get("name") or "")
        if name in artifacts:
            keep(name, artifacts[name])
    return ManualEdits(edits, why, unchanged_count)


def _find_objection(applied: Applied, kind: str, position: int) -> str:
    block = current_block(applied, position)
    if block is None:
        return OUT
    if kind not in (TRUNCATE, EXTERNALIZE) or is_changeable(block):
        return ""
    reasons = {HEADER: "it has no text", NOT_RECORDED: UNRECORDED, UNREADABLE: UNRECORDED}
    return reasons.get(block.kind, SIGNED)


def _why_no_gain(applied: Applied, kind: str, position: int, edits: Sequence[Edit]) -> str:
    if kind in (PIN, DROP):
        return ""
    reasons = {TRUNCATE: SHORT, EXTERNALIZE: NO_TEXT, STRIP: NOTHING_TO_STRIP}
    before = current_block(applied, position)
    after: Block | None = before
    for edit in edits:
        after = rewrite(after, edit) if after is not None else None
    if after == before or before is None:
        return reasons.get(kind, "it stays as it is")
    return LONGER if after is not None and len(block_text(after)) > len(block_text(before)) else ""


def _summarize_selection(applied: Applied, positions: Sequence[int], terms: SummaryTerms) -> ManualEdits:
    context, edits, why, unchanged_count = applied.context, list[Edit](), "", 0
    for run in runs(context, positions):
        stretch = range(run[0], run[-1] + 1)
        reason = "" if any(current_block(applied, position) is not None for position in stretch) else OUT
        edit = None if reason else summarize_run(context, run, terms)
        if edit is not None:
            edits.append(edit)
        else:
            reason = reason or (NOTHING_TO_DRAW if is_empty(context, stretch) else LONGER)
            why, unchanged_count = why or reason, unchanged_count + len(run)
    return ManualEdits(edits, why, unchanged_count)
