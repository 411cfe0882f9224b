"""Applies edits to a context: an overlay over a path of the tree.

The path itself never changes, and no nodes are made. The work has three steps. Every edit requests its changes;
`closure` adds the removals that these require; `resolve` and `insertion` place the new blocks. A request that cannot be
fulfilled is rejected with the reason, and the others are done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ctxtui.core.block import HEADER, NOT_RECORDED, UNREADABLE, Block
from ctxtui.core.edit import USER, Edit, active_edits
from ctxtui.core.edit_kinds import REPLACE, TRANSPLANT
from ctxtui.curation.apply import resolve
from ctxtui.curation.apply.applied import Applied, EditWithoutTarget, RejectedEdit
from ctxtui.curation.apply.block_text import is_changeable
from ctxtui.curation.apply.copied_items import why_unusable
from ctxtui.curation.apply.insertion import INSERTIONS, insert_moved, slot
from ctxtui.curation.apply.resolve import RequestedFates
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.context import THINKING, Context, Message
from ctxtui.curation.provider_rules import ProviderRules, rules_for

SIGNED = "its provider signed this block: it can be left out, not changed"
UNRECORDED = "its content is not recorded"
UNWRITTEN = "its text is not written yet"
ELSEWHERE = "the text to hoist is not in these blocks"
MOVED = "an earlier edit moves it: take that back first"
REMOVED = "it is out of the context already"


def apply(context: Context, log: Iterable[Edit], rules: ProviderRules | None = None) -> Applied:
    """Apply the edits of `log` to `context` and return the result.

    `log` has staged and applied edits alike. If several edits change one block, each works on what the one before
    left; a replacement brings a removed or moved block back. Only the user's edits may change a pinned block. No edit
    removes the call or result of one that stays. `rules` are those of the model (None: the defaults of the dialect).
    """
    requests = RequestedFates()
    edits = active_edits(log)
    for edit in edits:
        if edit.spec.pins:
            target_positions = [p for target in edit.targets if (p := context.find(target)) is not None]
            requests.pinned.update(target_positions, _expand_headers(context, edit, target_positions))
    pinned = set(requests.pinned)
    requests.pinned |= {partner for position in pinned for partner in context.partners.get(position, ())}
    for edit in edits:
        _add_requests(context, requests, edit, pinned)
    return resolve.settle(context, requests, rules or rules_for(context.dialect), frozenset(pinned))


def _add_requests(context: Context, requests: RequestedFates, edit: Edit, pinned: Collection[int]) -> None:
    positions, spec = [context.find(target) for target in edit.targets], edit.spec
    positions_here = [position for position in positions if position is not None]
    if not positions_here or (spec.replaces_blocks and len(positions_here) < len(positions)):
        requests.without_target.append(EditWithoutTarget(edit, len(positions) - len(positions_here)))
    elif spec.needs_text and not str(edit.params.get("text") or "").strip():
        requests.rejected.append(RejectedEdit(edit, -1, UNWRITTEN))
    elif edit.kind == TRANSPLANT and (
        why := why_unusable(context, edit, (new.edit for new in requests.new if new.items))
    ):
        requests.rejected.append(RejectedEdit(edit, -1, why))
    else:
        _add_changes(context, requests, edit, _expand_headers(context, edit, positions_here), pinned)


def _expand_headers(context: Context, edit: Edit, target_positions: list[int]) -> list[int]:
    """For edits that remove or pin, replace each header by the parts of its message.

    A header is left out if some of its parts are targets.
    """
    if not edit.spec.pins and not edit.spec.removes:
        return target_positions
    positions: dict[int, None] = {}
    parts = {context.message_of[p] for p in target_positions if context.items[p].block.kind != HEADER}
    for position in target_positions:
        message = context.message_at(position)
        if message is None or message.start != position or not message.has_header:
            positions[position] = None
        elif context.message_of[position] not in parts:
            # A range that ends inside a message includes its header and some of its parts: only those parts.
            positions.update(dict.fromkeys(range(position + 1, message.stop)))
    return list(positions)


def _add_changes(
    context: Context, requests: RequestedFates, edit: Edit, target_positions: list[int], pinned: Collection[int]
) -> None:
    allowed, spec = target_positions, edit.spec
    if spec.rewrites or spec.takes_away:
        allowed = [p for p in target_positions if not _is_protected(requests, edit, p, pinned)]
    if spec.moves:
        allowed = [p for p in allowed if _is_movable(context, requests, edit, p)]
    blocks = {p: _current_block(context, requests, p) for p in allowed} if spec.moves else {}
    if spec.takes_away:
        for position in allowed:
            requests.cancel_move(position)
            requests.put(position, None, edit)
    elif spec.rewrites:
        changed = [position for position in allowed if _request_rewrite(context, requests, edit, position)]
        if spec.adds and allowed and not changed:
            if edit not in (rejected.edit for rejected in requests.rejected):
                requests.rejected.append(RejectedEdit(edit, -1, ELSEWHERE))
            return
    elif spec.marks_cache:
        requests.marks += [(position, edit) for position in target_positions]
    if spec.moves:
        requests.new += [insert_moved(context, edit, p, block) for p, block in blocks.items() if block is not None]
    elif allowed and spec.adds:
        requests.new += INSERTIONS[edit.kind](context, edit, allowed)


def _current_block(context: Context, requests: RequestedFates, position: int) -> Block | None:
    """The block of `position` after the requests so far, wherever it is; None: removed."""
    moved = requests.moved_block(position)
    return moved or requests.fate.get(position, (context.items[position].block,))[0]


def _is_protected(requests: RequestedFates, edit: Edit, position: int, pinned: Collection[int]) -> bool:
    if position not in requests.pinned or (edit.author == USER and (position in pinned or not edit.spec.removes)):
        return False
    why = "pinned" if position in pinned else "its call or result is pinned"
    requests.rejected.append(RejectedEdit(edit, position, why))
    return True


def _is_movable(context: Context, requests: RequestedFates, edit: Edit, position: int) -> bool:
    item = context.items[position]
    is_user_text = item.block.kind in ("text", "input_text") and item.place.role in ("", "user")
    message = context.message_at(position)
    movable = is_user_text and message is not None and context.reading(position).text.strip()
    why = "" if movable else "only the user's texts can be moved"
    is_moved = requests.moved_block(position) is not None
    if message is not None and not is_moved and _is_in_place(context, message, edit.params.get("to", "system")):
        why = why or "it is already there"
    if _current_block(context, requests, position) is None:
        why = REMOVED
    if why:
        requests.rejected.append(RejectedEdit(edit, position, why))
    return not why


def _is_in_place(context: Context, message: Message, to: object) -> bool:
    return message == context.messages[-1] if to == "end" else to == "start" and message.start == slot(context, 0)


def _request_rewrite(context: Context, requests: RequestedFates, edit: Edit, position: int) -> bool:
    """Request the block that `edit` makes of the one at `position`; returns whether it differs."""
    block = context.items[position].block
    if edit.kind == REPLACE:
        requests.cancel_move(position)
    before = requests.fate[position][0] if position in requests.fate else block
    if before is None and edit.kind == REPLACE:
        before = block
    if before is None:
        if requests.moved_block(position) is not None:
            requests.rejected.append(RejectedEdit(edit, position, MOVED))
        return False
    if not is_changeable(before) and block.kind not in {*THINKING, HEADER}:
        why = UNRECORDED if block.kind in (NOT_RECORDED, UNREADABLE) else SIGNED
        requests.rejected.append(RejectedEdit(edit, position, why))
        return False
    after = rewrite(before, edit)
    if after is None or after != before:
        requests.put(position, after, edit)
        return True
    if block.kind in THINKING:
        requests.rejected.append(RejectedEdit(edit, position, SIGNED))
    return False
