"""The rows of a context as an integer array that is extended from call to call.

After the blocks that the call shown sent come its *tails*: its answer, and the blocks that are not sent yet.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.block_content import is_sealed
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

_THINKING: Final = INDEX["thinking"]
MISSING: Final = ROOT


class RuleRow(NamedTuple):
    """A row that is no block, before the node `before`.

    `kind`: the start of an epoch, ``answer``, ``since`` (blocks not sent yet), or a kind that edits add.
    """

    kind: str
    text: str
    before: int


class Boundaries:
    """Starts of a thread's epochs, by their first new node."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._processed = 0
        self.at: dict[int, list[RuleRow]] = {}

    def extend(self, calls: Sequence[Call]) -> None:
        """Process new calls; `calls` are all calls of the thread."""
        for before, call in zip(calls[max(0, self._processed - 1) :], calls[max(1, self._processed) :], strict=False):
            if before.epoch.number != call.epoch.number:
                self._begin(before, call)
        self._processed = len(calls)

    def _begin(self, before: Call, call: Call) -> None:
        tree, node = self._tree, call.sent_head
        shared = tree.common(before.response_head or before.sent_head, node)
        while node != ROOT and tree[node].parent != shared:
            node = tree[node].parent
        if node != ROOT and node != shared:
            self.at.setdefault(node, []).append(RuleRow(str(call.epoch.start), call.epoch.detail, node))


class PathNodes:
    """The nodes of the path shown, extended or cut when another one is shown."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.nodes = array("i")

    def show(self, head: int) -> Sequence[int]:
        """The path to `head`: the same sequence object, changed in place."""
        nodes, tree = self.nodes, self._tree
        shared = tree.common(nodes[-1] if nodes else ROOT, head)
        del nodes[tree[shared].depth :]
        nodes.extend(tree.path(head, shared))
        return nodes


class RowIndex:
    """The entries of the context shown, in prompt order: one for each row.

    An entry is a node id, `MISSING` for unrecorded content, or a negative number for a `RuleRow`. The blocks of the
    tails may be on another path than the context.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._entries = array("i")
        self._rules: list[RuleRow] = []
        self._head = ROOT
        self._shared = 0
        self._shared_rules = 0
        """Rows of the context without the tails, and how many of them are rules."""
        self._shared_withheld = 0
        self._hidden: tuple[frozenset[int], int] = (frozenset(), 0)
        """Categories without rows, and the number of blocks shown in another category than their own."""
        self._missing = False
        self._partial = False
        self.withheld = array("i")
        """Nodes of encrypted reasoning; at most the first has a row, for all of them."""
        self._sealed: dict[int, bool] = {}
        self._added = 0
        """Depth of the context shown less that of the one that the tails continue; at least 0."""
        self._tails: Sequence[tuple[RuleRow, int]] = ()
        self._known_rules = 0
        """Number of rules before blocks at the last `show`."""

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> int:
        return self._entries[index]

    @property
    def entries(self) -> Sequence[int]:
        return self._entries

    @property
    def rules(self) -> Sequence[RuleRow]:
        return self._rules

    @property
    def context_blocks(self) -> int:
        """Number of rows that are blocks of the context, without tails."""
        return self._shared - self._shared_rules - self._missing

    def rule(self, entry: int) -> RuleRow:
        return self._rules[-1 - entry]

    def show(
        self,
        head: int,
        tails: Iterable[tuple[RuleRow, int]] = (),
        *,
        boundaries: Mapping[int, list[RuleRow]] | None = None,
        hidden: frozenset[int] = frozenset(),
        moved: Mapping[int, int] | None = None,
        missing: bool = False,
        partial: bool = False,
    ) -> None:
        """Show the context `head`, then each of `tails`: a rule, and the blocks up to a node.

        - `boundaries`: rules by the node that they precede.
        - `hidden`: indices of categories to leave out; `moved`: nodes -> another category in which they are shown.
        - `missing`: add the row of unrecorded content.
        - `partial`: the context is the end of a longer one: encrypted reasoning gets no row.
        """
        moved, rules_by_node, tails = moved or {}, boundaries or {}, list(tails)
        filters = (hidden, len(moved) if hidden else 0)
        is_unchanged = (filters, missing, partial, head) == (self._hidden, self._missing, self._partial, self._head)
        rules = sum(map(len, rules_by_node.values()))
        if is_unchanged and rules == self._known_rules and self._extends_tails(tails, rules_by_node):
            if tails:
                self._grow(tails[-1][1], rules_by_node, moved)
            self._tails = tails
            return
        self._tails, self._known_rules, self._added = (), rules, 0
        if filters != self._hidden or missing != self._missing:
            self._cut(0)
            del self.withheld[:]
            self._head, self._hidden, self._missing = ROOT, filters, missing
            if missing:
                self._entries.append(MISSING)
        else:
            self._cut(self._shared)
            del self.withheld[self._shared_withheld :]
            self._head = self._back_to(self._tree.common(self._head, head))
            while self.withheld and self._tree[self.withheld[-1]].depth > self._tree[self._head].depth:
                self.withheld.pop()
        self._partial = partial
        self._add(self._tree.path(head, self._head), rules_by_node, moved)
        self._head, self._shared, self._shared_rules = head, len(self._entries), len(self._rules)
        self._shared_withheld = len(self.withheld)
        self._tails = tails
        self._added = max(0, self._tree[head].depth + 1 - self._tree[tails[0][0].before].depth) if tails else 0
        for rule, node in tails:
            self._put(rule)
            # A context sent under edits has its answer on another path.
            self._add(self._tree.path(node, self._tree[rule.before].parent), rules_by_node, moved)

    def _extends_tails(self, tails: Sequence[tuple[RuleRow, int]], boundaries: Mapping[int, list[RuleRow]]) -> bool:
        """Whether `tails` are the current ones, except that the last may be longer."""
        before = self._tails
        if not before or not tails:
            return not before and not tails
        (rule, old), (new_rule, new) = before[-1], tails[-1]
        return (
            len(before) == len(tails)
            and before[:-1] == tails[:-1]
            and rule == new_rule
            and old not in boundaries
            and self._tree.holds(new, old)
        )

    def _grow(self, node: int, boundaries: Mapping[int, list[RuleRow]], moved: Mapping[int, int]) -> None:
        last = self._tails[-1][1]
        if node == last:
            return
        # A message header has a row only while the message has no content.
        if self._tree[last].kind == HEADER:
            if self._entries[-1] == last:
                self._cut(len(self._entries) - 1)
            last = self._tree[last].parent
        self._add(self._tree.path(node, last), boundaries, moved)

    def _cut(self, length: int) -> None:
        removed = self._entries[length:]
        del self._entries[length:]
        removed_rules = sum(entry < 0 for entry in removed)
        if removed_rules:
            del self._rules[-removed_rules:]

    def _back_to(self, node: int) -> int:
        """Cut the rows back to the context `node`; returns the node that they end at.

        That is earlier if the last message may still get content.
        """
        self._cut(bisect_right(self._entries, 2 * self._tree[node].depth, key=self.sort_position))
        last = next((entry for entry in reversed(self._entries) if entry >= 0), ROOT)
        if self._tree[last].kind == HEADER:
            node = last
        if self._tree[node].kind == HEADER:
            node = self._tree[node].parent
        self._cut(bisect_right(self._entries, 2 * self._tree[node].depth, key=self.sort_position))
        return node

    def _put(self, rule: RuleRow) -> None:
        self._rules.append(rule)
        self._entries.append(-len(self._rules))

    def _add(self, path: Sequence[int], boundaries: Mapping[int, list[RuleRow]], moved: Mapping[int, int]) -> None:
        looks, hidden, add = self._tree.kind_and_category, self._hidden[0], self._entries.append
        for at, node in enumerate(path):
            if node in boundaries:
                for rule in boundaries[node]:
                    self._put(rule)
            kind, category = looks(node)
            if hidden and moved.get(node, category) in hidden:
                continue
            if kind == HEADER and at + 1 < len(path) and looks(path[at + 1])[0] != HEADER:
                continue
            if category == _THINKING and self._is_sealed(node):
                self.withheld.append(node)
                if len(self.withheld) > 1 or self._partial:
                    continue
            add(node)

    def _is_sealed(self, node: int) -> bool:
        sealed = self._sealed.get(node)
        if sealed is None:
            sealed = self._sealed[node] = is_sealed(self._tree[node].block)
        return sealed

    def is_in_tail(self, node: int) -> bool:
        tree, depth = self._tree, self._tree[node].depth
        return any(depth >= tree[rule.before].depth and tree.holds(end, node) for rule, end in self._tails)

    def depth(self, node: int) -> int:
        """Depth of `node`; in tails as if they continued the context shown."""
        depth = self._tree[node].depth
        return depth + self._added if self._added and self.is_in_tail(node) else depth

    def sort_position(self, entry: int) -> int:
        """Twice the depth of an entry's block; one less for a rule before it."""
        if entry >= 0:
            return 2 * self.depth(entry)
        return 2 * self.depth(self.rule(entry).before) - 1

    def index_of(self, node: int) -> int:
        """The row of `node`, or the nearest visible one above it; at least 0."""
        return max(0, bisect_right(self._entries, 2 * self.depth(node), key=self.sort_position) - 1)
