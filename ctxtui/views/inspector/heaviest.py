"""The heaviest blocks of a context, with the cost of each since it entered."""

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

MAX_BLOCKS: Final = 64


class Heaviest:
    """The heaviest blocks on a path, updated incrementally while the path grows."""

    def __init__(self) -> None:
        self._top: list[tuple[int, int]] = []
        self._head = ROOT
        self._inputs: object = None

    def update(self, scene: Scene, path: Sequence[int]) -> list[int]:
        """Nodes of the heaviest blocks that the model reads on `path`, heaviest first.

        Empty while tokens are not counted.
        """
        if not scene.counted:
            return []
        tree, head = scene.session.tree, scene.head
        # A new turn, or a report that blocks are gone, changes which blocks are read.
        examined = tree[self._head].depth
        on_path = examined == 0 or (examined <= len(path) and path[examined - 1] == self._head)
        running = scene.running
        inputs = running, running.version, tree[head].turn, scene.book.contexts.absences_at(head)
        if not on_path or inputs != self._inputs:
            self._top, examined = [], 0
        for node in path[examined:]:
            tokens = running.block_tokens(node)
            is_heavy = tokens and (len(self._top) < MAX_BLOCKS or -tokens < self._top[-1][0])
            if is_heavy and running.is_read(head, node):
                insort(self._top, (-tokens, node))
                del self._top[MAX_BLOCKS:]
        self._head, self._inputs = head, inputs
        return [node for _, node in self._top]


class HeaviestRow(Struct, frozen=True):
    """One row: `usd` is its cost since it entered, None if unknown."""

    node: int
    category: int
    says: Preview
    tokens: int
    usd: float | None


def table(most: int, *, money: bool) -> Table[HeaviestRow]:
    """The pane's table; `most` is the tokens of the heaviest block, `money` adds costs."""

    def words(row: HeaviestRow, room: int) -> list[Span]:
        sign = CATEGORY[row.category]
        return [sign.span, Span(" "), *one_line.preview_spans(row.says, sign.style, "ink" if row.says.loud else "dim")]

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
