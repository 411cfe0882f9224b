"""Where the cursor of the transcript stands, and where it is found again when the rows are others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import RuleRow

if TYPE_CHECKING:
    from ctxtui.views.model.staging import New


class CursorPlace(Struct, frozen=True):
    """What the cursor stands on: the `node` of a block (0: what is not recorded), the block that an edit puts in
    (`new`; with a `node` where it was sent already), or a `rule` between blocks. None of them where there are no rows,
    or nobody went to the rule."""

    node: int | None = None
    new: New | None = None
    rule: RuleRow | None = None

    def row_in(self, rows: ContextRows) -> int | None:
        """The row of `rows` that it is now; None where that is not in this context. What an edit puts in no more is the
        block that stands there instead."""
        node, row = self.node, None
        if self.new is not None and node is None:
            row = rows.new_before(self.new.at)
            if row is None and self.new.at < len(rows.path):
                node = rows.path[self.new.at]
        if self.rule is not None and rows.holds(self.rule.before):
            # The node may have no row of its own, as a header: then the nearest above it is the rule itself.
            at = rows.index_of(self.rule.before)
            above = (near for near in (at, at - 1, at - 2) if near >= 0 and _same(rows.rule_at(near), self.rule))
            row = next(above, max(0, at - 1))
        if row is None and node is not None and rows.holds(node):
            row = rows.index_of(node)
        return row


def place_on(rows: ContextRows | None, index: int, rule: RuleRow | None = None) -> CursorPlace:
    """What row `index` of `rows` is, or the last row where there are fewer. `rule` is the one on which the cursor was
    put: one that came under it as rows changed is not where anybody went."""
    if rows is None or not rows.count:
        return CursorPlace()
    index = min(index, rows.count - 1)
    entry, there = rows.entry(index), rows.rule_at(index)
    new = rows.new(index) or rows.sent_new(index)
    return CursorPlace(entry if entry >= 0 else None, new, there if _same(there, rule) else None)


def _same(one: RuleRow | None, other: RuleRow | None) -> bool:
    """Whether two rules are the same one; its words change with what is known."""
    return one is not None and other is not None and (one.kind, one.before) == (other.kind, other.before)
