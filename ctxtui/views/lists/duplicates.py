"""The list of content that stands elsewhere too, with the tokens that could go."""

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

WORD: Final = {
    IDENTICAL: "identical",
    NEAR: "nearly the same",
    REREAD: "read again later",
    EDITED: "changed since",
    WORKSPACE: "still in the file",
}
"""Why a block could go, in two or three words."""


class Repeated(Struct, frozen=True):
    """A repeat with the `tokens` of its block, its category, and where the other one stands: its turn and the block's
    place in the context, from 1 (0: none)."""

    repeat: Duplicate
    tokens: int
    category: int
    other_turn: int
    other_place: int


def repeated(tree: Tree, turns: Turns, found: Duplicate, tokens: int, category: int) -> Repeated:
    """The row of a repeat in `tree` whose block has so many tokens and is shown in `category`; `turns` are those of its
    thread."""
    return Repeated(found, tokens, category, turns.number_of(found.other), tree[found.other].depth)


def total(rows: Sequence[Repeated]) -> list[Span]:
    """What could go, for the rule."""
    could = sum(row.tokens for row in rows)
    return [Span(numbers.tokens(could), "ink bold"), Span(" could go", "dim")] if rows else []


def sum_of_total(rows: Sequence[Repeated]) -> str:
    """What could go, as a sum."""
    return sums.added(sum(row.tokens for row in rows), "tokens", [row.tokens for row in rows], "blocks")


def ordered(rows: Sequence[Repeated]) -> list[Repeated]:
    """Most tokens first."""
    return sorted(rows, key=lambda row: -row.tokens)


def where(row: Repeated) -> str:
    """Where what stands for the block is: ``turn 4, block 112``, or the file."""
    if row.repeat.other == ROOT:
        return safe_text.one_line(row.repeat.path, 200)
    return f"turn {row.other_turn}, block {row.other_place}" if row.other_turn else f"block {row.other_place}"


def table(say: Callable[[int], Preview], rows: Sequence[Repeated] = ()) -> Table[Repeated]:
    """The table; `say` gives a node's block in words; `rows` are all of them."""

    def words(row: Repeated, room: int) -> list[Span]:
        sign, says = CATEGORY[row.category], say(row.repeat.node)
        lead = [REPEAT[row.repeat.kind].span, Span(" "), sign.span, Span(" ")]
        return [*lead, *one_line.words(says, sign.style, "ink" if says.loud else "dim")]

    could = sum(row.tokens for row in rows)
    why, at, tokens = _FIGURES
    tokens = replace(tokens, sum=lambda row: sums.share(row.tokens, could, " that could go"))
    return Table((Column("", 0, words, "left", least=8), why, at, tokens))


def _why(row: Repeated, room: int) -> Span:
    near = row.repeat.kind == NEAR
    return Span(f"{100 * row.repeat.share:.0f} % the same" if near else WORD[row.repeat.kind], "warn")


def _stands(row: Repeated) -> str:
    return f"What stands for it: {where(row)}."


_FIGURES: Final[tuple[Column[Repeated], ...]] = (
    Column("", 18, _why, "left", gap=1, sum=_stands),
    Column("", 19, lambda row, room: Span(cells.fit(where(row), room - 1), "dim"), "left", from_width=90, sum=_stands),
    Column("", 7, lambda row, _: Span(numbers.tokens(row.tokens), "ink bold" if row.tokens >= 1000 else "ink")),
)
