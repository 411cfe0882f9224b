"""Builds the contexts of one thread under the edits of a variant, call by call.

Edits are applied again only when a new block may change their result.
"""

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
from ctxtui.curation.apply.moved_markers import inserted_items
from ctxtui.curation.context import THINKING, Context, Message, is_call, is_user_content
from ctxtui.curation.policies.earlier import NONE_AWAITED, AwaitedTargets, differing_positions
from ctxtui.curation.price.request_count import is_kept_apart, side_of
from ctxtui.curation.provider_rules import ProviderRules
from ctxtui.wire.grammar import ANTHROPIC, GOOGLE

Propose = Callable[[Applied, tuple[Edit, ...]], tuple[tuple[Edit, ...], Applied]]
"""Takes the result of a log on the context and the log; returns the log with a policy's additions, and its result."""


class EditedPath:
    """Requests of one thread under a growing log of edits, as paths in `tree`.

    `is_rebuilt`: no request is recorded; requests are built anew and leave out what the provider would refuse. `same`
    is called with each sent node and the recorded node that it copies. `refused`: the reason why the provider would
    have refused the first edits that were left out; "": none.
    """

    def __init__(self, tree: Tree, rules: ProviderRules, is_rebuilt: bool, same: Callable[[int, int], None]) -> None:
        self._tree = tree
        self._rules = rules
        self._is_rebuilt = is_rebuilt
        self._same = same
        self.log: tuple[Edit, ...] = ()
        self.refused = ""
        self._context: Context | None = None
        self._applied: Applied | None = None
        self._left_out: frozenset[int] = frozenset()
        self._summary: _ChangeSummary | None = None
        self._awaited = NONE_AWAITED
        self._awaited_key: tuple[object, ...] = ()
        self._ends: list[int] = []
        """The sent node after each raw position."""
        self._same_count = 0
        """Number of leading positions whose sent node is the raw node itself."""

    def add_call(
        self, context: Context, propose: Propose | None, out: frozenset[int] = frozenset()
    ) -> tuple[int, Applied]:
        """Add the request for `context`; returns its head and the result of the edits.

        `context` is the previous call's context, grown, or another one. `propose` may add edits first (None: no
        policy); if the provider would refuse the result, they are left out. `out` are raw positions that are left out
        independently of edits.
        """
        if context is not self._context:
            self._context, self._applied, self._ends, self._same_count = context, None, [], 0
        before = self._applied
        applied = self._reusable_result(context) or apply(context, self.log, self._rules)
        if propose is not None:
            log, tried = propose(applied, self.log)
            if tried.refused and len(log) > len(self.log):
                self.refused = self.refused or tried.refused
            else:
                self.log, applied = log, tried
        key = context, applied.changes, applied.inserts, applied.without_target, self.log
        if not (self._awaited_key and all(map(is_, key, self._awaited_key))):
            self._awaited_key, self._awaited = key, self._awaited_targets(applied)
        start = min(_first_change(before, applied), len(self._ends))
        if out is not self._left_out:
            start = min([start, *(out ^ self._left_out)])
        self._applied, self._left_out = applied, out
        head = self._build_path(applied, start)
        self._same_count, nodes = min(self._same_count, start), context.nodes
        while self._same_count < len(nodes) and self._ends[self._same_count] == nodes[self._same_count]:
            self._same_count += 1
        return head, applied

    @property
    def common_prefix(self) -> int:
        """Last node that the sent path shares with the recorded one; `ROOT`: none."""
        assert self._context is not None
        return self._context.nodes[self._same_count - 1] if self._same_count else ROOT

    def recorded_node(self, node: int) -> int:
        """Recorded node that the sent `node` copies or follows; `ROOT` before all."""
        assert self._context is not None
        nodes, depth = self._context.nodes, self._depth_of(node)
        if depth <= self._same_count:
            return nodes[depth - 1] if depth else ROOT
        last = bisect_right(self._ends, depth, key=self._depth_of) - 1
        sent_depth = self._depth_of(self._ends[last]) if last >= 0 else 0
        # Positions that are left out end at the previous block's node.
        return nodes[bisect_left(self._ends, sent_depth, key=self._depth_of)] if sent_depth else ROOT

    def sent_node(self, position: int) -> int:
        """Node at which the sent path ends after the raw `position`."""
        return self._ends[position]

    def _depth_of(self, node: int) -> int:
        return self._tree[node].depth

    def _reusable_result(self, context: Context) -> Applied | None:
        applied = self._applied
        if applied is None:
            return None
        length = applied.length
        if self._awaited.has_appeared(context, length):
            return None
        if length == len(context) or not (applied.changes or applied.inserts or applied.rejected):
            return replace(applied, length=len(context))
        if applied.rejected or self._may_affect(context, applied, length):
            return None
        return replace(applied, length=len(context))

    def _awaited_targets(self, applied: Applied) -> AwaitedTargets:
        targets = (target for edit in active_edits(self.log) for target in edit.targets)
        return AwaitedTargets([target for target in targets if not applied.context.find_exact(target)[1]])

    def _may_affect(self, context: Context, applied: Applied, length: int) -> bool:
        """Whether blocks added after `length` may change the result of the edits before it."""
        last, item = context.message_at(length - 1), context.items[length]
        if item.place.section != "messages":
            return True
        if last is not None and context.message_of[length] == context.message_of[length - 1]:
            return True
        if self._summary is None or self._summary[0] is not applied.changes:
            removed = max((p for p, change in applied.changes.items() if change.after is None), default=-1)
            notes = any(repair.author == REPAIR and repair.kind == NOTE for repair in applied.repairs)
            tools = any(p in applied.changes for p in context.tools)
            self._summary = _ChangeSummary(applied.changes, removed, notes, tools)
        edge = _run_start(context, last) if last is not None else length
        if (
            self._summary.removed >= edge
            or self._summary.notes
            or any(insert.position >= edge for insert in applied.inserts[-1:])
        ):
            return True
        return _affects_changes(context, applied, length, self._rules, self._summary.tools)

    def _build_path(self, applied: Applied, start: int) -> int:
        context = applied.context
        if not applied.is_changed and not self._left_out and not (self._is_rebuilt and context.dialect == ANTHROPIC):
            self._ends[start:] = context.nodes[start:]
            return context.head
        del self._ends[start:]
        head = self._ends[start - 1] if start else ROOT
        new: dict[int, list[Item]] = {}
        for insert in applied.inserts:
            if insert.position >= start:
                # Marks from a transcript do not apply to a block inserted by an edit.
                new.setdefault(insert.position, []).extend(
                    Item(i.block, i.place._replace(mark="")) for i in insert.items
                )
        for position in range(start, len(context)):
            for item in new.get(position, ()):
                head = self._append(applied, head, item, -1)
            change = applied.changes.get(position)
            if change is None:
                if position not in self._left_out and not self._is_empty_header(applied, position):
                    head = self._append(applied, head, context.items[position], position)
                    if head != context.nodes[position]:
                        self._same(head, context.nodes[position])
            elif change.after is not None:
                place = context.items[position].place
                head = self._append(applied, head, Item(change.after, place), position)
            self._ends.append(head)
        for item in new.get(len(context), ()):
            head = self._append(applied, head, item, -1)
        return head

    def _append(self, applied: Applied, head: int, item: Item, position: int) -> int:
        tree = self._tree
        if item.block.kind == HEADER and self._is_rebuilt and applied.context.dialect == ANTHROPIC and head != ROOT:
            # Rebuilt requests have no two consecutive messages of one role.
            last = side_of(tree[head].place)
            if last and last == side_of(item.place):
                is_separate = position >= 0 and position not in applied.changes and is_kept_apart(applied, position)
                if not is_separate:
                    return head
        return tree.child(head, item.block, item.place)

    def _is_empty_header(self, applied: Applied, position: int) -> bool:
        """Whether `position` is the header of a message with all blocks removed or left out.

        It is False on a path that leaves no block out.
        """
        if not self._left_out or applied.context.items[position].block.kind != HEADER:
            return False
        message = applied.context.message_at(position)
        if message is None or not message.has_header:
            return False
        parts = range(message.start + 1, message.stop)
        sent = (p for p in parts if p not in self._left_out)
        return all(map(applied.is_removed, sent))

    def node_at_edge(self, applied: Applied, edge: Position) -> int:
        """Sent node after a raw position (`RAW`), or after the insert of that number before it."""
        position, order = edge
        if order == RAW:
            return self._ends[position]
        head = self._ends[position - 1] if position else ROOT
        for item in inserted_items(applied)[position][: order + 1]:
            head = self._append(applied, head, Item(item.block, item.place._replace(mark="")), -1)
        return head


def _first_change(before: Applied | None, applied: Applied) -> int:
    if before is None:
        return 0
    end = min(before.length, applied.length)
    if before.changes is not applied.changes:
        a, b = before.changes, applied.changes
        for position in differing_positions(a, b):
            if position < end and not _is_same_change(a.get(position), b.get(position)):
                end = position
    if before.inserts is not applied.inserts:
        # Most are the same objects; of the others, rebuilt ones are distinguished from changed ones.
        old_ids, new_ids = set(map(id, before.inserts)), set(map(id, applied.inserts))
        removed = Counter((i.position, i.items) for i in before.inserts if id(i) not in new_ids)
        added = Counter((i.position, i.items) for i in applied.inserts if id(i) not in old_ids)
        # Counted, because the same text may be at one position twice.
        end = min([end, *(position for position, _ in [*(removed - added), *(added - removed)])])
    return end


def _is_same_change(first: BlockChange | None, second: BlockChange | None) -> bool:
    return first is not None and second is not None and first.after == second.after


class _ChangeSummary(NamedTuple):
    """`removed`: the last removed position.

    `notes`: repairs add text; `tools`: tool definitions are changed.
    """

    changes: Mapping[int, BlockChange]
    removed: int
    notes: bool
    tools: bool


def _run_start(context: Context, last: Message) -> int:
    """Position from which a removal may change what is allowed after `last`.

    Answers that follow each other are one run, whose thinking is bound together. If the block before a run is removed,
    the run goes on before it.
    """
    start = last.start
    if last.role != "assistant":
        return start
    while start and context.items[start - 1].place.role == "assistant":
        before = context.message_at(start - 1)
        start = before.start if before is not None else start - 1
    return max(0, start - 1)


def _affects_changes(context: Context, applied: Applied, length: int, rules: ProviderRules, tools: bool) -> bool:
    """Whether a block after `length` may change the result of the edits before it.

    It may if it belongs to a changed block or is in a system message. So may thinking, if the provider binds it to the
    blocks before it or `applied` keeps some in spite of an edit; and a call, if tool definitions are changed (`tools`).
    On Google, new user text may bring back calls that were removed because their signature was.
    """
    thinks = rules.binds_thinking or bool(applied.withheld)
    signs = context.dialect == GOOGLE and bool(applied.repairs)
    for position in range(length, len(context)):
        item = context.items[position]
        if (thinks and item.block.kind in THINKING) or item.place.role == "system":
            return True
        if any(partner in applied.changes for partner in context.partners.get(position, ())):
            return True
        if (tools and is_call(item.block.kind)) or (signs and is_user_content(item)):
            return True
    return False
