"""Applies edits to a context: the overlay over a path, which itself never changes (design §6 law 4).

No nodes are made. First every edit requests its changes, then the closure adds what must go with them, then insertions
are placed. A request that cannot be fulfilled is held with the reason; the rest is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ctxtui.core.block import HEADER
from ctxtui.core.edit import USER, Edit, active_edits
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply import resolve
from ctxtui.curation.apply.applied import Applied, Asleep, HeldEdit
from ctxtui.curation.apply.block_text import is_changeable
from ctxtui.curation.apply.insertion import INSERTIONS, slot
from ctxtui.curation.apply.resolve import RequestedFates
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.context import THINKING, Context, Message
from ctxtui.curation.provider_rules import ProviderRules, rules_for

SIGNED = "its provider signed this block: it can be stripped, not changed"


UNWRITTEN = "its text is not written yet"
ELSEWHERE = "the text that it moves does not stand there"


def apply(context: Context, log: Iterable[Edit], rules: ProviderRules | None = None) -> Applied:
    """Apply the append-only `log`, staged and applied edits alike, to `context`; neither is modified.

    Of several edits of one block the later ones work on the result of the earlier ones; only the user's edits may
    change a pinned block. `rules` are those of the dialect and model (default: the dialect's).
    """
    requests = RequestedFates()
    edits = active_edits(log)
    for edit in edits:
        if edit.spec.pins:
            here = [p for target in edit.targets if (p := context.find(target)) is not None]
            requests.pinned.update(here, _whole_messages(context, edit, here))
    own = set(requests.pinned)
    requests.pinned |= {partner for position in own for partner in context.partners.get(position, ())}
    for edit in edits:
        _request(context, requests, edit, own)
    return resolve.settle(context, requests, rules or rules_for(context.dialect), frozenset(own))


def _request(context: Context, requests: RequestedFates, edit: Edit, own: Collection[int]) -> None:
    """Add the changes that `edit` requests to `requests`; `own` are the positions that the user pinned."""
    positions, spec = [context.find(target) for target in edit.targets], edit.spec
    here = [position for position in positions if position is not None]
    if not here or (spec.replaces_blocks and len(here) < len(positions)):
        requests.asleep.append(Asleep(edit, len(positions) - len(here)))
    elif spec.needs_text and not str(edit.params.get("text") or "").strip():
        requests.held.append(HeldEdit(edit, -1, UNWRITTEN))
    else:
        _request_changes(context, requests, edit, _whole_messages(context, edit, here), own)


def _whole_messages(context: Context, edit: Edit, here: list[int]) -> list[int]:
    """Expand a header without its parts to the whole message, for edits that remove or pin."""
    if not edit.spec.pins and not edit.spec.removes:
        return here
    positions: dict[int, None] = {}
    parts = {context.message_of[p] for p in here if context.items[p].block.kind != HEADER}
    for position in here:
        message = context.message_at(position)
        heads = message is not None and message.start == position and message.has_header
        if message is None or not heads:
            positions[position] = None
        elif context.message_of[position] not in parts:
            # A range that ends inside a message includes its header and some of its parts: only those parts.
            positions.update(dict.fromkeys(range(position + 1, message.stop)))
    return list(positions)


def _request_changes(
    context: Context, requests: RequestedFates, edit: Edit, here: list[int], own: Collection[int]
) -> None:
    allowed, spec = here, edit.spec
    if spec.rewrites or spec.takes_away:
        allowed = [p for p in here if not _is_protected(requests, edit, p, own)]
    if spec.moves:
        allowed = [p for p in allowed if _is_movable(context, requests, edit, p)]
    if spec.takes_away:
        for position in allowed:
            requests.stay(position, context.items[position].block)
            requests.put(position, None, edit)
    elif spec.rewrites:
        changed = [position for position in allowed if _rewrite(context, requests, edit, position)]
        if spec.adds and allowed and not changed:
            requests.held.append(HeldEdit(edit, -1, ELSEWHERE))
            return
    elif spec.marks_cache:
        requests.marks += [(position, edit) for position in here]
    if allowed and spec.adds:
        requests.new += INSERTIONS[edit.kind](context, edit, allowed)


def _is_protected(requests: RequestedFates, edit: Edit, position: int, own: Collection[int]) -> bool:
    if position not in requests.pinned or (edit.author == USER and (position in own or not edit.spec.removes)):
        return False
    why = "pinned" if position in own else "its call or answer is pinned"
    requests.held.append(HeldEdit(edit, position, why))
    return True


def _is_movable(context: Context, requests: RequestedFates, edit: Edit, position: int) -> bool:
    item = context.items[position]
    is_user_text = item.block.kind in ("text", "input_text") and item.place.role in ("", "user")
    message = context.message_at(position)
    movable = is_user_text and message is not None and context.reading(position).text.strip()
    why = "" if movable else "only the user's texts can be moved"
    if message is not None and _is_in_place(context, message, edit.params.get("to", "system")):
        why = why or "it is already there"
    if why:
        requests.held.append(HeldEdit(edit, position, why))
    return not why


def _is_in_place(context: Context, message: Message, to: object) -> bool:
    return message == context.messages[-1] if to == "end" else to == "start" and message.start == slot(context, 0)


def _rewrite(context: Context, requests: RequestedFates, edit: Edit, position: int) -> bool:
    """Request the block that `edit` makes of the one at `position`; returns whether it differs."""
    block = context.items[position].block
    before = requests.fate[position][0] if position in requests.fate else block
    if before is None and edit.kind == REPLACE:
        requests.stay(position, block)
        before = block
    if before is None:
        return False
    if not is_changeable(before) and block.kind not in THINKING | {"header"}:
        requests.held.append(HeldEdit(edit, position, SIGNED))
        return False
    after = rewrite(before, edit)
    if after is None or after != before:
        requests.put(position, after, edit)
        return True
    if block.kind in THINKING:
        requests.held.append(HeldEdit(edit, position, SIGNED))
    return False
