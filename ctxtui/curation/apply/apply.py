"""Edits applied to a context: the overlay over a path, which itself never changes (design §6 law 4).

No nodes are made. First every edit says what it wants, then the closure adds what must go with it, then what is new
gets its place. What cannot be had is held back with the reason, the rest is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ctxtui.core.block import HEADER
from ctxtui.core.edit import USER, Edit, active_edits
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply import resolve
from ctxtui.curation.apply.applied import Applied, Asleep, HeldEdit
from ctxtui.curation.apply.block_text import changeable
from ctxtui.curation.apply.insertion import INSERTIONS, slot
from ctxtui.curation.apply.resolve import RequestedFates
from ctxtui.curation.apply.rewrite import rewritten
from ctxtui.curation.context import THINKING, Context, Message
from ctxtui.curation.provider_rules import ProviderRules, rules_for

SIGNED = "its provider signed this block: it can be stripped, not changed"


UNWRITTEN = "its text is not written yet"
ELSEWHERE = "the text that it moves does not stand there"


def apply(context: Context, log: Iterable[Edit], rules: ProviderRules | None = None) -> Applied:
    """`context` under the append-only `log`, staged and applied edits alike; it changes nothing.

    Of several edits of one block the later ones work on what the earlier ones made; a pinned block is changed by no
    other author than the user. `rules` are those of the dialect and model (default: the dialect's).
    """
    wanted = RequestedFates()
    standing = active_edits(log)
    for edit in standing:
        if edit.spec.pins:
            here = [p for target in edit.targets if (p := context.find(target)) is not None]
            wanted.pinned.update(here, _whole_messages(context, edit, here))
    own = set(wanted.pinned)
    wanted.pinned |= {other for position in own for other in context.partners.get(position, ())}
    for edit in standing:
        _ask(context, wanted, edit, own)
    return resolve.settled(context, wanted, rules or rules_for(context.dialect), frozenset(own))


def _ask(context: Context, wanted: RequestedFates, edit: Edit, own: Collection[int]) -> None:
    """Put what `edit` asks for into `wanted`; `own` are the positions that the user pinned."""
    found, does = [context.find(target) for target in edit.targets], edit.spec
    here = [position for position in found if position is not None]
    if not here or (does.replaces_blocks and len(here) < len(found)):
        wanted.asleep.append(Asleep(edit, len(found) - len(here)))
    elif does.needs_text and not str(edit.params.get("text") or "").strip():
        wanted.held.append(HeldEdit(edit, -1, UNWRITTEN))
    else:
        _want(context, wanted, edit, _whole_messages(context, edit, here), own)


def _whole_messages(context: Context, edit: Edit, here: list[int]) -> list[int]:
    """A header alone stands for its whole message where an edit takes things out or pins them."""
    if not edit.spec.pins and not edit.spec.removes:
        return here
    found: dict[int, None] = {}
    parts = {context.message_of[p] for p in here if context.items[p].block.kind != HEADER}
    for position in here:
        message = context.message_at(position)
        heads = message is not None and message.start == position and message.headed
        if message is None or not heads:
            found[position] = None
        elif context.message_of[position] not in parts:
            # A range that ends inside a message names its header and some of its parts: then only those.
            found.update(dict.fromkeys(range(position + 1, message.stop)))
    return list(found)


def _want(context: Context, wanted: RequestedFates, edit: Edit, here: list[int], own: Collection[int]) -> None:
    allowed, does = here, edit.spec
    if does.rewrites or does.takes_away:
        allowed = [p for p in here if not _is_protected(wanted, edit, p, own)]
    if does.moves:
        allowed = [p for p in allowed if _is_movable(context, wanted, edit, p)]
    if does.takes_away:
        for position in allowed:
            wanted.stay(position, context.items[position].block)
            wanted.put(position, None, edit)
    elif does.rewrites:
        changed = [position for position in allowed if _rewrite(context, wanted, edit, position)]
        if does.adds and allowed and not changed:
            wanted.held.append(HeldEdit(edit, -1, ELSEWHERE))
            return
    elif does.marks_cache:
        wanted.marks += [(position, edit) for position in here]
    if allowed and does.adds:
        wanted.new += INSERTIONS[edit.kind](context, edit, allowed)


def _is_protected(wanted: RequestedFates, edit: Edit, position: int, own: Collection[int]) -> bool:
    if position not in wanted.pinned or (edit.author == USER and (position in own or not edit.spec.removes)):
        return False
    why = "pinned" if position in own else "its call or answer is pinned"
    wanted.held.append(HeldEdit(edit, position, why))
    return True


def _is_movable(context: Context, wanted: RequestedFates, edit: Edit, position: int) -> bool:
    item = context.items[position]
    theirs = item.block.kind in ("text", "input_text") and item.place.role in ("", "user")
    message = context.message_at(position)
    movable = theirs and message is not None and context.reading(position).text.strip()
    why = "" if movable else "only the user's texts can be moved"
    if message is not None and _stands_there(context, message, edit.params.get("to", "system")):
        why = why or "it stands there already"
    if why:
        wanted.held.append(HeldEdit(edit, position, why))
    return not why


def _stands_there(context: Context, message: Message, to: object) -> bool:
    return message == context.messages[-1] if to == "end" else to == "start" and message.start == slot(context, 0)


def _rewrite(context: Context, wanted: RequestedFates, edit: Edit, position: int) -> bool:
    """Ask for what `edit` makes of the block at `position`; whether that is another one."""
    block = context.items[position].block
    before = wanted.fate[position][0] if position in wanted.fate else block
    if before is None and edit.kind == REPLACE:
        wanted.stay(position, block)
        before = block
    if before is None:
        return False
    if not changeable(before) and block.kind not in THINKING | {"header"}:
        wanted.held.append(HeldEdit(edit, position, SIGNED))
        return False
    after = rewritten(before, edit)
    if after is None or after != before:
        wanted.put(position, after, edit)
        return True
    if block.kind in THINKING:
        wanted.held.append(HeldEdit(edit, position, SIGNED))
    return False
