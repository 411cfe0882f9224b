"""Finds valid positions for insertions (summaries, notes, moved blocks).

An `Insertion` is the request to insert something, an `Insert` is its blocks at a valid position. It never separates a
call from its answer, and in a message with answers it comes after them (facts §1, §4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import Final

from ctxtui.core.block import ASSISTANT, HEADER, Block, Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import HOIST, NOTE, SUMMARIZE, TRANSPLANT
from ctxtui.curation.apply.applied import Insert, Insertion
from ctxtui.curation.apply.block_text import make_message, text_block
from ctxtui.curation.apply.copied_items import items_of
from ctxtui.curation.context import THINKING, Context, Message, is_call, is_result
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, RESPONSES

FRONT = -1
"""Before the first message."""
SYSTEM = -2
"""At the end of the system prompt: for Chat, of its first system message; for Responses, as a developer message."""
COPY_BEGINS: Final = "(Messages copied from another session.)"
COPY_ENDS: Final = "(End of the copied messages.)"
"""User messages around copied ones, where the provider would otherwise join them to the assistant's own."""


class RemainingContext:
    """The context without the removed positions `gone`."""

    def __init__(self, context: Context, gone: Collection[int] = ()) -> None:
        self.gone = gone
        self._context = context

    @cached_property
    def _neighbours(self) -> tuple[list[Message | None], list[Message | None]]:
        messages = self._context.messages
        before: list[Message | None] = [None]
        for message in messages:
            before.append(message if self._has_remaining_part(message) else before[-1])
        after: list[Message | None] = [None]
        for message in reversed(messages):
            after.append(message if self._has_remaining_part(message) else after[-1])
        return before, after[::-1]

    def around(self, index: int) -> tuple[Message | None, Message | None]:
        """The nearest remaining messages before message `index`, and from it on."""
        if not self.gone:
            messages = self._context.messages
            return messages[index - 1] if index else None, messages[index] if index < len(messages) else None
        before, after = self._neighbours
        return before[index], after[index]

    def _has_remaining_part(self, message: Message) -> bool:
        return any(p not in self.gone for p in range(message.start, message.stop))


def place(context: Context, insertion: Insertion, remaining: RemainingContext) -> Insert:
    """Find the position for `insertion` in the `remaining` context, and make its blocks."""
    removed = remaining.gone
    if insertion.items:
        return _insert_copied(context, insertion, remaining)
    if insertion.at == SYSTEM:
        return _insert_in_system_prompt(context, insertion, removed)
    if insertion.inside is not None:
        within = context.message_at(insertion.inside[0])
        whole = within is not None and within == context.message_at(insertion.inside[1]) and within.start not in removed
        if whole and within is not None and within.has_header:
            return _insert_in_message(context, insertion, within, removed)
    position = 0 if insertion.at == FRONT else insertion.at
    if insertion.inside is not None:
        position = _skip_removed_start(context, position, removed)
    position = slot(context, position, remaining if insertion.inside is not None else None)
    return Insert(position, _make_user_message(context, insertion), insertion.edit)


def _skip_removed_start(context: Context, position: int, removed: Container[int]) -> int:
    """The start of the message at `position` if nothing of it is left before that.

    `position` itself otherwise.
    """
    message = context.message_at(position)
    before = range(message.start if message is not None else position, position)
    return before.start if all(p in removed or context.items[p].block.kind == HEADER for p in before) else position


def slot(context: Context, position: int, remaining: RemainingContext | None = None) -> int:
    """The first valid position for a new message from `position` on, else the last before.

    The length of the context is a valid position, too. For summaries, if blocks are removed (`remaining`), it is the
    nearest valid position in either direction.
    """
    messages = context.messages
    if not messages:
        return len(context)
    if position >= len(context):
        first = len(messages)
    elif context.message_of[position] < 0:
        first = 0
    else:
        first = context.message_of[position] + (messages[context.message_of[position]].start < position)
    following, preceding = range(first, len(messages) + 1), range(first - 1, -1, -1)
    # A summary goes as near as possible to the blocks that it replaces; other insertions go before their position only
    # if there is no valid one after it.
    remaining = remaining or RemainingContext(context)
    for index in _by_distance(following, preceding) if remaining.gone else chain(following, preceding):
        if _may_insert(context, index, remaining):
            return messages[index].start if index < len(messages) else len(context)
    return len(context)


def _by_distance(following: Iterable[int], preceding: Iterable[int]) -> Iterator[int]:
    """Alternate between `following`, which begins with the wanted position, and `preceding`."""
    further = iter(following)
    yield from islice(further, 1)
    for pair in zip_longest(further, preceding):
        yield from (index for index in pair if index is not None)


def _may_insert(context: Context, index: int, remaining: RemainingContext) -> bool:
    messages = context.messages
    end = messages[index].start if index < len(messages) else len(context)
    if context.open_before[index] and any(
        call < end <= answer and call not in remaining.gone for call, (answer, *_) in context.partners.items()
    ):
        return False
    before, after = remaining.around(index)
    if before is not None and after is not None and before.role in ASSISTANT and after.role in ASSISTANT:
        # They are still separate if there were messages between them.
        return before.stop < after.start
    # Chat's leading system messages are its system prompt; Anthropic's must be followed by the assistant.
    return not (before is not None and before.role == "system" and context.dialect != CHAT) and not (
        after is not None and after.role in ("system", "developer") and context.dialect == CHAT
    )


def _make_user_message(context: Context, insertion: Insertion) -> tuple[Item, ...]:
    message_items = make_message(insertion.text, "user", context.dialect, insertion.mark)
    if insertion.block is None:
        return message_items
    head = message_items[0]
    return head, Item(insertion.block, Place("messages", "user", insertion.mark))


def _insert_in_message(context: Context, insertion: Insertion, message: Message, removed: Container[int]) -> Insert:
    remaining = [p for p in range(message.start + 1, message.stop) if p not in removed]
    kinds = {p: context.items[p].block.kind for p in remaining}
    assert insertion.inside is not None
    position = max(insertion.inside[0], message.start + 1)
    if message.role in ASSISTANT:
        # Text goes before the calls: Chat writes them separately, and answers must follow them.
        position = next((p for p in remaining if is_call(kinds[p])), message.stop)
        position = min(
            position, max([insertion.inside[0], *(p + 1 for p in remaining if not is_call(kinds[p]) and p < position)])
        )
    else:
        position = max([position, *(p + 1 for p in remaining if is_result(kinds[p]))])
    block = insertion.block or text_block(insertion.text, message.role, context.dialect)
    return Insert(position, (Item(block, Place("messages", message.role, insertion.mark)),), insertion.edit)


def _insert_in_system_prompt(context: Context, insertion: Insertion, removed: Container[int]) -> Insert:
    text = insertion.text
    first = next((p for p, item in enumerate(context.items) if item.place.section == "messages"), len(context))
    lead = context.messages[0] if context.messages else None
    if context.dialect == CHAT:
        if lead is not None and lead.role in ("system", "developer") and lead.start not in removed:
            item = Item(text_block(text, lead.role, CHAT), Place("messages", lead.role, insertion.mark))
            return Insert(lead.stop, (item,), insertion.edit)
        return Insert(first, make_message(text, "system", CHAT, insertion.mark), insertion.edit)
    if context.dialect == RESPONSES:
        return Insert(first, make_message(text, "developer", RESPONSES, insertion.mark), insertion.edit)
    return Insert(
        first, (Item(text_block(text, "system", context.dialect), Place("system", "", insertion.mark)),), insertion.edit
    )


def _insert_copied(context: Context, insertion: Insertion, remaining: RemainingContext) -> Insert:
    position = slot(context, insertion.at)
    before, after = remaining.around(context.message_of[position] if position < len(context) else len(context.messages))
    items = insertion.items
    if context.dialect in (ANTHROPIC, GOOGLE):
        is_answer = items[0].place.role in ASSISTANT
        begins = is_answer and (before is None or before.role in ASSISTANT)
        ends = _needs_end(context, items, before, after)
        items = (
            *(make_message(COPY_BEGINS, "user", context.dialect, "meta") if begins else ()),
            *items,
            *(make_message(COPY_ENDS, "user", context.dialect, "meta") if ends else ()),
        )
    return Insert(position, items, insertion.edit)


def _needs_end(context: Context, items: Sequence[Item], before: Message | None, after: Message | None) -> bool:
    last = items[-1]
    if last.place.role not in ASSISTANT and not is_result(last.block.kind):
        return False
    if context.dialect == GOOGLE and any(is_call(item.block.kind) for item in items):
        # Google wants calls since the last user text signed, and a signature is valid in its own session only.
        return True
    if last.place.role in ASSISTANT:
        return (before is None or before.role not in ASSISTANT) if after is None else after.role != "user"
    thinking = context.params.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return False
    # The first answer after the user's words must begin with thinking (facts §1), which is never copied.
    return after is None or (
        after.role in ASSISTANT and context.items[min(after.start + 1, after.stop - 1)].block.kind in THINKING
    )


def _insert_summary(context: Context, edit: Edit, positions: Sequence[int]) -> list[Insertion]:
    return [Insertion(min(positions), edit, _text(edit), "summary", (min(positions), max(positions)))]


def _insert_note(context: Context, edit: Edit, positions: Sequence[int]) -> list[Insertion]:
    position = positions[0] + 1
    if edit.params.get("where") == "before":
        message = context.message_at(positions[0])
        position = positions[0] if message is None else message.start
    return [Insertion(position, edit, _text(edit), "meta")]


def _insert_transplant(context: Context, edit: Edit, positions: Sequence[int]) -> list[Insertion]:
    return [Insertion(positions[-1] + 1, edit, items=items_of(edit.payload))]


def _insert_hoisted(context: Context, edit: Edit, positions: Sequence[int]) -> list[Insertion]:
    return [Insertion(_destination(context, edit), edit, _text(edit))]


def insert_moved(context: Context, edit: Edit, position: int, block: Block) -> Insertion:
    """The insertion of the `block` that `edit` moves from `position`."""
    return Insertion(_destination(context, edit), edit, read(block).text, "memory", block=block, origin=position)


def _text(edit: Edit) -> str:
    text = edit.params.get("text")
    return text if isinstance(text, str) else ""


def _destination(context: Context, edit: Edit) -> int:
    to = edit.params.get("to", "system")
    return SYSTEM if to == "system" else len(context) if to == "end" else FRONT


INSERTIONS: Final[dict[str, Callable[[Context, Edit, Sequence[int]], list[Insertion]]]] = {
    SUMMARIZE: _insert_summary,
    NOTE: _insert_note,
    TRANSPLANT: _insert_transplant,
    HOIST: _insert_hoisted,
}
"""For each kind of edit that adds something new: makes its insertions at the given positions."""
