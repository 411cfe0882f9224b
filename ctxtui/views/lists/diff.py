"""A diff as a list of rows: a summary, one line for every block that entered, left or changed with its word diff under
it, then what changes in the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ctxtui.analysis.content.diff import CHANGED, ENTERED, LEFT, RESPELLED, Change, Diff, DiffSide
from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.content.volatile import ChangingBlock
from ctxtui.analysis.content.word_diff import DiffSpan, word_diff
from ctxtui.core.category import INDEX
from ctxtui.views.blocks import one_line
from ctxtui.views.blocks.body import Body
from ctxtui.views.blocks.word_diff import drawn
from ctxtui.views.model.block_cache import preview_of
from ctxtui.views.model.preview import Preview
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

OPENED: Final = 8
"""Changed blocks that are open from the start."""
_LINES: Final = 400
"""Lines of one open block at most: more is for the pager of its own row."""

SIGN: Final = {
    CHANGED: Span("≠", "cat-tools bold"),
    ENTERED: Span("+", "add bold"),
    LEFT: Span("−", "del bold"),
    RESPELLED: Span("≈", "dim bold"),
}
"""How each kind of change is marked."""
_RESULT: Final = INDEX["tool_result"]
_WIDE: Final = 100
"""Cells from which on a row says why a block left."""

Row = Spans | Change | ChangingBlock


class DiffList:
    """The rows of `found` and of the blocks that change in the run of its second side. `opened` are the indices of
    the rows that are open, `whole` says that all lines of a changed block are shown, not only those near a change."""

    def __init__(self, found: Diff, steady: Sequence[ChangingBlock]) -> None:
        self.found = found
        self._steady = steady
        self.by_size = False
        self._order()

    def _order(self) -> None:
        """The rows in prompt order, or by size: what is largest first."""
        found, steady = self.found, self._steady
        changes = sorted(found.changes, key=lambda one: -_size(one)) if self.by_size else found.changes
        self.rows: list[Row] = [*summary(found), *changes]
        if steady:
            self.rows.append([Span("╌╌ changing within the run: the same place, other content ╌╌", "hair")])
            self.rows += steady
        changed = (i for i, row in enumerate(self.rows) if isinstance(row, Change) and row.kind == CHANGED)
        # What is said of both sides has as many lines as it needs, always.
        said = frozenset(i for i in range(len(self.rows)) if not self.selectable(i))
        self.opened: frozenset[int] = said.union(islice(changed, OPENED))
        self.whole = False
        self._bodies: dict[tuple[int, int, bool], Body] = {}

    def sort(self) -> None:
        """By size, or in prompt order again; what was open folds."""
        self.by_size = not self.by_size
        self._order()

    def selectable(self, index: int) -> bool:
        """Whether row `index` is a difference."""
        return isinstance(self.rows[index], Change | ChangingBlock)

    def change(self, index: int) -> Change | None:
        """The change of row `index`."""
        row = self.rows[index] if index < len(self.rows) else None
        return row if isinstance(row, Change) else None

    def toggle(self, index: int) -> None:
        """Open row `index`, or fold it."""
        self.opened = self.opened ^ {index}

    def height(self, index: int, room: int) -> int:
        """Lines of row `index` where it is open."""
        return self.selectable(index) + self._body(index, room).height(_LINES)

    def line(self, index: int, line: int, room: int, *, here: bool) -> Spans:
        """Line `line` of row `index` in `room` cells; `here` is where the cursor stands."""
        row = self.rows[index]
        if not isinstance(row, Change | ChangingBlock):
            return [Span(" "), *(self._body(index, room).line(line) or ())]
        if line:
            return [Span("  "), *(self._body(index, room).line(line - 1) or ())]
        if isinstance(row, Change):
            return change_row(self.found, row, room - 1, here=here)
        return steady_row(self.found.b, row, room - 1, here=here)

    def _body(self, index: int, room: int) -> Body:
        key = (index, room, self.whole)
        found = self._bodies.get(key)
        if found is None:
            found = self._bodies[key] = self._made(self.rows[index], room - 3)
        return found

    def _made(self, row: Row, room: int) -> Body:
        if isinstance(row, ChangingBlock):
            side = self.found.b
            return Body(drawn(_words(side, side, row.nodes[-2], row.nodes[-1]), room, whole=self.whole), room)
        if not isinstance(row, Change):
            return Body(iter([row]), room + 2)
        if row.before is not None and row.after is not None:
            pieces = _words(self.found.a, self.found.b, row.before, row.after, raw=row.kind == RESPELLED)
            return Body(drawn(pieces, room, whole=self.whole), room)
        side, node = (self.found.a, row.before) if row.after is None else (self.found.b, row.after)
        assert node is not None
        style = "del" if row.after is None else "add"
        lines = safe_text.lines(diff_text(side.tree[node]))
        return Body(([Span("  │ ", style), *safe_text.spans(text, "ink")] for text in lines), room, hang=4)


def _words(a: DiffSide, b: DiffSide, before: int, after: int, *, raw: bool = False) -> list[DiffSpan]:
    old, new = a.tree[before], b.tree[after]
    if raw:
        return word_diff(old.block.body.decode("utf-8", "replace"), new.block.body.decode("utf-8", "replace"))
    return word_diff(diff_text(old), diff_text(new))


def summary(found: Diff) -> Iterator[list[Span]]:
    """What both share, and what there is of each kind of change."""
    if found.is_same:
        told = f"The model reads the same: {_blocks(found.shared + found.kept)}, "
        yield [Span(told), Span(numbers.tokens(found.shared_tokens + found.kept_tokens), "bold"), Span(" tokens.")]
        return
    shared = [Span("Both begin with ", "dim"), Span(_blocks(found.shared)), Span(", ", "dim")]
    shared += [Span(numbers.tokens(found.shared_tokens), "bold"), Span(" tokens", "dim")]
    front = found.token - found.shared_tokens
    if front > 0:
        shared.append(Span(f", behind {numbers.tokens(front)} that are not recorded", "dim"))
    if found.kept:
        told = f"; {_blocks(found.kept)} behind the first difference, {numbers.tokens(found.kept_tokens)}, are the same"
        shared.append(Span(told, "dim"))
    shared += [Span("; they differ from token ", "dim"), Span(numbers.exact(found.token), "bold")]
    yield [*shared, Span(" on.", "dim")]
    yield list(totals(found))
    yield from by_category(found)


def totals(found: Diff) -> Iterator[Span]:
    """How many blocks of each kind, with their tokens, in one line."""
    between = ""
    for kind in (CHANGED, ENTERED, LEFT, RESPELLED):
        count, before, after = found.count_changes(kind)
        if count:
            tokens = f"{numbers.tokens(before)} → {numbers.tokens(after)}" if kind == CHANGED else ""
            tokens = tokens or numbers.tokens(before if kind == LEFT else after)
            yield from (Span(between), SIGN[kind], Span(f" {count:,} {kind} "), Span(tokens, "bold"))
            between = "   "


def _size(change: Change) -> int:
    return max(change.tokens_before or 0, change.tokens_after or 0)


def by_category(found: Diff) -> Iterator[list[Span]]:
    """What each category gained and lost, the largest first; nothing where it is one category only."""
    sums: dict[int, list[int]] = {}
    for change in found.changes:
        before = found.a.by_category(change.before) if change.before is not None else {}
        after = found.b.by_category(change.after) if change.after is not None else {}
        for category in before | after:
            more = after.get(category, 0) - before.get(category, 0)
            sums.setdefault(category, [0, 0])[more < 0] += more
    parts = sorted(sums.items(), key=lambda one: -max(one[1][0], -one[1][1]))
    parts = [part for part in parts if any(part[1])]
    if len(parts) < 2:
        return
    line: list[Span] = []
    for category, (come, go) in parts:
        sign = CATEGORY[category]
        line += [Span("   ")] if line else []
        line += [sign.span, Span(f" {sign.name}", "dim")]
        line += [Span(f" {numbers.signed(come)}", "add")] if come else []
        line += [Span(f" {numbers.signed(go)}", "del")] if go else []
    yield line


def _blocks(count: int) -> str:
    return f"{count:,} block{'s' if count != 1 else ''}"


def place(found: Diff, change: Change) -> str:
    """Where a change stands: ``block 341 of 352``."""
    side = found.a if change.after is None else found.b
    return f"block {change.at:,} of {len(side.rows()):,}"


def change_row(found: Diff, change: Change, room: int, *, here: bool = False) -> list[Span]:
    """One change in `room` cells; `here` puts the cursor's mark in front."""
    side, node = (found.a, change.before) if change.after is None else (found.b, change.after)
    assert node is not None
    if change.kind == CHANGED:
        tokens = f"{numbers.tokens(change.tokens_before or 0)} → {numbers.tokens(change.tokens_after or 0)}"
    else:
        tokens = numbers.tokens((change.tokens_before if change.after is None else change.tokens_after) or 0)
    style = {ENTERED: "add", LEFT: "del"}.get(change.kind, "ink")
    why = found.removal_reason(change) if room >= _WIDE else ""
    right = f"{why}  {tokens}" if why else tokens
    return _line([Span("▸" if here else " ", "accent"), SIGN[change.kind]], side, node, Span(right, style), room)


def _line(lead: Spans, side: DiffSide, node: int, right: Span, room: int) -> list[Span]:
    def words(node: int, room: int) -> list[Span]:
        says, sign = said(side, node), CATEGORY[side.category(node)]
        return [
            *lead,
            Span(" "),
            sign.span,
            Span(" "),
            *one_line.words(says, sign.style + (" bold" if says.loud else "")),
        ]

    taken = max(16, cells.width(right.text) + 1)
    table = Table((Column("", 0, words, "left", least=9), Column("", taken, lambda node, _: right)), mark=0, tail=0)
    return table.draw(node, room)


def sum_of(found: Diff, change: Change) -> str:
    """What a difference adds to the context or takes from it."""
    before, after = change.tokens_before or 0, change.tokens_after or 0
    more = after - before
    return sums.less(after, before, -more, ("tokens now", "before", "less" if more < 0 else "more"))


def sum_of_total(found: Diff) -> str:
    """What the figures of the first lines are made of."""
    told = [f"They share {_blocks(found.shared)} with {found.shared_tokens:,} tokens from the start."]
    for kind in (CHANGED, ENTERED, LEFT, RESPELLED):
        count, before, after = found.count_changes(kind)
        if count:
            told.append(f"{_blocks(count)} {kind}, {before:,} tokens before and {after:,} now.")
    return " ".join(told)


def said(side: DiffSide, node: int) -> Preview:
    """A block in one line."""
    return preview_of(side.book, node)


def steady_row(side: DiffSide, one: ChangingBlock, room: int, *, here: bool = False) -> list[Span]:
    """A block that changed within the run: how often, and last at which call."""
    told = f"{one.changes:,}× last at call {one.calls[-1]:,}"
    return _line([Span("▸" if here else " ", "accent"), SIGN[CHANGED]], side, one.nodes[-1], Span(told, "warn"), room)
