"""The rows of a context with edits staged: all of them, or only what the edits touch, with the rest folded away."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ctxtui.core.block import HEADER
from ctxtui.core.tree import Tree
from ctxtui.views.model.staging import New, Staging
from ctxtui.views.transcript.row_index import RuleRow

FOLDED: Final = "folded"
BREAK: Final = "break"
NEW: Final = "new"
"""Kinds of rules: unchanged rows, the place where the prefix ends, a block that an edit puts in."""

if TYPE_CHECKING:
    from ctxtui.curation.context import Context

AROUND: Final = 1
"""Unchanged rows that stay in view on each side of what changed."""
AHEAD: Final = 3
"""Unchanged rows that stay in view before the first change."""


class StagedRows:
    """The entries of the context of `staging`: node ids, and negative numbers for rules. With `every` all rows are
    entries; else those that changed, are pinned, marked or carry a breakpoint, and their neighbours. `shown` are the
    raw positions that are rows (see `positions`), in order."""

    def __init__(self, tree: Tree, staging: Staging, shown: Sequence[int], *, every: bool) -> None:
        self._tree = tree
        self._staging = staging
        self._shown = shown
        self._entries: list[int] = []
        self._rules: list[RuleRow] = []
        self._news: dict[int, New] = {}
        self._build(every)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> int:
        return self._entries[index]

    @property
    def context_rows(self) -> int:
        """How many rows there are: all of them belong to the context that would be sent."""
        return len(self._entries)

    def rule(self, entry: int) -> RuleRow:
        """The rule that a negative `entry` stands for."""
        return self._rules[-1 - entry]

    def new(self, entry: int) -> New | None:
        """The block that an edit puts in at `entry`."""
        return self._news.get(entry)

    def new_before(self, at: int) -> int | None:
        """The row of the first block that an edit puts in before the raw position `at`; None where none is."""
        found = next((entry for entry, new in self._news.items() if new.at == at), None)
        return None if found is None else self._entries.index(found)

    def index_of(self, entry_depth: int) -> int:
        """The row of the block at that depth of the context, or the nearest one above it that is shown."""
        return max(0, bisect_right(self._entries, 2 * entry_depth, key=self._place) - 1)

    def _place(self, entry: int) -> int:
        node = entry if entry >= 0 else self.rule(entry).before
        depth = self._tree[node].depth if node >= 0 else len(self._staging.applied.context) + 1
        return 2 * depth - (entry < 0)

    def _kept(self) -> list[int]:
        """The rows (indices into `shown`) that stay in view where only what edits touch does."""
        staging, shown = self._staging, self._shown
        context, applied = staging.applied.context, staging.applied
        touched = {*applied.changes, *applied.marks, *applied.pinned, *(new.at for new in staging.news)}
        touched |= {staging.breaks_at} if staging.breaks_at is not None else set()
        touched |= {context.position(node) for node in staging.marked if self._holds(node)}
        if not touched:
            return list(range(len(shown)))
        keep: set[int] = set()
        for at in touched:
            row = bisect_left(shown, at)
            keep.update(range(max(0, row - AROUND), min(len(shown), row + AROUND + 1)))
        first = bisect_left(shown, min(touched))
        keep.update(range(max(0, first - AHEAD), first))
        return sorted(keep)

    def _holds(self, node: int) -> bool:
        context = self._staging.applied.context
        at = self._tree[node].depth - 1
        return at < len(context.nodes) and context.nodes[at] == node

    def _build(self, every: bool) -> None:
        staging, shown = self._staging, self._shown
        nodes, breaks = staging.applied.context.nodes, staging.breaks_at
        stops = [(new.at, 1, new) for new in staging.news]
        rules: list[tuple[int, int, New | None]] = [*stops, *([(breaks, 0, None)] if breaks is not None else [])]
        rules.sort(key=lambda one: one[:2])
        kept = range(len(shown)) if every else self._kept()
        row = 0
        for at, _, new in rules:
            row = self._rows(kept, row, bisect_left(shown, at), every)
            before = nodes[at] if at < len(nodes) else -1
            self._put(NEW if new is not None else BREAK, "", before)
            if new is not None:
                self._news[self._entries[-1]] = new
        self._rows(kept, row, len(shown), every)

    def _rows(self, kept: Sequence[int], start: int, stop: int, every: bool) -> int:
        """Enter the rows from `start` to `stop` (exclusive); runs of rows that are not kept are folded."""
        nodes, shown = self._staging.applied.context.nodes, self._shown
        if every:
            self._entries += [nodes[at] for at in shown[start:stop]]
            return max(start, stop)
        at = start
        for row in kept[bisect_left(kept, start) : bisect_left(kept, stop)]:
            self._fold(at, row)
            self._entries.append(nodes[shown[row]])
            at = row + 1
        self._fold(at, stop)
        return max(start, stop)

    def _fold(self, start: int, stop: int) -> None:
        if stop <= start:
            return
        nodes, running = self._staging.applied.context.nodes, self._staging.scene.running
        first, last = nodes[self._shown[start]], nodes[self._shown[stop - 1]]
        tokens = running.between(first, last) if running.counted(last) else 0
        self._put(FOLDED, f"{stop - start} {tokens}", first)

    def _put(self, kind: str, text: str, before: int) -> None:
        self._rules.append(RuleRow(kind, text, before))
        self._entries.append(-len(self._rules))


def counts(rule: RuleRow) -> Iterable[int]:
    """How many rows a folded run has, and their tokens."""
    return map(int, rule.text.split())


def positions(context: Context, hidden: frozenset[int] = frozenset()) -> list[int]:
    """The raw positions of `context` that are rows: no headers of messages with content, and none of the `hidden`
    categories."""
    tree, nodes, found = context.tree, context.nodes, []
    for at, item in enumerate(context.items):
        if item.block.kind == HEADER:
            message = context.message_at(at)
            if message is not None and message.headed:
                continue
        if not hidden or tree[nodes[at]].category not in hidden:
            found.append(at)
    return found
