"""The heaviest blocks of a context, with what each has cost since it entered."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core.tree import ROOT
from ctxtui.views.blocks import one_line
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, numbers
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

KEEP: Final = 64
"""How many blocks are kept in order: more than any pane shows."""


class Heaviest:
    """The heaviest blocks on a path, kept while the path grows: going to the next call looks at its new blocks only."""

    def __init__(self) -> None:
        self._top: list[tuple[int, int]] = []
        self._head = ROOT
        self._running: object = None

    def show(self, scene: Scene, path: Sequence[int]) -> list[int]:
        """The nodes of the heaviest blocks of the context shown, whose nodes are `path`, heaviest first; none while
        tokens are not counted."""
        if not scene.counted:
            return []
        tree, head = scene.session.tree, scene.head
        # What is not read changes with the turn, so another turn or branch is looked at from the start.
        seen = tree[self._head].depth
        on_path = seen == 0 or (seen <= len(path) and path[seen - 1] == self._head)
        grows = on_path and self._running is scene.running and tree[self._head].turn == tree[head].turn
        if not grows:
            self._top, seen = [], 0
        own = scene.running.block_tokens
        for node in path[seen:]:
            tokens = own(node)
            heavy = tokens and (len(self._top) < KEEP or -tokens < self._top[-1][0])
            if heavy and scene.running.is_read(head, node):
                insort(self._top, (-tokens, node))
                del self._top[KEEP:]
        self._head, self._running = head, scene.running
        return [node for _, node in self._top]


class HeaviestRow(Struct, frozen=True):
    """One row: `usd` is what the block has cost since it entered, None where that is not known (yet)."""

    node: int
    category: int
    says: Preview
    tokens: int
    usd: float | None


def table(most: int, *, money: bool) -> Table[HeaviestRow]:
    """The table of the pane; `most` are the tokens of the heaviest block, `money` says that there is a price."""

    def words(row: HeaviestRow, room: int) -> list[Span]:
        sign = CATEGORY[row.category]
        return [sign.span, Span(" "), *one_line.words(row.says, sign.style, "ink" if row.says.loud else "dim")]

    def bar(row: HeaviestRow, room: int) -> Span:
        return Span(bars.line(row.tokens, most, room), CATEGORY[row.category].style)

    columns: tuple[Column[HeaviestRow], ...] = (
        Column("", 0, words, "left", least=2),
        Column("", 7, lambda row, _: Span(numbers.tokens(row.tokens), "ink bold" if row.tokens >= 1000 else "ink")),
        Column("", 5, bar, "left", gap=1),
    )
    return Table((*columns, Column("", 9, _cost)) if money else columns)


def _cost(row: HeaviestRow, room: int) -> Span:
    usd = numbers.NONE if row.usd is None else numbers.money(row.usd)
    return Span(usd, "faint" if not row.usd or usd == "$0.000" else "ink bold" if row.usd >= 1 else "dim")
