"""What edits may do to thinking: it is signed, and bound to what stood before it (facts §1)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from ctxtui.core.block import HEADER
from ctxtui.curation.apply.applied import Insert
from ctxtui.curation.apply.closure import Closure, Gone
from ctxtui.curation.context import ASSISTANT, THINKING, Context

LATEST = "thinking of the latest assistant message must stay as it is"
JOINED = "two answers would become one, of which the later one's thinking must stay as it is"


def breaks_at(context: Context, changed: Iterable[int], closure: Closure, inserts: Sequence[Insert]) -> int | None:
    """The first position where what later thinking is bound to changes; None where nothing does. Thinking that is
    taken from the front of all thinking is no change."""
    places = [one.position for one in inserts]
    front = True
    for position in context.thinking:
        front = front and position in closure.removed
        if position in closure.removed and not front:
            places.append(position)
    for position in (*closure.removed, *changed):
        if context.items[position].block.kind not in THINKING and not _hollow(context, position):
            places.append(position)
    return min(places, default=None)


def _hollow(context: Context, position: int) -> bool:
    """Whether `position` is the header of a message that holds thinking alone."""
    message = context.message_at(position)
    if message is None or position != message.start or not message.headed:
        return False
    return all(context.items[p].block.kind in THINKING for p in range(message.start + 1, message.stop))


def latest(context: Context, changed: Container[int], closure: Closure, inserts: Sequence[Insert]) -> Gone | None:
    """A change in the latest answers in front of thinking that stays, or thinking taken out in front of what stays:
    the position whose edit must be held. `changed` are the positions whose edits may be held."""
    kept = thinks = False
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if message.role not in ASSISTANT:
            continue
        for position in range(message.stop - 1, message.start - 1, -1):
            gone = closure.removed.get(position)
            is_thinking = context.items[position].block.kind in THINKING
            if gone is not None and gone.cause in changed and (thinks or (kept and is_thinking)):
                return Gone(gone.cause, LATEST)
            if gone is None and thinks and position in changed:
                return Gone(position, LATEST)
            kept, thinks = kept or gone is None, thinks or (gone is None and is_thinking)
    return None


def joined(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Gone | None:
    """The start of the removed message in front of an answer with thinking that would now be joined to an earlier
    answer, in the latest run of answers; None where none would."""
    thinks = False
    between: int | None = None
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if closure.gone(message):
            between = message.start if message.role not in ASSISTANT and thinks else between
            continue
        if between is not None:
            return Gone(between, JOINED)
        kept = (p for p in range(message.start + 1, message.stop) if p not in closure.removed)
        thinks = thinks or any(context.items[p].block.kind in THINKING for p in kept)
    return None


def _last_run(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Iterator[int]:
    """The messages of the last answers that nothing parts any more, last first, with those that are out."""
    messages = context.messages
    index = len(messages) - 1
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role not in ASSISTANT):
        index -= 1
    later = messages[index].start if index >= 0 else 0
    parts: list[int] | None = None
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role in ASSISTANT):
        message = messages[index]
        if not closure.gone(message):
            if message.start != later and parts is None:
                # Most runs are one message, which nothing parts.
                parts = [one.position for one in inserts if one.items[0].block.kind == HEADER]
            if parts and any(message.stop <= position <= later for position in parts):
                return
            later = message.start
        yield index
        index -= 1
