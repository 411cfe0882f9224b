"""Where something new may stand in a context: never between a call and its answer, never inside an answer's message
in front of the answers (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import chain
from typing import Final

from ctxtui.core.block import Item, Place
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import HOIST, MOVE, NOTE, SUMMARIZE
from ctxtui.curation.apply.applied import Insert, Insertion
from ctxtui.curation.apply.block_text import message, text_block
from ctxtui.curation.context import ASSISTANT, Context, Message, is_call, is_result
from ctxtui.wire.grammars import CHAT, RESPONSES

FRONT = -1
"""Before the first message."""
SYSTEM = -2
"""At the end of the system prompt."""


def placed(context: Context, wish: Insertion, gone: Container[int]) -> Insert:
    """The insertion that `wish` is, with the positions in `gone` taken out."""
    if wish.at == SYSTEM:
        return _system(context, wish, gone)
    if wish.inside is not None:
        within = context.message_at(wish.inside[0])
        whole = within is not None and within == context.message_at(wish.inside[1]) and within.start not in gone
        if whole and within is not None and within.headed:
            return _within(context, wish, within, gone)
    at = slot(context, 0 if wish.at == FRONT else wish.at)
    return Insert(at, _message(context, wish, "user"), wish.edit)


def slot(context: Context, position: int) -> int:
    """The first position from `position` on where a new message may begin; the context's length for its end."""
    messages = context.messages
    if not messages:
        return len(context)
    if position >= len(context):
        first = len(messages)
    elif context.message_of[position] < 0:
        first = 0
    else:
        first = context.message_of[position] + (messages[context.message_of[position]].start < position)
    for index in chain(range(first, len(messages) + 1), range(first - 1, -1, -1)):
        if _free(context, index):
            return messages[index].start if index < len(messages) else len(context)
    return len(context)


def _free(context: Context, index: int) -> bool:
    """Whether a user's message may stand in front of message `index`."""
    messages = context.messages
    if context.open_before[index]:
        return False
    before = messages[index - 1].role if index else ""
    after = messages[index].role if index < len(messages) else ""
    if before in ASSISTANT and after in ASSISTANT:
        return False
    # Leading system messages of Chat are its system prompt; Anthropic's must be followed by the assistant.
    return not (before == "system" and context.dialect != CHAT) and not (
        after in ("system", "developer") and context.dialect == CHAT
    )


def _message(context: Context, wish: Insertion, role: str) -> tuple[Item, ...]:
    made = message(wish.text, role, context.dialect, wish.mark)
    if wish.block is None:
        return made
    head = made[0]
    return head, Item(wish.block, Place("messages", role, wish.mark))


def _within(context: Context, wish: Insertion, within: Message, gone: Container[int]) -> Insert:
    kept = [p for p in range(within.start + 1, within.stop) if p not in gone]
    kinds = {p: context.items[p].block.kind for p in kept}
    assert wish.inside is not None
    at = max(wish.inside[0], within.start + 1)
    if within.role in ASSISTANT:
        # Text stands in front of the calls: Chat writes them apart, and answers must follow them.
        at = next((p for p in kept if is_call(kinds[p])), within.stop)
        at = min(at, max([wish.inside[0], *(p + 1 for p in kept if not is_call(kinds[p]) and p < at)]))
    else:
        at = max([at, *(p + 1 for p in kept if is_result(kinds[p]))])
    block = wish.block or text_block(wish.text, within.role, context.dialect)
    return Insert(at, (Item(block, Place("messages", within.role, wish.mark)),), wish.edit)


def _system(context: Context, wish: Insertion, gone: Container[int]) -> Insert:
    text = wish.text
    first = next((p for p, item in enumerate(context.items) if item.place.section == "messages"), len(context))
    lead = context.messages[0] if context.messages else None
    if context.dialect == CHAT:
        if lead is not None and lead.role in ("system", "developer") and lead.start not in gone:
            item = Item(text_block(text, lead.role, CHAT), Place("messages", lead.role, wish.mark))
            return Insert(lead.stop, (item,), wish.edit)
        return Insert(first, message(text, "system", CHAT, wish.mark), wish.edit)
    if context.dialect == RESPONSES:
        return Insert(first, message(text, "developer", RESPONSES, wish.mark), wish.edit)
    return Insert(
        first, (Item(text_block(text, "system", context.dialect), Place("system", "", wish.mark)),), wish.edit
    )


def _summary(context: Context, edit: Edit, here: Sequence[int]) -> list[Insertion]:
    return [Insertion(min(here), edit, _text(edit), "summary", (min(here), max(here)))]


def _note(context: Context, edit: Edit, here: Sequence[int]) -> list[Insertion]:
    at = here[0] + 1
    if edit.given.get("where") == "before":
        message = context.message_at(here[0])
        at = here[0] if message is None else message.start
    return [Insertion(at, edit, _text(edit), "meta")]


def _hoisted(context: Context, edit: Edit, here: Sequence[int]) -> list[Insertion]:
    return [Insertion(_spot(context, edit), edit, _text(edit))]


def _moved(context: Context, edit: Edit, here: Sequence[int]) -> list[Insertion]:
    spot = _spot(context, edit)
    return [Insertion(spot, edit, context.reading(p).text, "memory", None, context.items[p].block) for p in here]


def _text(edit: Edit) -> str:
    text = edit.given.get("text")
    return text if isinstance(text, str) else ""


def _spot(context: Context, edit: Edit) -> int:
    to = edit.given.get("to", "system")
    return SYSTEM if to == "system" else len(context) if to == "end" else FRONT


INSERTIONS: Final[dict[str, Callable[[Context, Edit, Sequence[int]], list[Insertion]]]] = {
    SUMMARIZE: _summary,
    NOTE: _note,
    HOIST: _hoisted,
    MOVE: _moved,
}
"""What each kind of edit that adds something puts in, given the positions that it is done at."""
