"""The input of a policy: a context, its edits so far, and the sizes of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import pairwise, takewhile
from operator import is_
from typing import Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.block import ASSISTANT, HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.edit import USER, Edit, active_edits, make
from ctxtui.curation.apply.applied import Applied, Insert
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context, Message, is_call, is_result
from ctxtui.curation.policies.earlier import Earlier, EditedPositions, Stretch, differing_positions
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.provider_rules import ProviderRules

T = TypeVar("T")
Settings = Mapping[str, Json]
_MEMORY: Final = INDEX["memory"]


class PolicyContext(Struct, frozen=True, kw_only=True, dict=True):
    """A context under its edits, as a policy reads it.

    - `tokens`: gives the tokens of the block at a raw position; `count`: those of a new block.
    - `usable`: the part of the context window that may be filled, in tokens; 0: unknown.
    - `literals`: finds later quotes of a text; None: unknown.
    - `cold`: nothing is cached any more; False if unknown.
    - `hidden`: tokens that were sent but not recorded as blocks.
    - `computed`, `raw`: `applied`, and the tokens without edits, if they are computed already.
    - `earlier`: results for an earlier state of the same context, with the same `tokens`.
    - `parent`: this context without the last edits.
    """

    context: Context
    log: tuple[Edit, ...]
    tokens: Callable[[int], int]
    count: Callable[[Block], int]
    usable: int = 0
    rules: ProviderRules | None = None
    literals: Literals | None = None
    cold: bool = False
    hidden: int = 0
    computed: Applied | None = None
    raw: int | None = None
    earlier: Earlier | None = None
    parent: PolicyContext | None = None

    def under(self, edits: Iterable[Edit]) -> PolicyContext:
        """This context under `edits` in addition to its log; cached until `forget`."""
        more = tuple(edits)
        if not more:
            return self
        ids = tuple(edit.id for edit in more)
        derived = self._derived_contexts.get(ids)
        if derived is None:
            derived = replace(self, log=(*self.log, *more), computed=None, earlier=None, parent=self)
            self._derived_contexts[ids] = derived
        return derived

    def forget(self) -> None:
        """Release the contexts that `under` cached, which refer to this one and keep it in memory."""
        for derived in self._derived_contexts.values():
            derived.forget()
        self._derived_contexts.clear()

    @cached_property
    def _derived_contexts(self) -> dict[tuple[str, ...], PolicyContext]:
        # By the ids of the further edits: many are tried, some twice.
        return {}

    @cached_property
    def applied(self) -> Applied:
        return self.computed or apply(self.context, self.log, self.rules)

    def computed_so_far(self) -> Earlier:
        """The values computed here, to be passed as `earlier` when the context has grown."""
        values = vars(self)
        return Earlier(
            length=len(self.context),
            log=self.log,
            applied=self.applied,
            edited=values.get("edited"),
            freed=values.get("freed"),
            left=values.get("left"),
            edited_rounds=values.get("edited_rounds"),
        )

    @cached_property
    def changed(self) -> list[int]:
        """The positions at which the edits may differ from the earlier state."""
        before = self.earlier
        return differing_positions(before.applied.changes if before is not None else {}, self.applied.changes)

    @cached_property
    def edited(self) -> EditedPositions:
        """The positions that the edits are about."""
        if self.parent is not None:
            return self.parent.edited.with_edits(self.context, self.log[len(self.parent.log) :])
        before = self.earlier
        if before is None or before.edited is None or before.edited.awaited.has_appeared(self.context, before.length):
            return EditedPositions().with_edits(self.context, self.log)
        more = self.log[len(before.log) :]
        return before.edited.with_edits(self.context, more) if more else before.edited

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Positions that no policy may change: pinned ones, and blocks paired with them."""
        own = set(self.applied.pinned)
        for position in self.applied.pinned:
            own.update(self.context.partners.get(position, ()))
            message = self.context.message_at(position)
            if message is not None and self.context.items[position].block.kind == HEADER:
                own.update(range(message.start, message.stop))
        return frozenset(own)

    @cached_property
    def touched(self) -> Mapping[str, frozenset[int]]:
        """By author, every position that an edit was ever about, reverted or not."""
        positions_of: dict[str, frozenset[int]] = {}
        for (author, _), positions in self.edited.positions.items():
            positions_of[author] = positions_of.get(author, frozenset()) | positions
        return positions_of

    def released(self, author: str) -> frozenset[int]:
        """Positions of edits by `author` that were all reverted."""
        if not self.edited.reverts:
            return frozenset()
        active_ids = {edit.id for edit in active_edits(self.log)}
        still_edited: set[int] = set()
        for edit in self.log:
            if edit.author == author and edit.id in active_ids:
                still_edited.update(p for target in edit.targets if (p := self.context.find(target)) is not None)
        return self.touched.get(author, frozenset()) - still_edited

    @cached_property
    def reverted_by_user(self) -> frozenset[int]:
        """Positions at which a user reverted edits of any policy."""
        by_user = {entry.reverts for entry in self.log if entry.author == USER}
        edits = [edit for edit in self.log if edit.id in by_user and edit.author != USER]
        released = {author: self.released(author) for author in {edit.author for edit in edits}}
        targets = ((edit.author, target) for edit in edits for target in edit.targets)
        return frozenset(p for author, target in targets if (p := self.context.find(target)) in released[author])

    def size(self, position: int) -> int:
        """Tokens at a raw position under the edits; 0 if the block is removed."""
        change = self.applied.changes.get(position)
        if change is None:
            return self.tokens(position)
        return 0 if change.after is None else self.count(change.after)

    @property
    def results(self) -> list[int]:
        """The raw positions of tool results, in order."""
        return self.outline("results", self._results)

    def _results(self, length: int, positions: list[int] | None) -> list[int]:
        positions = [] if positions is None else positions
        items = self.context.items
        for position in range(length, len(items)):
            item = items[position]
            is_in_tool_message = item.place.role in ("tool", "function") and item.block.kind != HEADER
            if is_result(item.block.kind) or (is_in_tool_message and not is_call(item.block.kind)):
                positions.append(position)
        return positions

    @cached_property
    def freed(self) -> int:
        """Tokens that the edits free, less those that they insert."""
        before = self.earlier
        changes, inserts = self.applied.changes, self.applied.inserts
        if before is None or before.freed is None:
            return sum(self.tokens(p) - self.size(p) for p in changes) - self._inserted_tokens(inserts)
        old, freed_tokens = before.applied.changes, before.freed
        for position in self.changed:
            change = old.get(position)
            was = (
                self.tokens(position) if change is None else self.count(change.after) if change.after is not None else 0
            )
            freed_tokens += was - self.size(position)
        was_in = before.applied.inserts
        if was_in is not inserts:
            same = sum(1 for _ in takewhile(bool, map(is_, was_in, inserts)))
            freed_tokens += self._inserted_tokens(was_in[same:]) - self._inserted_tokens(inserts[same:])
        return freed_tokens

    def _inserted_tokens(self, inserts: Iterable[Insert]) -> int:
        return sum(self.count(item.block) for insert in inserts for item in insert.items)

    @property
    def total(self) -> int:
        """Tokens of the whole context under the edits."""
        return self.hidden + self._raw - self.freed

    @cached_property
    def _raw(self) -> int:
        if self.raw is not None:
            return self.raw
        return self.parent._raw if self.parent is not None else sum(map(self.tokens, range(len(self.context))))

    @cached_property
    def left(self) -> list[int]:
        """The indexes of the messages that are not removed entirely."""
        messages, before = self.context.messages, self.earlier
        if before is None or before.left is None:
            return [index for index, message in enumerate(messages) if not self.applied.is_removed(message.start)]
        index_of = self.context.message_of
        last = next((index_of[p] for p in range(before.length - 1, -1, -1) if index_of[p] >= 0), -1)
        looked_at = {index_of[p] for p in self.changed if index_of[p] >= 0}
        looked_at.update(range(last + 1, len(messages)))
        if not looked_at:
            return before.left
        return sorted(
            {*before.left} - looked_at | {n for n in looked_at if not self.applied.is_removed(messages[n].start)}
        )

    @property
    def unedited_rounds(self) -> list[Stretch]:
        edited = self.edited_rounds
        return [stretch for stretch in self.rounds if stretch not in edited]

    @cached_property
    def edited_rounds(self) -> frozenset[Stretch]:
        """Rounds of which the edits change or remove every block."""
        before, changes = self.parent or self.earlier, self.applied.changes
        edited_before = (
            before.edited_rounds if before is not None and before.edited_rounds is not None else frozenset[Stretch]()
        )
        if edited_before and before is not None:
            old = before.applied.changes
            edited_before = edited_before if old is changes or old.keys() <= changes.keys() else frozenset()
        items = self.context.items
        more = [
            stretch
            for stretch in self.rounds
            if stretch not in edited_before
            and not any(p not in changes and items[p].block.kind != HEADER for p in range(*stretch))
        ]
        return edited_before.union(more) if more else edited_before

    def is_unchanged(self, position: int) -> bool:
        return position not in self.applied.changes

    def may_change(self, position: int, author: str) -> bool:
        """Whether the policy `author` may change the block at `position`.

        It must be unchanged, not pinned, and never edited by this policy before.
        """
        return (
            self.is_unchanged(position) and position not in self.pinned and position not in self.touched.get(author, ())
        )

    def may_remove(self, position: int, author: str) -> bool:
        """Whether the policy `author` may remove the block at `position`.

        Like `may_change`, also for blocks that another policy has only shortened.
        """
        change = self.applied.changes.get(position)
        is_fixed = change is not None and (change.after is None or change.is_repair or change.edit.author == USER)
        return not is_fixed and position not in self.pinned and position not in self.touched.get(author, ())

    @property
    def newest_call(self) -> int:
        """The index of the message with the newest answered call. The number of messages if there is none."""
        call = self.outline("newest call", self._newest_call)
        return self.context.message_of[call] if call >= 0 else len(self.context.messages)

    def _newest_call(self, length: int, newest_before: int | None) -> int:
        context, newest = self.context, -1 if newest_before is None else newest_before
        for position in range(length, len(context)):
            calls = (p for p in (position, *context.partners.get(position, ())) if p in context.partners)
            newest = max([newest, *(p for p in calls if is_call(context.items[p].block.kind))])
        return newest

    def outline(self, name: str, work: Callable[[int, T | None], T]) -> T:
        """A value that depends on the blocks alone, not on edits. Cached as `name`, and updated as the context grows.

        `work` gets the context's length at its last run and the value it returned (first run: 0 and None).
        """
        outlines = self.context.derived.outlines
        length, value = outlines.get(name, (0, None))
        if value is None or length != len(self.context):
            value = work(length, cast("T | None", value))
            outlines[name] = len(self.context), value
        return cast(T, value)

    @property
    def turns(self) -> list[Stretch]:
        """The turns, from the first user message on; what comes before belongs to none."""
        return self.outline("turns", self._turns)

    def _turns(self, length: int, turns: list[Stretch] | None) -> list[Stretch]:
        tree, nodes = self.context.tree, self.context.nodes
        starts = [turn.start for turn in turns or ()]
        number = tree[nodes[length - 1]].turn if length else 0
        for position in range(length, len(nodes)):
            if tree[nodes[position]].turn > number:
                number = tree[nodes[position]].turn
                message = self.context.message_at(position)
                starts.append(position if message is None else message.start)
        return [Stretch(a, b) for a, b in pairwise([*starts, len(nodes)])]

    @property
    def user_messages(self) -> list[Message]:
        """The messages with content by the user, also next to tool results."""
        return self.outline("said", lambda length, _: self._user_text_messages())

    def _user_text_messages(self) -> list[Message]:
        indexes = dict.fromkeys(self.context.message_of[position] for position in self.context.user_texts)
        return [self.context.messages[index] for index in indexes]

    @property
    def rounds(self) -> list[Stretch]:
        """The rounds: an answer with its results, up to the next answer or user message."""
        return self.outline("rounds", self._rounds)

    def _rounds(self, length: int, rounds: list[Stretch] | None) -> list[Stretch]:
        context, messages = self.context, self.context.messages
        rounds = [] if rounds is None else rounds
        first = self._first_changed_message(length)
        start = messages[first].start if first < len(messages) else len(context)
        while rounds and rounds[-1].stop > start:
            last = rounds.pop()
            if last.start < start:
                rounds.append(Stretch(last.start, start))
        spoke = first > 0 and messages[first - 1].role in ASSISTANT
        for index in range(first, len(messages)):
            message = messages[index]
            assistant = message.role in ASSISTANT
            if assistant and not spoke and not context.open_before[index]:
                rounds.append(Stretch(message.start, message.stop))
            elif rounds and rounds[-1].stop == message.start and (assistant or self._has_results(message)):
                rounds[-1] = Stretch(rounds[-1].start, message.stop)
            spoke = assistant
        return rounds

    def _first_changed_message(self, length: int) -> int:
        """The first message that may have changed since the context had `length` blocks.

        The last one may have grown, and calls may have been answered.
        """
        index_of = self.context.message_of
        before = (index_of[p] for p in range(length - 1, -1, -1) if index_of[p] >= 0)
        first = next(before, 0)
        for position in range(length, len(self.context)):
            first = min([first, *(index_of[p] + 1 for p in self.context.partners.get(position, ()) if p < length)])
        return first

    def _has_results(self, message: Message) -> bool:
        kinds = [self.context.items[p].block.kind for p in range(message.start, message.stop)]
        return message.role in ("tool", "function") or any(is_result(kind) for kind in kinds)

    def safe_cut(self, index: int) -> int:
        """The first message from `index` on before which a cut parts no call from its result."""
        messages = self.context.messages
        while index < len(messages) and self.context.open_before[index]:
            index += 1
        return index

    def blocks(self, start: int, stop: int) -> list[int]:
        """The positions from `start` to `stop` (exclusive), without those of headers."""
        return [p for p in range(start, stop) if self.context.items[p].block.kind != HEADER]

    @cached_property
    def lead_count(self) -> int:
        """Number of messages before the conversation: system prompt (OpenAI Chat), host memory."""
        messages = self.context.messages
        return next((n for n, message in enumerate(messages) if not self._is_front(message)), len(messages))

    def _is_front(self, message: Message) -> bool:
        parts = self.blocks(message.start, message.stop)
        tree, nodes = self.context.tree, self.context.nodes
        memory = bool(parts) and all(tree[nodes[at]].category == _MEMORY for at in parts)
        return message.role in ("system", "developer") or memory


def make_edit(
    policy_context: PolicyContext, author: str, kind: str, positions: Iterable[int], payload: Settings | None = None
) -> Edit:
    """Make a policy's edit; cached with the context."""
    context, chosen = policy_context.context, tuple(positions)
    key = author, kind, chosen, repr(payload)
    policy_edit = context.derived.edits.get(key)
    if policy_edit is None:
        policy_edit = context.derived.edits[key] = make(kind, context.targets(chosen), payload or {}, author=author)
    return policy_edit
