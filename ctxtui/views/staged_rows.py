"""The rows of a context with edits staged: all of them, or only what the edits touch, with the rest folded away."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block import HEADER
from ctxtui.core.tree import Tree
from ctxtui.views.path import Rule
from ctxtui.views.staging import New, Staging

FOLDED: Final = "folded"
BREAK: Final = "break"
NEW: Final = "new"
"""Kinds of rules: unchanged rows, the place where the prefix ends, a block that an edit puts in."""

AROUND: Final = 1
"""Unchanged rows that stay in view on each side of what changed."""
AHEAD: Final = 3
"""Unchanged rows that stay in view before the first change."""


class StagedRows:
    """The entries of the context of `staging`: node ids, and negative numbers for rules. With `every` all rows are
    entries; else those that changed, are pinned, marked or carry a breakpoint, and their neighbours. `hidden` are
    category indices that are left out."""

    def __init__(self, tree: Tree, staging: Staging, *, every: bool, hidden: frozenset[int] = frozenset()) -> None:
        self._tree = tree
        self._staging = staging
        self._entries: list[int] = []
        self._rules: list[Rule] = []
        self._news: dict[int, New] = {}
        shown = [at for at in range(len(staging.applied.context)) if self._is_row(at, hidden)]
        self._build(shown, shown if every else self._interesting(shown))

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> int:
        return self._entries[index]

    @property
    def context_rows(self) -> int:
        """How many rows there are: all of them belong to the context that would be sent."""
        return len(self._entries)

    def rule(self, entry: int) -> Rule:
        """The rule that a negative `entry` stands for."""
        return self._rules[-1 - entry]

    def new(self, entry: int) -> New | None:
        """The block that an edit puts in at `entry`."""
        return self._news.get(entry)

    def index_of(self, entry_depth: int) -> int:
        """The row of the block at that depth of the context, or the nearest one above it that is shown."""
        return max(0, bisect_right(self._entries, 2 * entry_depth, key=self._place) - 1)

    def _place(self, entry: int) -> int:
        node = entry if entry >= 0 else self.rule(entry).before
        depth = self._tree[node].depth if node >= 0 else len(self._staging.applied.context) + 1
        return 2 * depth - (entry < 0)

    def _is_row(self, at: int, hidden: frozenset[int]) -> bool:
        context = self._staging.applied.context
        if context.items[at].block.kind == HEADER:
            message = context.message_at(at)
            if message is not None and message.headed:
                return False
        return self._staging.scene.running.category(context.nodes[at]) not in hidden

    def _interesting(self, shown: Sequence[int]) -> list[int]:
        staging = self._staging
        context, applied = staging.applied.context, staging.applied
        touched = {*applied.changes, *applied.marks, *applied.pinned, *(new.at for new in staging.news)}
        touched |= {staging.breaks_at} if staging.breaks_at is not None else set()
        touched |= {context.position(node) for node in staging.marked if self._holds(node)}
        keep: set[int] = set()
        for at in touched:
            row = bisect_left(shown, at)
            keep.update(range(max(0, row - AROUND), min(len(shown), row + AROUND + 1)))
        if touched:
            first = bisect_left(shown, min(touched))
            keep.update(range(max(0, first - AHEAD), first))
        else:
            keep.update(range(len(shown)))
        return [shown[row] for row in sorted(keep)]

    def _holds(self, node: int) -> bool:
        context = self._staging.applied.context
        at = self._tree[node].depth - 1
        return at < len(context.nodes) and context.nodes[at] == node

    def _build(self, shown: Sequence[int], kept: Sequence[int]) -> None:
        staging = self._staging
        nodes, breaks = staging.applied.context.nodes, staging.breaks_at
        waiting = list(staging.news)[::-1]
        row = 0
        for at in (*kept, len(nodes)):
            until = bisect_left(shown, at)
            self._fold(nodes, shown[row:until])
            row = until + 1
            if breaks is not None and at >= breaks:
                self._put(BREAK, "", nodes[at] if at < len(nodes) else -1)
                breaks = None
            while waiting and waiting[-1].at <= at:
                new = waiting.pop()
                self._put(NEW, "", nodes[at] if at < len(nodes) else -1)
                self._news[self._entries[-1]] = new
            if at < len(nodes):
                self._entries.append(nodes[at])

    def _fold(self, nodes: Sequence[int], rows: Sequence[int]) -> None:
        if not rows:
            return
        running = self._staging.scene.running
        tokens = sum(running.own(nodes[at]) for at in rows if running.counted(nodes[at]))
        self._put(FOLDED, f"{len(rows)} {tokens}", nodes[rows[0]])

    def _put(self, kind: str, text: str, before: int) -> None:
        self._rules.append(Rule(kind, text, before))
        self._entries.append(-len(self._rules))


def counts(rule: Rule) -> Iterable[int]:
    """How many rows a folded run has, and their tokens."""
    return map(int, rule.text.split())
