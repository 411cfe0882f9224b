"""A diff of two contexts as rows: a summary, the differences, then changing blocks.

A changing block has the same position but different content in several calls of the second context's thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ctxtui.analysis.content.changing_blocks import ChangingBlock
from ctxtui.analysis.content.diff import CHANGED, ENTERED, LEFT, RESPELLED, Change, Diff, DiffSide
from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.content.word_diff import DiffSpan, word_diff
from ctxtui.views.blocks import one_line
from ctxtui.views.blocks.body import Body
from ctxtui.views.blocks.word_diff import render
from ctxtui.views.model.block_cache import preview_of
from ctxtui.views.model.preview import Preview
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

INITIALLY_OPEN: Final = 8
MAX_OPEN_LINES: Final = 400
"""Lines of an open block; the pager shows more."""

CHANGE_SIGNS: Final = {
    CHANGED: Span("≠", "cat-tools bold"),
    ENTERED: Span("+", "add bold"),
    LEFT: Span("−", "del bold"),
    RESPELLED: Span("≈", "dim bold"),
}
_WIDE: Final = 100

Row = Spans | Change | ChangingBlock


class DiffList:
    """The rows of a diff of two contexts, then those of the changing blocks (`unsteady`).

    `opened` are the indices of open rows; `whole` shows all lines of a changed block instead of only those near a
    change.
    """

    def __init__(self, diff: Diff, unsteady: Sequence[ChangingBlock]) -> None:
        self.diff = diff
        self._unsteady = unsteady
        self.by_size = False
        self._build_rows()

    def _build_rows(self) -> None:
        diff, unsteady = self.diff, self._unsteady
        changes = sorted(diff.changes, key=lambda change: -_size(change)) if self.by_size else diff.changes
        self.rows: list[Row] = [*summary(diff), *changes]
        if unsteady:
            self.rows.append([Span("╌╌ changing within the run: same position, different content ╌╌", "hair")])
            self.rows += unsteady
        changed = (i for i, row in enumerate(self.rows) if isinstance(row, Change) and row.kind == CHANGED)
        # Summary rows are always open.
        summary_rows = frozenset(i for i in range(len(self.rows)) if not self.selectable(i))
        self.opened: frozenset[int] = summary_rows.union(islice(changed, INITIALLY_OPEN))
        self.whole = False
        self._bodies: dict[tuple[int, int, bool], Body] = {}

    def sort(self) -> None:
        """Toggle between size and prompt order; the rows that are open initially are open again."""
        self.by_size = not self.by_size
        self._build_rows()

    def selectable(self, index: int) -> bool:
        return isinstance(self.rows[index], Change | ChangingBlock)

    def change(self, index: int) -> Change | None:
        row = self.rows[index] if index < len(self.rows) else None
        return row if isinstance(row, Change) else None

    def toggle(self, index: int) -> None:
        """Open or fold row `index`."""
        self.opened = self.opened ^ {index}

    def height(self, index: int, room: int) -> int:
        return self.selectable(index) + self._body(index, room).height(MAX_OPEN_LINES)

    def line(self, index: int, line: int, room: int, *, here: bool) -> Spans:
        row = self.rows[index]
        if not isinstance(row, Change | ChangingBlock):
            return [Span(" "), *(self._body(index, room).line(line) or ())]
        if line:
            return [Span("  "), *(self._body(index, room).line(line - 1) or ())]
        if isinstance(row, Change):
            return change_row(self.diff, row, room - 1, here=here)
        return unsteady_row(self.diff.b, row, room - 1, here=here)

    def _body(self, index: int, room: int) -> Body:
        key = (index, room, self.whole)
        body = self._bodies.get(key)
        if body is None:
            body = self._bodies[key] = self._create_body(self.rows[index], room - 3)
        return body

    def _create_body(self, row: Row, room: int) -> Body:
        if isinstance(row, ChangingBlock):
            side = self.diff.b
            return Body(render(_words(side, side, row.nodes[-2], row.nodes[-1]), room, whole=self.whole), room)
        if not isinstance(row, Change):
            return Body(iter([row]), room + 2)
        if row.before is not None and row.after is not None:
            pieces = _words(self.diff.a, self.diff.b, row.before, row.after, raw=row.kind == RESPELLED)
            return Body(render(pieces, room, whole=self.whole), room)
        side, node = (self.diff.a, row.before) if row.after is None else (self.diff.b, row.after)
        assert node is not None
        style = "del" if row.after is None else "add"
        lines = safe_text.lines(diff_text(side.tree[node]))
        return Body(([Span("  │ ", style), *safe_text.spans(text, "ink")] for text in lines), room, hang=4)


def _words(a: DiffSide, b: DiffSide, before: int, after: int, *, raw: bool = False) -> list[DiffSpan]:
    old, new = a.tree[before], b.tree[after]
    if raw:
        return word_diff(old.block.body.decode("utf-8", "replace"), new.block.body.decode("utf-8", "replace"))
    return word_diff(diff_text(old), diff_text(new))


def summary(diff: Diff) -> Iterator[list[Span]]:
    """Lines on what both contexts share, and the changes by kind and by category."""
    if diff.is_same:
        text = f"The model reads the same: {numbers.many(diff.shared + diff.kept, 'block')}, "
        yield [Span(text), Span(numbers.tokens(diff.shared_tokens + diff.kept_tokens), "bold"), Span(" tokens.")]
        return
    shared = [Span("Both begin with ", "dim"), Span(numbers.many(diff.shared, "block")), Span(", ", "dim")]
    shared += [Span(numbers.tokens(diff.shared_tokens), "bold"), Span(" tokens", "dim")]
    unrecorded = diff.token_of_difference - diff.shared_tokens
    if unrecorded > 0:
        shared.append(Span(f", after {numbers.tokens(unrecorded)} that are not recorded", "dim"))
    if diff.kept:
        kept = f"{numbers.many(diff.kept, 'block')} after the first difference, {numbers.tokens(diff.kept_tokens)}"
        shared.append(Span(f"; {kept}, are the same", "dim"))
    shared += [Span("; they differ from token ", "dim"), Span(numbers.exact(diff.token_of_difference), "bold")]
    yield [*shared, Span(" on.", "dim")]
    yield list(totals(diff))
    yield from by_category(diff)


def totals(diff: Diff) -> Iterator[Span]:
    """The number and tokens of the changes of each kind."""
    separator = ""
    for kind in (CHANGED, ENTERED, LEFT, RESPELLED):
        count, before, after = diff.count_changes(kind)
        if count:
            tokens = f"{numbers.tokens(before)} → {numbers.tokens(after)}" if kind == CHANGED else ""
            tokens = tokens or numbers.tokens(before if kind == LEFT else after)
            yield from (Span(separator), CHANGE_SIGNS[kind], Span(f" {count:,} {kind} "), Span(tokens, "bold"))
            separator = "   "


def _size(change: Change) -> int:
    return max(change.tokens_before or 0, change.tokens_after or 0)


def by_category(diff: Diff) -> Iterator[list[Span]]:
    """Tokens gained and lost by category, largest first; nothing for a single category."""
    tokens_by_category: dict[int, list[int]] = {}
    for change in diff.changes:
        before = diff.a.by_category(change.before) if change.before is not None else {}
        after = diff.b.by_category(change.after) if change.after is not None else {}
        for category in before | after:
            more = after.get(category, 0) - before.get(category, 0)
            tokens_by_category.setdefault(category, [0, 0])[more < 0] += more
    parts = sorted(tokens_by_category.items(), key=lambda item: -max(item[1][0], -item[1][1]))
    parts = [part for part in parts if any(part[1])]
    if len(parts) < 2:
        return
    line: list[Span] = []
    for category, (gained, lost) in parts:
        sign = CATEGORY[category]
        line += [Span("   ")] if line else []
        line += [sign.span, Span(f" {sign.name}", "dim")]
        line += [Span(f" {numbers.signed(gained)}", "add")] if gained else []
        line += [Span(f" {numbers.signed(lost)}", "del")] if lost else []
    yield line


def describe_position(diff: Diff, change: Change) -> str:
    """Position of a change: ``block 341 of 352``."""
    side = diff.a if change.after is None else diff.b
    return f"block {change.at:,} of {len(side.rows()):,}"


def change_row(diff: Diff, change: Change, room: int, *, here: bool = False) -> list[Span]:
    """A change in a line of `room` cells; `here`: the cursor is on it."""
    side, node = (diff.a, change.before) if change.after is None else (diff.b, change.after)
    assert node is not None
    if change.kind == CHANGED:
        tokens = f"{numbers.tokens(change.tokens_before or 0)} → {numbers.tokens(change.tokens_after or 0)}"
    else:
        tokens = numbers.tokens((change.tokens_before if change.after is None else change.tokens_after) or 0)
    style = {ENTERED: "add", LEFT: "del"}.get(change.kind, "ink")
    reason = diff.removal_reason(change) if room >= _WIDE else ""
    right = f"{reason}  {tokens}" if reason else tokens
    return _line(
        [Span("▸" if here else " ", "accent"), CHANGE_SIGNS[change.kind]], side, node, Span(right, style), room
    )


def _line(lead: Spans, side: DiffSide, node: int, right: Span, room: int) -> list[Span]:
    def words(node: int, room: int) -> list[Span]:
        says, sign = preview(side, node), CATEGORY[side.category(node)]
        return [
            *lead,
            Span(" "),
            sign.span,
            Span(" "),
            *one_line.preview_spans(says, sign.style + (" bold" if says.loud else "")),
        ]

    right_width = max(16, cells.width(right.text) + 1)
    table = Table(
        (Column("", 0, words, "left", least=9), Column("", right_width, lambda node, _: right)), mark=0, tail=0
    )
    return table.draw(node, room)


def explain_change(change: Change) -> str:
    before, after = change.tokens_before or 0, change.tokens_after or 0
    more = after - before
    return sums.difference(after, before, -more, ("tokens now", "before", "less" if more < 0 else "more"))


def explain_summary(diff: Diff) -> str:
    sentences = [f"They share {numbers.many(diff.shared, 'block')} with {diff.shared_tokens:,} tokens from the start."]
    for kind in (CHANGED, ENTERED, LEFT, RESPELLED):
        count, before, after = diff.count_changes(kind)
        if count:
            sentences.append(f"{numbers.many(count, 'block')} {kind}, {before:,} tokens before and {after:,} now.")
    return " ".join(sentences)


def preview(side: DiffSide, node: int) -> Preview:
    return preview_of(side.book, node)


def unsteady_row(side: DiffSide, block: ChangingBlock, room: int, *, here: bool = False) -> list[Span]:
    """A changing block in a line: how often it changed, and the last call that changed it."""
    history = f"{block.changes:,}× last at call {block.calls[-1]:,}"
    return _line(
        [Span("▸" if here else " ", "accent"), CHANGE_SIGNS[CHANGED]],
        side,
        block.nodes[-1],
        Span(history, "warn"),
        room,
    )
