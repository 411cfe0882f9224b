"""What a policy decides on: a context, the edits that it is under already, and how large everything is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import pairwise, takewhile
from operator import is_
from typing import Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.edit import USER, Edit, active_edits, make
from ctxtui.curation.apply.applied import Applied, Insert
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import ASSISTANT, Context, Message, is_call, is_result
from ctxtui.curation.policies.earlier import Earlier, EditedPositions, Stretch, differing
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.provider_rules import ProviderRules

T = TypeVar("T")
Settings = Mapping[str, Json]
_MEMORY: Final = INDEX["memory"]


class PolicyContext(Struct, frozen=True, kw_only=True, dict=True):
    """A context under its edits. `tokens` gives those of the block at a raw position, `count` those of a new block,
    `usable` is the part of the window that may be filled (tokens, 0: not known), `literals` tell what later blocks
    quote (None: not known), `cold` says that the cache is gone, so that rewriting the prefix costs nothing more.
    `hidden` are tokens that no block stands for: what was not recorded. `known` is what `log` makes of the context and
    `raw` what it comes to without edits, for who has worked it out already. `earlier` is what was worked out of a
    situation of the same context that this one goes on from, with the same `tokens`, and `parent` the one that it has
    its last edits more than."""

    context: Context
    log: tuple[Edit, ...]
    tokens: Callable[[int], int]
    count: Callable[[Block], int]
    usable: int = 0
    rules: ProviderRules | None = None
    literals: Literals | None = None
    cold: bool = False
    hidden: int = 0
    known: Applied | None = None
    raw: int | None = None
    earlier: Earlier | None = None
    parent: PolicyContext | None = None

    def under(self, edits: Iterable[Edit]) -> PolicyContext:
        """The same with further edits."""
        more = tuple(edits)
        if not more:
            return self
        ids = tuple(edit.id for edit in more)
        found = self._further.get(ids)
        if found is None:
            found = replace(self, log=(*self.log, *more), known=None, earlier=None, parent=self)
            self._further[ids] = found
        return found

    def forget(self) -> None:
        """Let go of what was tried: each further situation knows this one, and is in its memory."""
        for one in self._further.values():
            one.forget()
        self._further.clear()

    @cached_property
    def _further(self) -> dict[tuple[str, ...], PolicyContext]:
        """This one with further edits, by their ids: many are tried, and some twice."""
        return {}

    @cached_property
    def applied(self) -> Applied:
        """What the edits make of the context."""
        return self.known or apply(self.context, self.log, self.rules)

    def so_far(self) -> Earlier:
        """What was worked out of this situation."""
        known = vars(self)
        return Earlier(
            length=len(self.context),
            log=self.log,
            applied=self.applied,
            asked=known.get("asked"),
            freed=known.get("freed"),
            left=known.get("left"),
            gone=known.get("gone"),
        )

    @cached_property
    def changed(self) -> list[int]:
        """The positions at which the edits may make something else of the context than they did before."""
        before = self.earlier
        return differing(before.applied.changes if before is not None else {}, self.applied.changes)

    @cached_property
    def asked(self) -> EditedPositions:
        """What the edits are about."""
        if self.parent is not None:
            return self.parent.asked.more(self.context, self.log[len(self.parent.log) :])
        before = self.earlier
        if before is None or before.asked is None or before.asked.awaited.came(self.context, before.length):
            return EditedPositions().more(self.context, self.log)
        more = self.log[len(before.log) :]
        return before.asked.more(self.context, more) if more else before.asked

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Positions that no policy changes: the user's pins, and what belongs to them."""
        own = set(self.applied.pinned)
        for position in self.applied.pinned:
            own.update(self.context.partners.get(position, ()))
            message = self.context.message_at(position)
            if message is not None and self.context.items[position].block.kind == HEADER:
                own.update(range(message.start, message.stop))
        return frozenset(own)

    @cached_property
    def touched(self) -> Mapping[str, frozenset[int]]:
        """By author, every position that an edit of theirs has ever been about, reverted or not: what a policy did
        once, it does not do again."""
        found: dict[str, frozenset[int]] = {}
        for (author, _), positions in self.asked.positions.items():
            found[author] = found.get(author, frozenset()) | positions
        return found

    def released(self, author: str) -> frozenset[int]:
        """Positions that were in the hands of the policy `author` and were taken from it by a revert."""
        if not self.asked.reverts:
            return frozenset()
        standing = {edit.id for edit in active_edits(self.log)}
        held: set[int] = set()
        for edit in self.log:
            if edit.author == author and edit.id in standing:
                held.update(p for target in edit.targets if (p := self.context.find(target)) is not None)
        return self.touched.get(author, frozenset()) - held

    @cached_property
    def taken_back(self) -> frozenset[int]:
        """Positions that a user took from any policy."""
        return frozenset[int]().union(*(self.released(author) for author in self.touched if author != USER))

    def size(self, position: int) -> int:
        """Tokens of what stands at a raw position now."""
        change = self.applied.changes.get(position)
        if change is None:
            return self.tokens(position)
        return 0 if change.after is None else self.count(change.after)

    @property
    def results(self) -> list[int]:
        """The positions that hold the words of tool results, in order."""
        return self.outline("results", self._results)

    def _results(self, length: int, found: list[int] | None) -> list[int]:
        found = [] if found is None else found
        items = self.context.items
        for position in range(length, len(items)):
            item = items[position]
            inside = item.place.role in ("tool", "function") and item.block.kind != HEADER
            if is_result(item.block.kind) or (inside and not is_call(item.block.kind)):
                found.append(position)
        return found

    @cached_property
    def freed(self) -> int:
        """Tokens that the edits free, those of what they put in taken off."""
        before = self.earlier
        changes, inserts = self.applied.changes, self.applied.inserts
        if before is None or before.freed is None:
            return sum(self.tokens(p) - self.size(p) for p in changes) - self._put_in(inserts)
        old, found = before.applied.changes, before.freed
        for position in self.changed:
            one = old.get(position)
            was = self.tokens(position) if one is None else self.count(one.after) if one.after is not None else 0
            found += was - self.size(position)
        was_in = before.applied.inserts
        if was_in is not inserts:
            same = sum(1 for _ in takewhile(bool, map(is_, was_in, inserts)))
            found += self._put_in(was_in[same:]) - self._put_in(inserts[same:])
        return found

    def _put_in(self, inserts: Iterable[Insert]) -> int:
        return sum(self.count(item.block) for one in inserts for item in one.items)

    @property
    def total(self) -> int:
        """Tokens of the whole context now."""
        return self.hidden + self._raw - self.freed

    @cached_property
    def _raw(self) -> int:
        if self.raw is not None:
            return self.raw
        return self.parent._raw if self.parent is not None else sum(map(self.tokens, range(len(self.context))))

    @cached_property
    def left(self) -> list[int]:
        """The indexes of the messages of which something is left."""
        messages, before = self.context.messages, self.earlier
        if before is None or before.left is None:
            return [index for index, message in enumerate(messages) if not self.is_out(message)]
        index_of = self.context.message_of
        last = next((index_of[p] for p in range(before.length - 1, -1, -1) if index_of[p] >= 0), -1)
        looked_at = {index_of[p] for p in self.changed if index_of[p] >= 0}
        looked_at.update(range(last + 1, len(messages)))
        if not looked_at:
            return before.left
        return sorted({*before.left} - looked_at | {n for n in looked_at if not self.is_out(messages[n])})

    @property
    def open_rounds(self) -> list[Stretch]:
        """The rounds of which anything stands as it was."""
        gone = self.gone
        return [one for one in self.rounds if one not in gone]

    @cached_property
    def gone(self) -> frozenset[Stretch]:
        """The other rounds."""
        before, changes = self.parent or self.earlier, self.applied.changes
        known = before.gone if before is not None and before.gone is not None else frozenset[Stretch]()
        if known and before is not None:
            old = before.applied.changes
            known = known if old is changes or old.keys() <= changes.keys() else frozenset()
        items = self.context.items
        more = [
            one
            for one in self.rounds
            if one not in known and not any(p not in changes and items[p].block.kind != HEADER for p in range(*one))
        ]
        return known.union(more) if more else known

    def stands(self, position: int) -> bool:
        """Whether the block at `position` is there and as it was."""
        return position not in self.applied.changes

    def is_out(self, message: Message) -> bool:
        """Whether nothing of `message` is left."""
        change = self.applied.changes.get(message.start)
        return change is not None and change.after is None

    def free(self, position: int, author: str) -> bool:
        """Whether the policy `author` may change the block at `position`: it stands as it was, is not pinned, and was
        not in its hands before."""
        return self.stands(position) and position not in self.pinned and position not in self.touched.get(author, ())

    def removable(self, position: int, author: str) -> bool:
        """Whether the policy `author` may take out the block at `position`: as `free`, and also what another policy
        has only shortened."""
        change = self.applied.changes.get(position)
        mended = change is not None and (change.after is None or change.repaired or change.edit.author == USER)
        return not mended and position not in self.pinned and position not in self.touched.get(author, ())

    def is_gone(self, position: int) -> bool:
        """Whether the block at `position` is out."""
        change = self.applied.changes.get(position)
        return change is not None and change.after is None

    @property
    def newest_call(self) -> int:
        """The index of the message that holds the newest call which has its result; the number of messages where there
        is none."""
        call = self.outline("newest call", self._newest_call)
        return self.context.message_of[call] if call >= 0 else len(self.context.messages)

    def _newest_call(self, length: int, found: int | None) -> int:
        context, newest = self.context, -1 if found is None else found
        for position in range(length, len(context)):
            calls = (p for p in (position, *context.partners.get(position, ())) if p in context.partners)
            newest = max([newest, *(p for p in calls if is_call(context.items[p].block.kind))])
        return newest

    def outline(self, name: str, work: Callable[[int, T | None], T]) -> T:
        """What `work` finds in the context, whatever edits it is under: it goes on from what it found when the context
        had so many blocks (None: nothing yet)."""
        known = self.context.said.outlines
        length, found = known.get(name, (0, None))
        if found is None or length != len(self.context):
            found = work(length, cast("T | None", found))
            known[name] = len(self.context), found
        return cast(T, found)

    @property
    def turns(self) -> list[Stretch]:
        """The turns, from the first thing that a person said; what is before belongs to none."""
        return self.outline("turns", self._turns)

    def _turns(self, length: int, found: list[Stretch] | None) -> list[Stretch]:
        tree, nodes = self.context.tree, self.context.nodes
        starts = [one.start for one in found or ()]
        number = tree[nodes[length - 1]].turn if length else 0
        for position in range(length, len(nodes)):
            if tree[nodes[position]].turn > number:
                number = tree[nodes[position]].turn
                message = self.context.message_at(position)
                starts.append(position if message is None else message.start)
        return [Stretch(a, b) for a, b in pairwise([*starts, len(nodes)])]

    @property
    def said(self) -> list[Message]:
        """The messages in which a person says something, also beside tool results."""
        return self.outline("said", lambda length, found: self._said())

    def _said(self) -> list[Message]:
        indexes = dict.fromkeys(self.context.message_of[position] for position in self.context.spoken)
        return [self.context.messages[index] for index in indexes]

    @property
    def rounds(self) -> list[Stretch]:
        """The rounds: an answer of the assistant's and the results that belong to it, up to the next answer or to what
        a person says."""
        return self.outline("rounds", self._rounds)

    def _rounds(self, length: int, found: list[Stretch] | None) -> list[Stretch]:
        context, messages = self.context, self.context.messages
        found = [] if found is None else found
        first = self._looked_at_again(length)
        start = messages[first].start if first < len(messages) else len(context)
        while found and found[-1].stop > start:
            one = found.pop()
            if one.start < start:
                found.append(Stretch(one.start, start))
        spoke = first > 0 and messages[first - 1].role in ASSISTANT
        for index in range(first, len(messages)):
            message = messages[index]
            assistant = message.role in ASSISTANT
            if assistant and not spoke and not context.open_before[index]:
                found.append(Stretch(message.start, message.stop))
            elif found and found[-1].stop == message.start and (assistant or self._answers(message)):
                found[-1] = Stretch(found[-1].start, message.stop)
            spoke = assistant
        return found

    def _looked_at_again(self, length: int) -> int:
        """The first message that may be another one than when the context had `length` blocks: the last one may have
        grown, and calls are answered from what came."""
        index_of = self.context.message_of
        before = (index_of[p] for p in range(length - 1, -1, -1) if index_of[p] >= 0)
        first = next(before, 0)
        for position in range(length, len(self.context)):
            first = min([first, *(index_of[p] + 1 for p in self.context.partners.get(position, ()) if p < length)])
        return first

    def _answers(self, message: Message) -> bool:
        kinds = [self.context.items[p].block.kind for p in range(message.start, message.stop)]
        return message.role in ("tool", "function") or any(is_result(kind) for kind in kinds)

    def cut(self, index: int) -> int:
        """The first message from `index` on that no answer to an earlier call stands behind."""
        messages = self.context.messages
        while index < len(messages) and self.context.open_before[index]:
            index += 1
        return index

    def blocks(self, start: int, stop: int) -> list[int]:
        """The positions from `start` to `stop` (exclusive) that are no headers."""
        return [p for p in range(start, stop) if self.context.items[p].block.kind != HEADER]

    @cached_property
    def lead(self) -> int:
        """How many messages at the front nobody said: a system prompt (OpenAI Chat), then memory of a host's."""
        messages = self.context.messages
        return next((n for n, message in enumerate(messages) if not self._is_front(message)), len(messages))

    def _is_front(self, message: Message) -> bool:
        parts = self.blocks(message.start, message.stop)
        tree, nodes = self.context.tree, self.context.nodes
        memory = bool(parts) and all(tree[nodes[at]].category == _MEMORY for at in parts)
        return message.role in ("system", "developer") or memory


def edit(
    situation: PolicyContext, author: str, kind: str, positions: Iterable[int], given: Settings | None = None
) -> Edit:
    """An edit of a policy's, named after what it does. A policy that is asked again asks for most of it again."""
    context, chosen = situation.context, tuple(positions)
    key = author, kind, chosen, repr(given)
    found = context.said.edits.get(key)
    if found is None:
        found = context.said.edits[key] = make(kind, context.targets(chosen), given or {}, author=author)
    return found
