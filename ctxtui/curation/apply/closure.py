"""Computes which blocks must be removed along with others (facts §1, §4).

Without these further removals the provider would refuse the request. `resolve` passes the requested removals and gets
back all removals, each with its reason. Only touched positions are examined, for two reasons: a request that was
invalid before the edits is not repaired here, and thousands of untouched blocks cost no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final, NamedTuple

from ctxtui.core.block import ASSISTANT, HEADER
from ctxtui.curation.context import THINKING, Context, Message, is_call
from ctxtui.curation.provider_rules import ProviderRules
from ctxtui.wire.google_parts import is_signed
from ctxtui.wire.grammar import ANTHROPIC, GOOGLE

PAIR: Final = "a call and its answer go together"
DANGLING: Final = "thinking must not end a message"
SUCCESSOR: Final = "reasoning goes with the item that followed it"
SYSTEM: Final = "a system message must follow the user and precede the assistant"
SIGNED: Final = "the first call of a step carries the signature for all of them"
END: Final = "a request must end with the user's side"
BOUND: Final = "this thinking is bound to the content before it"


class Gone(NamedTuple):
    """Reason of a removal: the position whose removal requires it, and the rule.

    If an edit requested it, `cause` is its own position and `why` is "".
    """

    cause: int
    why: str = ""


class Closure:
    """All removals in one context: the requested ones, and those that the rules then require.

    `user_inserts` are the positions before which a new user message will be inserted. Rules about the last user message
    take them into account.
    """

    def __init__(self, context: Context, rules: ProviderRules, user_inserts: Iterable[int] = ()) -> None:
        self._context = context
        self._rules = rules
        self._sorted_inserts = sorted(user_inserts)
        self.depends_on_inserts = False
        """Whether the result so far depends on `user_inserts`."""
        self.removed: dict[int, Gone] = {}
        self._left: dict[int, int] = {}
        """The number of remaining parts of each message that lost one."""
        self._todo: list[int] = []
        """Removed positions whose counterparts have not been looked at."""
        self._touched: set[int] = set()
        """Messages that lost a block since the rules between messages were last applied."""

    def remove(self, positions: Iterable[int], because: Gone | None = None) -> None:
        """Remove `positions`, and everything that is invalid without them."""
        for position in positions:
            if position not in self.removed:
                self._mark_removed(position, because or Gone(position))
        while True:
            partners, successor = self._context.partners, self._context.successor
            while self._todo:
                position = self._todo.pop()
                if position in partners or position - 1 in successor:
                    self._remove_partners(position)
            if not self._apply_neighbour_rules():
                return

    @property
    def _user_inserts(self) -> list[int]:
        self.depends_on_inserts = True
        return self._sorted_inserts

    def is_removed(self, message: Message) -> bool:
        return message.start in self.removed

    def _mark_removed(self, position: int, cause: Gone) -> None:
        if position in self.removed:
            return
        self.removed[position] = cause
        self._todo.append(position)
        index = self._context.message_of[position]
        if index < 0:
            return
        self._touched.add(index)
        message = self._context.messages[index]
        if position == message.start and message.has_header:
            for part in range(message.start + 1, message.stop):
                if part not in self.removed:
                    self._mark_removed(part, cause)
            return
        remaining = self._left.get(index)
        if remaining is None:
            remaining = sum(part not in self.removed for part in range(message.start + 1, message.stop)) + 1
        remaining = self._left[index] = remaining - 1
        if remaining == 0 and message.has_header:
            self._mark_removed(message.start, cause)

    def _remove_partners(self, position: int) -> None:
        """Remove the other half of a pair, and reasoning whose successor is removed."""
        pair = self._context.partners.get(position, ())
        cause = Gone(self.removed[position].cause, PAIR) if pair else self.removed[position]
        for partner in pair:
            self._mark_removed(partner, cause)
            index = self._context.message_of[partner]
            message = self._context.messages[index]
            if partner == message.start and message.has_header:
                self._mark_removed(message.start, cause)
        if position and self._context.successor.get(position - 1) == position:
            self._mark_removed(position - 1, Gone(cause.cause, SUCCESSOR))

    def _apply_neighbour_rules(self) -> bool:
        """Apply the rules between messages; returns whether anything was removed."""
        touched, self._touched = self._touched, set()
        before = len(self.removed)
        for index in self._affected_messages(touched):
            self._remove_dangling_thinking(index)
        if self._rules.dialect == ANTHROPIC:
            self._remove_misplaced_systems(touched)
        if self._rules.dialect == GOOGLE:
            self._remove_unsigned_calls(touched)
        if self._rules.ends_with_user:
            self._keep_user_end()
        return len(self.removed) > before or bool(self._todo)

    def _affected_messages(self, touched: set[int]) -> list[int]:
        """The remaining `touched` messages, and the last one before each removed stretch."""
        indexes: list[int] = []
        done_until = -1
        for index in sorted(touched):
            if index <= done_until:
                continue
            if not self.is_removed(self._context.messages[index]):
                indexes.append(index)
                continue
            before = self._last_remaining_before(index)
            done_until = self._first_remaining_after(index) - 1
            if before >= 0 and (not indexes or indexes[-1] != before):
                indexes.append(before)
        return indexes

    def _remove_dangling_thinking(self, index: int) -> None:
        """Remove thinking that nothing follows any more in its run of assistant messages."""
        messages = self._context.messages
        self._remove_dangling_thinking_in(messages[index])
        if messages[index].role not in ASSISTANT:
            return
        while index + 1 < len(messages) and (
            self.is_removed(messages[index + 1]) or messages[index + 1].role in ASSISTANT
        ):
            index += 1
        while index >= 0:
            message = messages[index]
            if message.role not in ASSISTANT and not self.is_removed(message):
                return
            for position in range(message.stop - 1, message.start - 1, -1):
                kind = self._context.items[position].block.kind
                if position in self.removed or kind == HEADER:
                    continue
                if kind not in THINKING or not self._was_followed(position):
                    return
                self._mark_removed(position, self._nearest_cause(position, DANGLING))
            index -= 1

    def _remove_dangling_thinking_in(self, message: Message) -> None:
        """Remove thinking that is at the end of one message now, and was not before."""
        kinds = self._context.items
        if message.role not in ASSISTANT or kinds[message.stop - 1].block.kind in THINKING or not message.has_header:
            return
        for position in range(message.stop - 1, message.start, -1):
            if position in self.removed:
                continue
            if kinds[position].block.kind not in THINKING:
                return
            self._mark_removed(position, self._nearest_cause(position, DANGLING))

    def _was_followed(self, position: int) -> bool:
        """Whether an assistant block other than thinking came after `position` before the edits."""
        context = self._context
        for after in range(position + 1, len(context)):
            item = context.items[after]
            if item.place.role not in ASSISTANT:
                return False
            if item.block.kind != HEADER and item.block.kind not in THINKING:
                return True
        return False

    def _nearest_cause(self, position: int, why: str) -> Gone:
        """Give a removal of `position` the nearest removal as its cause, the following one first."""
        following, preceding = range(position + 1, len(self._context)), range(position - 1, -1, -1)
        nearest = next((p for p in chain(following, preceding) if p in self.removed), None)
        return Gone(position if nearest is None else self.removed[nearest].cause, why)

    def _last_remaining_before(self, index: int) -> int:
        messages, removed, index = self._context.messages, self.removed, index - 1
        # In a long session nearly all may be removed: inlined `is_removed`, to save a call for each message.
        while index >= 0 and messages[index].start in removed:
            index -= 1
        return index

    def _first_remaining_after(self, index: int) -> int:
        messages, removed, index = self._context.messages, self.removed, index + 1
        while index < len(messages) and messages[index].start in removed:
            index += 1
        return index

    def _remove_unsigned_calls(self, touched: set[int]) -> None:
        """Remove calls since the user's last text whose signature was in a removed call."""
        context, removed = self._context, self.removed
        last_user_text = max((p for p in context.user_texts if p not in removed), default=-1)
        for index in touched:
            message = context.messages[index]
            if message.start < last_user_text or message.role not in ASSISTANT:
                continue
            calls = [p for p in range(message.start, message.stop) if is_call(context.items[p].block.kind)]
            remaining_calls = [p for p in calls if p not in removed]
            if (
                remaining_calls
                and is_signed(context.items[calls[0]].block)
                and not is_signed(context.items[remaining_calls[0]].block)
            ):
                for position in remaining_calls:
                    self._mark_removed(position, self._nearest_cause(position, SIGNED))

    def _remove_misplaced_systems(self, touched: set[int]) -> None:
        """Remove misplaced system messages (facts §1).

        A system message must follow the user (or another system message). It must precede the assistant, or be last.
        """
        messages = self._context.messages
        for index in self._context.systems if touched else ():
            if (
                not self.is_removed(messages[index])
                and self._is_near(index, touched)
                and not self._system_may_stay(index)
            ):
                self._mark_removed(messages[index].start, self._nearest_cause(messages[index].start, SYSTEM))

    def _is_near(self, index: int, touched: set[int]) -> bool:
        """Whether blocks near message `index` are removed, or any user message is inserted."""
        start, stop = self._last_remaining_before(index), self._first_remaining_after(index)
        changed = any(n in touched for n in range(max(start, 0), min(stop + 1, len(self._context.messages))))
        return changed or bool(self._user_inserts)

    def _has_insert_from(self, position: int) -> bool:
        return bool(self._user_inserts) and self._user_inserts[-1] >= position

    def _system_may_stay(self, index: int) -> bool:
        messages = self._context.messages
        before, after = self._last_remaining_before(index), self._first_remaining_after(index)
        message = messages[index]
        end = messages[after].start if after < len(messages) else len(self._context)
        if any(message.stop <= position <= end for position in self._user_inserts):
            return False
        start = messages[before].stop if before >= 0 else 0
        follows_user = before >= 0 and messages[before].role in ("user", "system")
        follows_user = follows_user or any(start <= position <= message.start for position in self._user_inserts)
        return follows_user and (after >= len(messages) or messages[after].role in (*ASSISTANT, "system"))

    def _keep_user_end(self) -> None:
        messages = self._context.messages
        if not messages or messages[-1].role in ASSISTANT:
            return
        last = self._last_remaining_before(len(messages))
        if last >= 0 and messages[last].role in ASSISTANT and not self._has_insert_from(messages[last].stop):
            self._mark_removed(messages[last].start, self._nearest_cause(messages[last].start, END))
