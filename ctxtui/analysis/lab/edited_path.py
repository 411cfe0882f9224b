"""One thread's contexts under the edits of a variant, call by call: applied again only where something may change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from ctxtui.core.block import HEADER, Item
from ctxtui.core.edit import REPAIR, Edit, active_edits
from ctxtui.core.edit_kinds import NOTE
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import RAW, Applied, BlockChange, Position
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.standing_markers import inserted_items
from ctxtui.curation.context import THINKING, Context, is_call
from ctxtui.curation.policies.earlier import NONE_AWAITED, AwaitedTargets, differing_positions
from ctxtui.curation.price.request_count import is_kept_apart, side_of_place
from ctxtui.curation.provider_rules import ProviderRules
from ctxtui.wire.grammar import ANTHROPIC

Proposing = Callable[[Applied, tuple[Edit, ...]], tuple[tuple[Edit, ...], Applied]]
"""Gives a log, whose result on the context is known, with what a policy adds to it, and the result of that."""


class EditedPath:
    """The requests of one thread under a growing log of edits, as paths in `tree`. `made`: no request is on record, so
    that what leaves is built anew and leaves out what its provider would refuse. `same` is told which node stands for
    which recorded one."""

    def __init__(self, tree: Tree, rules: ProviderRules, made: bool, same: Callable[[int, int], None]) -> None:
        self._tree = tree
        self._rules = rules
        self._made = made
        self._same = same
        self.log: tuple[Edit, ...] = ()
        self.refused = ""
        self._context: Context | None = None
        self._applied: Applied | None = None
        self._out: frozenset[int] = frozenset()
        self._edge: _Edge | None = None
        self._awaited = NONE_AWAITED
        self._known: tuple[object, ...] = ()
        self._ends: list[int] = []
        """The sent node behind each raw position."""
        self._alike = 0
        """How many of them are the raw nodes themselves, from the front."""

    def take(
        self, context: Context, propose: Proposing | None, out: frozenset[int] = frozenset()
    ) -> tuple[int, Applied]:
        """The head of the request that leaves for `context`, and what the edits make of it; `propose` is asked for
        further edits first. `context` is the one of the call before, grown, or another one. `out` are the raw
        positions that are not written though no edit is about them."""
        if context is not self._context:
            self._context, self._applied, self._ends, self._alike = context, None, [], 0
        before = self._applied
        applied = self._grown(context) or apply(context, self.log, self._rules)
        if propose is not None:
            log, tried = propose(applied, self.log)
            if tried.refused and len(log) > len(self.log):
                self.refused = self.refused or tried.refused
            else:
                self.log, applied = log, tried
        known = context, applied.changes, applied.inserts, applied.asleep, self.log
        if not (self._known and all(map(is_, known, self._known))):
            self._known, self._awaited = known, self._missing(applied)
        start = min(_parting(before, applied), len(self._ends))
        if out is not self._out:
            start = min([start, *(out ^ self._out)])
        self._applied, self._out = applied, out
        head = self._written(applied, start)
        self._alike, nodes = min(self._alike, start), context.nodes
        while self._alike < len(nodes) and self._ends[self._alike] == nodes[self._alike]:
            self._alike += 1
        return head, applied

    @property
    def shared(self) -> int:
        """The longest context that what leaves and what was recorded both begin with."""
        assert self._context is not None
        return self._context.nodes[self._alike - 1] if self._alike else ROOT

    def raw(self, node: int) -> int:
        """The recorded node that the sent `node` is, or behind which it stands; `ROOT` where it stands before all."""
        assert self._context is not None
        nodes, depth = self._context.nodes, self._depth(node)
        if depth <= self._alike:
            return nodes[depth - 1] if depth else ROOT
        last = bisect_right(self._ends, depth, key=self._depth) - 1
        stood = self._depth(self._ends[last]) if last >= 0 else 0
        # Where it is a block before some that are out: those end where it does.
        return nodes[bisect_left(self._ends, stood, key=self._depth)] if stood else ROOT

    def sent(self, position: int) -> int:
        """The sent node behind the block at a raw position."""
        return self._ends[position]

    def _depth(self, node: int) -> int:
        return self._tree[node].depth

    def _grown(self, context: Context) -> Applied | None:
        """What was applied before, where it holds for the grown context as it is: what came changes nothing of it."""
        applied = self._applied
        if applied is None:
            return None
        length = applied.length
        if self._awaited.has_appeared(context, length):
            return None
        if length == len(context) or not (applied.changes or applied.inserts or applied.held):
            return replace(applied, length=len(context))
        if applied.held or self._reaches(context, applied, length):
            return None
        return replace(applied, length=len(context))

    def _missing(self, applied: Applied) -> AwaitedTargets:
        """The blocks that edits are about and that are not there yet: of an edit of several blocks some may be."""
        targets = (target for edit in active_edits(self.log) for target in edit.targets)
        return AwaitedTargets([target for target in targets if not applied.context.has(target)])

    def _reaches(self, context: Context, applied: Applied, length: int) -> bool:
        """Whether what came behind `length` may change what the edits make of what stands before it."""
        last, item = context.message_at(length - 1), context.items[length]
        if item.place.section != "messages":
            return True
        if last is not None and context.message_of[length] == context.message_of[length - 1]:
            return True
        if self._edge is None or self._edge[0] is not applied.changes:
            removed = _last_out(applied)
            notes = any(one.author == REPAIR and one.kind == NOTE for one in applied.repairs)
            tools = any(p in applied.changes for p in context.tools)
            self._edge = _Edge(applied.changes, removed, notes, tools)
        edge = last.start if last is not None else length
        if self._edge.removed >= edge or self._edge.notes or any(one.position >= edge for one in applied.inserts[-1:]):
            return True
        return _answers(context, applied, length, self._rules, self._edge.tools)

    def _written(self, applied: Applied, start: int) -> int:
        """Make the path from the raw position `start` on; gives its head."""
        context = applied.context
        if not applied.is_changed and not self._out and not (self._made and context.dialect == ANTHROPIC):
            self._ends[start:] = context.nodes[start:]
            return context.head
        del self._ends[start:]
        head = self._ends[start - 1] if start else ROOT
        new: dict[int, list[Item]] = {}
        for one in applied.inserts:
            if one.position >= start:
                # What only a transcript says of a place does not hold for a block that an edit put there.
                new.setdefault(one.position, []).extend(Item(i.block, i.place._replace(mark="")) for i in one.items)
        for position in range(start, len(context)):
            for item in new.get(position, ()):
                head = self._put(applied, head, item, -1)
            change = applied.changes.get(position)
            if change is None:
                if position not in self._out and not self._hollow(applied, position):
                    head = self._put(applied, head, context.items[position], position)
                    if head != context.nodes[position]:
                        self._same(head, context.nodes[position])
            elif change.after is not None:
                place = context.items[position].place
                head = self._put(applied, head, Item(change.after, place), position)
            self._ends.append(head)
        for item in new.get(len(context), ()):
            head = self._put(applied, head, item, -1)
        return head

    def _put(self, applied: Applied, head: int, item: Item, position: int) -> int:
        tree = self._tree
        if item.block.kind == HEADER and self._made and applied.context.dialect == ANTHROPIC and head != ROOT:
            # Requests that are built anew have no two messages of one side in a row.
            last = side_of_place(tree[head].place)
            if last and last == side_of_place(item.place):
                apart = position >= 0 and position not in applied.changes and is_kept_apart(applied, position)
                if not apart:
                    return head
        return tree.child(head, item.block, item.place)

    def _hollow(self, applied: Applied, position: int) -> bool:
        """Whether `position` is the header of a message of which nothing is written."""
        if not self._out or applied.context.items[position].block.kind != HEADER:
            return False
        message = applied.context.message_at(position)
        if message is None or not message.has_header:
            return False
        parts = range(message.start + 1, message.stop)
        gone = (p for p in parts if p not in self._out)
        return all((change := applied.changes.get(p)) is not None and change.after is None for p in gone)

    def standing(self, applied: Applied, edge: Position) -> int:
        """The sent node of what stands at `edge` under the edits that were applied last."""
        position, order = edge
        if order == RAW:
            return self._ends[position]
        head = self._ends[position - 1] if position else ROOT
        for item in inserted_items(applied)[position][: order + 1]:
            head = self._put(applied, head, Item(item.block, item.place._replace(mark="")), -1)
        return head


def _parting(before: Applied | None, applied: Applied) -> int:
    """The first raw position at which the two are not the same; the length of the shorter where they are."""
    if before is None:
        return 0
    end = min(before.length, applied.length)
    if before.changes is not applied.changes:
        a, b = before.changes, applied.changes
        for position in differing_positions(a, b):
            if position < end and not _same(a.get(position), b.get(position)):
                end = position
    if before.inserts is not applied.inserts:
        # Most are the very same; of the others those that only came anew are told apart from those that changed.
        kept, now = {id(one): one for one in before.inserts}, {id(one): one for one in applied.inserts}
        gone = Counter((kept[key].position, kept[key].items) for key in kept.keys() - now.keys())
        came = Counter((now[key].position, now[key].items) for key in now.keys() - kept.keys())
        # Counted: the same words may stand at one place twice.
        end = min([end, *(position for position, _ in [*(gone - came), *(came - gone)])])
    return end


def _same(one: object, other: object) -> bool:
    return one is not None and other is not None and one.after == other.after  # type: ignore[attr-defined]


def _last_out(applied: Applied) -> int:
    """The last position that is out; -1 where none is."""
    return max((p for p, change in applied.changes.items() if change.after is None), default=-1)


class _Edge(NamedTuple):
    """Of some changes: the last position that is out, whether a repair put words in, whether tools are among them."""

    changes: Mapping[int, BlockChange]
    removed: int
    notes: bool
    tools: bool


def _answers(context: Context, applied: Applied, length: int, rules: ProviderRules, tools: bool) -> bool:
    """Whether a block behind `length` belongs to one that is changed."""
    thinks = rules.binds_thinking or bool(applied.withheld)
    for position in range(length, len(context)):
        item = context.items[position]
        if (thinks and item.block.kind in THINKING) or item.place.role == "system":
            return True
        if any(partner in applied.changes for partner in context.partners.get(position, ())):
            return True
        if tools and is_call(item.block.kind):
            return True
    return False
