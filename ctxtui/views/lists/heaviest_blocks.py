"""The list of blocks by weight: tokens, calls they stayed, what they carried, what they cost, how far a cache keeps
them.

The weights of the context shown: for a worker, since a long context takes longer than a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.content.block_lifetimes import HIGH, LOW, MEDIUM, Stays
from ctxtui.analysis.content.block_weights import Weight, weights
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import cells, numbers
from ctxtui.views.text.grid import fitted
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, width

if TYPE_CHECKING:
    from ctxtui.analysis.money.ledger import CostLedger


KEEP: Final = 500
"""Blocks that the list shows: nobody reads further."""
_WIDE: Final = 100
_COLUMNS: Final = (("tokens", 8), ("calls", 7), ("carry", 9), ("since", 7), ("cost", 9), ("cacheable", 11))
_NARROW: Final = frozenset({"tokens", "calls", "carry", "cacheable"})
_STABLE: Final = {HIGH: "ok", MEDIUM: "warn", LOW: "crit", "": "faint"}
ORDERS: Final[dict[str, Callable[[HeavyBlock], float]]] = {
    "tokens": lambda row: row.weight.tokens,
    "carry": lambda row: row.weight.carry,
    "cost": lambda row: row.usd or 0.0,
}
"""What the list can be ordered by."""


@dataclass(frozen=True, slots=True)
class HeavyBlock:
    """A block with its category; `usd` is what it has cost since it entered, None where that is not known."""

    weight: Weight
    category: int
    usd: float | None


def ordered(rows: Sequence[HeavyBlock], order: str) -> list[HeavyBlock]:
    """The first `KEEP` of `rows` by `order`, the largest first."""
    return sorted(rows, key=lambda row: -ORDERS[order](row))[:KEEP]


def total(rows: Sequence[HeavyBlock]) -> list[Span]:
    """What all blocks carried, for the rule."""
    carried = sum(row.weight.carry for row in rows)
    return [Span(numbers.tokens(carried), "ink"), Span(" carried in all", "dim")]


def heads(room: int, order: str) -> list[Span]:
    """The heads of the columns; that of the order is marked."""
    shown = _shown(room)
    taken = sum(wide for _, wide in shown) + 1
    names = [Span(f"{n + ' ↓' if n == order else n:>{w}}", "ink" if n == order else "dim") for n, w in shown]
    return [Span(cells.left("   block", max(4, room - taken)), "dim"), *names]


def _shown(room: int) -> list[tuple[str, int]]:
    return [column for column in _COLUMNS if room >= _WIDE or column[0] in _NARROW]


def draw(row: HeavyBlock, says: Preview, room: int, *, here: bool) -> list[Span]:
    """A row of the list in `room` cells; `says` is the block in words."""
    sign, weight = CATEGORY[row.category], row.weight
    words = [Span(says.label + " ", sign.style)] if says.label else []
    words.append(Span(says.text, "ink" if says.loud else "dim"))
    figures = {
        "tokens": numbers.tokens(weight.tokens),
        "calls": f"{weight.calls:,}",
        "carry": numbers.tokens(weight.carry),
        "since": f"{weight.since:,}" if weight.since else numbers.NONE,
        "cost": numbers.NONE if row.usd is None else numbers.money(row.usd),
        "cacheable": weight.stability or numbers.NOT_YET,
    }
    bold = {"tokens": weight.tokens >= 1000, "carry": weight.carry >= 100_000}
    columns = [
        Span(f"{figures[name]:>{wide}}", _STABLE[weight.stability] if name == "cacheable" else _voice(bold.get(name)))
        for name, wide in _shown(room)
    ]
    lead = [Span("▸" if here else " ", "accent"), sign.span, Span(" ")]
    return [*lead, *fitted(words, max(4, room - width(lead) - width(columns) - 1)), *columns, Span(" ")]


def _voice(bold: bool | None) -> str:
    return "dim" if bold is None else "ink bold" if bold else "ink"


def weighed(scene: Scene, stays: Stays, ledger: CostLedger | None) -> list[HeavyBlock]:
    """Every block of the scene's context with what it carried and, as far as `ledger` knows, cost."""
    tree, running, number = scene.session.tree, scene.running, scene.number
    if stays.done < number:
        # The study's own is still on its way.
        stays = Stays(tree)
        stays.advance(scene.calls)
    found = weights(tree, scene.head, running.own, stays, number, strips_thinking=running.strips_thinking)
    return [
        HeavyBlock(one, tree[one.node].category, ledger.block(one.node, one.tokens, number) if ledger else None)
        for one in found
    ]
