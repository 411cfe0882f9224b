"""What a policy decides on: a context, the edits that it is under already, and how large everything is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar, cast

from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.edit import USER, Edit, in_force, make
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import ASSISTANT, Context, Message, is_call, is_result
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.provider_rules import ProviderRules

T = TypeVar("T")
Settings = Mapping[str, Json]
_MEMORY: Final = INDEX["memory"]


class Stretch(NamedTuple):
    """Positions `start` to `stop` (exclusive): a round, a turn."""

    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class PolicyContext:
    """A context under its edits. `tokens` gives those of the block at a raw position, `count` those of a new block,
    `usable` is the part of the window that may be filled (tokens, 0: not known), `literals` tell what later blocks
    quote (None: not known), `cold` says that the cache is gone, so that rewriting the prefix costs nothing more.
    `hidden` are tokens that no block stands for: what was not recorded. `known` is what `log` makes of the context and
    `raw` what it comes to without edits, for who has worked it out already; `worked_out` keeps what logs (the ids of
    their edits) made of it, for as long as many of them are tried (None: not kept)."""

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
    worked_out: dict[tuple[str, ...], Applied] | None = None

    def under(self, edits: Iterable[Edit]) -> PolicyContext:
        """The same with further edits."""
        more = tuple(edits)
        return replace(self, log=(*self.log, *more), known=None) if more else self

    @cached_property
    def applied(self) -> Applied:
        """What the edits make of the context."""
        if self.known is not None:
            return self.known
        if self.worked_out is None:
            return apply(self.context, self.log, self.rules)
        ids = tuple(edit.id for edit in self.log)
        found = self.worked_out.get(ids)
        if found is None:
            found = self.worked_out[ids] = apply(self.context, self.log, self.rules)
        return found

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
        found: dict[str, set[int]] = {}
        for edit in self.log:
            known = found.setdefault(edit.author, set())
            known.update(p for target in edit.targets if (p := self.context.find(target)) is not None)
        return {author: frozenset(positions) for author, positions in found.items()}

    def released(self, author: str) -> frozenset[int]:
        """Positions that were in the hands of the policy `author` and were taken from it by a revert."""
        standing = {edit.id for edit in in_force(self.log)}
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

    @cached_property
    def results(self) -> list[int]:
        """The positions that hold the words of tool results, in order."""
        return self._outline("results", self._results)

    def _results(self) -> list[int]:
        found = []
        for position, item in enumerate(self.context.items):
            inside = item.place.role in ("tool", "function") and item.block.kind != HEADER
            if is_result(item.block.kind) or (inside and not is_call(item.block.kind)):
                found.append(position)
        return found

    @cached_property
    def total(self) -> int:
        """Tokens of the whole context now."""
        raw = self.raw if self.raw is not None else sum(map(self.tokens, range(len(self.context))))
        changed = sum(self.size(p) - self.tokens(p) for p in self.applied.changes)
        new = sum(self.count(item.block) for one in self.applied.inserts for item in one.items)
        return self.hidden + raw + changed + new

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
        return self._outline("newest call", self._newest_call)

    def _outline(self, name: str, work: Callable[[], T]) -> T:
        """What `work` finds in the context, whatever edits it is under: once for each length that it has."""
        known = self.context.said.outlines
        found = known.get(name)
        if found is None or found[0] != len(self.context):
            found = known[name] = len(self.context), work()
        return cast(T, found[1])

    def _newest_call(self) -> int:
        context = self.context
        calls = [p for p in context.partners if is_call(context.items[p].block.kind)]
        return context.message_of[max(calls)] if calls else len(context.messages)

    @property
    def turns(self) -> list[Stretch]:
        """The turns, from the first thing that a person said; what is before belongs to none."""
        return self._outline("turns", self._turns)

    def _turns(self) -> list[Stretch]:
        tree, nodes = self.context.tree, self.context.nodes
        starts: list[int] = []
        number = 0
        for position, node in enumerate(nodes):
            if tree[node].turn > number:
                number = tree[node].turn
                message = self.context.message_at(position)
                starts.append(position if message is None else message.start)
        return [Stretch(a, b) for a, b in pairwise([*starts, len(nodes)])]

    @property
    def said(self) -> list[Message]:
        """The messages in which a person says something, also beside tool results."""
        return self._outline("said", self._said)

    def _said(self) -> list[Message]:
        indexes = dict.fromkeys(self.context.message_of[position] for position in self.context.spoken)
        return [self.context.messages[index] for index in indexes]

    @property
    def rounds(self) -> list[Stretch]:
        """The rounds: an answer of the assistant's and the results that belong to it, up to the next answer or to what
        a person says."""
        return self._outline("rounds", self._rounds)

    def _rounds(self) -> list[Stretch]:
        found: list[Stretch] = []
        spoke = False
        for index, message in enumerate(self.context.messages):
            assistant = message.role in ASSISTANT
            if assistant and not spoke and not self.context.open_before[index]:
                found.append(Stretch(message.start, message.stop))
            elif found and found[-1].stop == message.start and (assistant or self._answers(message)):
                found[-1] = Stretch(found[-1].start, message.stop)
            spoke = assistant
        return found

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
    """An edit of a policy's, named after what it does."""
    return make(kind, situation.context.targets(positions), given or {}, author=author)
