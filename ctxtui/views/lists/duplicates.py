"""The list of duplicate content, with the tokens that removing it would free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.content.duplicates import EDITED, IDENTICAL, NEAR, REREAD, WORKSPACE, Duplicate
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import Turns
from ctxtui.views.blocks import one_line
from ctxtui.views.model.preview import Preview
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY, REPEAT
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

REASONS: Final = {
    IDENTICAL: "identical",
    NEAR: "nearly the same",
    REREAD: "read again later",
    EDITED: "changed since",
    WORKSPACE: "still in the file",
}


class Repeated(Struct, frozen=True):
    """A duplicate, and the turn and position (from 1; 0: none) of the other block."""

    repeat: Duplicate
    tokens: int
    category: int
    other_turn: int
    other_place: int


def duplicate_row(tree: Tree, turns: Turns, repeat: Duplicate, tokens: int, category: int) -> Repeated:
    return Repeated(repeat, tokens, category, turns.number_of(repeat.counterpart), tree[repeat.counterpart].depth)


def total(rows: Sequence[Repeated]) -> list[Span]:
    could = sum(row.tokens for row in rows)
    return [Span(numbers.tokens(could), "ink bold"), Span(" could go", "dim")] if rows else []


def explain_total(rows: Sequence[Repeated]) -> str:
    return sums.addition(sum(row.tokens for row in rows), "tokens", [row.tokens for row in rows], "blocks")


def sort_by_size(rows: Sequence[Repeated]) -> list[Repeated]:
    return sorted(rows, key=lambda row: -row.tokens)


def _other_location(row: Repeated) -> str:
    if row.repeat.counterpart == ROOT:
        return safe_text.one_line(row.repeat.path, 200)
    return f"turn {row.other_turn}, block {row.other_place}" if row.other_turn else f"block {row.other_place}"


def table(preview_of: Callable[[int], Preview], rows: Sequence[Repeated] = ()) -> Table[Repeated]:
    """The table; `preview_of` previews a node's block."""

    def words(row: Repeated, room: int) -> list[Span]:
        sign, says = CATEGORY[row.category], preview_of(row.repeat.node)
        lead = [REPEAT[row.repeat.kind].span, Span(" "), sign.span, Span(" ")]
        return [*lead, *one_line.preview_spans(says, sign.style, "ink" if says.loud else "dim")]

    total_tokens = sum(row.tokens for row in rows)
    why, at, tokens = _FIGURES
    tokens = replace(tokens, sum=lambda row: sums.share(row.tokens, total_tokens, " that could go"))
    return Table((Column("", 0, words, "left", least=8), why, at, tokens))


def _why(row: Repeated, room: int) -> Span:
    near = row.repeat.kind == NEAR
    return Span(f"{100 * row.repeat.share:.0f} % the same" if near else REASONS[row.repeat.kind], "warn")


def _explain_location(row: Repeated) -> str:
    return f"{'Changed by' if row.repeat.kind == EDITED else 'Other copy'}: {_other_location(row)}."


_FIGURES: Final[tuple[Column[Repeated], ...]] = (
    Column("", 18, _why, "left", gap=1, sum=_explain_location),
    Column(
        "",
        19,
        lambda row, room: Span(cells.fit(_other_location(row), room - 1), "dim"),
        "left",
        from_width=90,
        sum=_explain_location,
    ),
    Column("", 7, lambda row, _: Span(numbers.tokens(row.tokens), "ink bold" if row.tokens >= 1000 else "ink")),
)
