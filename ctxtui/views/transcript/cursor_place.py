"""The position of the transcript's cursor, and how it is restored when the rows change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import RuleRow

if TYPE_CHECKING:
    from ctxtui.views.model.staging import InsertedBlock


class CursorPlace(Struct, frozen=True):
    """The cursor's position; None without rows, or on a rule to which the user did not move.

    - `node`: that of a block; 0 for unrecorded content.
    - `new`: an inserted block; with a `node` if it was sent already.
    """

    node: int | None = None
    new: InsertedBlock | None = None
    rule: RuleRow | None = None

    def row_in(self, rows: ContextRows) -> int | None:
        """The matching row of `rows`; None if it is not in this context.

        A removed insert is replaced by the block at its position.
        """
        node, row = self.node, None
        if self.new is not None and node is None:
            row = rows.insert_before(self.new.at)
            if row is None and self.new.at < len(rows.path):
                node = rows.path[self.new.at]
        if self.rule is not None and rows.holds(self.rule.before):
            # A node without a row (a header) maps to the nearest row above it, which is the rule.
            index = rows.index_of(self.rule.before)
            above = (
                near
                for near in (index, index - 1, index - 2)
                if near >= 0 and _is_same_rule(rows.rule_at(near), self.rule)
            )
            row = next(above, max(0, index - 1))
        if row is None and node is not None and rows.holds(node):
            row = rows.index_of(node)
        return row


def position_of_row(rows: ContextRows | None, index: int, rule: RuleRow | None = None) -> CursorPlace:
    """The position of row `index` of `rows`, clamped to the last row.

    `rule` is the rule to which the user moved the cursor; any other rule under it is ignored.
    """
    if rows is None or not rows.count:
        return CursorPlace()
    index = min(index, rows.count - 1)
    entry, rule_there = rows.entry(index), rows.rule_at(index)
    new = rows.insert_at(index) or rows.sent_insert_at(index)
    return CursorPlace(entry if entry >= 0 else None, new, rule_there if _is_same_rule(rule_there, rule) else None)


def _is_same_rule(first: RuleRow | None, second: RuleRow | None) -> bool:
    return first is not None and second is not None and (first.kind, first.before) == (second.kind, second.before)
