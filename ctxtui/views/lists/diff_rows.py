"""The rows of a diff: what both contexts share, and one line for every block that entered, left or changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.analysis.content.diff import CHANGED, ENTERED, LEFT, RESPELLED, Change, Diff, DiffSide
from ctxtui.analysis.content.volatile import Unsteady
from ctxtui.core.block_content import read_value
from ctxtui.core.category import INDEX
from ctxtui.views.model.preview import Preview, preview
from ctxtui.views.text import cells, numbers
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

SIGN: Final = {
    CHANGED: Span("≠", "cat-tools bold"),
    ENTERED: Span("+", "add bold"),
    LEFT: Span("−", "del bold"),
    RESPELLED: Span("≈", "dim bold"),
}
"""How each kind of change is marked."""
_RESULT: Final = INDEX["tool_result"]


def summary(found: Diff) -> Iterator[list[Span]]:
    """What both share, and what there is of each kind of change."""
    if found.same:
        told = f"The model reads the same: {_blocks(found.shared + found.kept)}, "
        yield [Span(told), Span(numbers.tokens(found.shared_tokens + found.kept_tokens), "bold"), Span(" tokens.")]
        return
    shared = [Span("Both begin with ", "dim"), Span(_blocks(found.shared)), Span(", ", "dim")]
    shared += [Span(numbers.tokens(found.shared_tokens), "bold"), Span(" tokens", "dim")]
    if found.kept:
        told = f"; {_blocks(found.kept)} behind the first difference, {numbers.tokens(found.kept_tokens)}, are the same"
        shared.append(Span(told, "dim"))
    yield [*shared, Span(".", "dim")]
    yield list(totals(found))


def totals(found: Diff) -> Iterator[Span]:
    """How many blocks of each kind, with their tokens, in one line."""
    between = ""
    for kind in (CHANGED, ENTERED, LEFT, RESPELLED):
        count, before, after = found.total(kind)
        if count:
            tokens = f"{numbers.tokens(before)} → {numbers.tokens(after)}" if kind == CHANGED else ""
            tokens = tokens or numbers.tokens(before if kind == LEFT else after)
            yield from (Span(between), SIGN[kind], Span(f" {count:,} {kind} "), Span(tokens, "bold"))
            between = "   "


def _blocks(count: int) -> str:
    return f"{count:,} block{'s' if count != 1 else ''}"


def place(found: Diff, change: Change) -> str:
    """Where a change stands: ``block 341 of 352``."""
    side = found.a if change.after is None else found.b
    return f"block {change.at:,} of {len(side.rows()):,}"


def row(found: Diff, change: Change, room: int, *, here: bool = False) -> list[Span]:
    """One change in `room` cells; `here` puts the cursor's mark in front."""
    side, node = (found.a, change.before) if change.after is None else (found.b, change.after)
    assert node is not None
    if change.kind == CHANGED:
        tokens = f"{numbers.tokens(change.tokens_before or 0)} → {numbers.tokens(change.tokens_after or 0)}"
    else:
        tokens = numbers.tokens((change.tokens_before if change.after is None else change.tokens_after) or 0)
    style = {ENTERED: "add", LEFT: "del"}.get(change.kind, "ink")
    return _line([Span("▸" if here else " ", "accent"), SIGN[change.kind]], side, node, Span(tokens, style), room)


def _line(lead: Spans, side: DiffSide, node: int, right: Span, room: int) -> list[Span]:
    def words(node: int, room: int) -> list[Span]:
        here, says = side.tree[node], said(side, node)
        sign = CATEGORY[here.category]
        label = [Span(says.label + " ", sign.style + (" bold" if says.loud else ""))] if says.label else []
        return [*lead, Span(" "), sign.span, Span(" "), *label, Span(says.text, says.voice)]

    taken = max(16, cells.width(right.text) + 1)
    table = Table((Column("", 0, words, "left", least=9), Column("", taken, lambda node, _: right)), mark=0, tail=0)
    return table.draw(node, room)


def said(side: DiffSide, node: int) -> Preview:
    """A block in one line."""
    here, names = side.tree[node], side.book.names
    value = here.block.value()
    got = read_value(here.block.kind, value)
    tool = names.tool(got.call_id or names.answered(here)) if here.category == _RESULT and not got.name else ""
    return preview(here.block.kind, here.category, value, got, tool, side.book.session.about.cwd)


def steady_row(side: DiffSide, one: Unsteady, room: int, *, here: bool = False) -> list[Span]:
    """A block that changed within the run: how often, and last at which call."""
    told = f"{one.changes:,}× last at call {one.calls[-1]:,}"
    return _line([Span("▸" if here else " ", "accent"), SIGN[CHANGED]], side, one.nodes[-1], Span(told, "warn"), room)
