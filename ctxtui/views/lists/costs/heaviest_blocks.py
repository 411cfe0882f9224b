"""The list of blocks by weight: tokens, calls, carried tokens, cost, cache stability.

Stability (high, medium, low) is the share of later calls of its epoch that had a block after an unchanged prefix: it
tells whether caching the block pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.content.block_lifetimes import HIGH, LOW, MEDIUM, BlockLifetimes
from ctxtui.analysis.content.block_weights import BlockWeight, block_weights
from ctxtui.analysis.content.duplicates import Duplicate, stale_results
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.views.blocks import one_line
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

MAX_BLOCKS: Final = 500
_WIDE: Final = 96
REASON_CELLS: Final = 13
_STABILITY_STYLES: Final = {HIGH: "ok", MEDIUM: "warn", LOW: "crit", "": "faint"}


class HeavyBlock(Struct, frozen=True):
    """A block with its category.

    - `usd`: its cost since it entered.
    - `context`: the size of its context in tokens.
    - `stale`: the reason why it is a stale result ("": not stale).
    """

    weight: BlockWeight
    category: int
    usd: float | None
    context: int = 0
    stale: str = ""


def total(rows: Sequence[HeavyBlock]) -> list[Span]:
    """Carried tokens of all blocks, and their stability if all have the same."""
    carried = sum(row.weight.carry for row in rows)
    stability = _common_stability(rows)
    suffix = f", cacheable: {stability}" if stability else ""
    return [Span(numbers.tokens(carried)), Span(f" carried in all{suffix}", "dim")]


def explain_total(rows: Sequence[HeavyBlock]) -> str:
    carried = [row.weight.carry for row in rows]
    return sums.addition(sum(carried), "carried", carried, "blocks")


def stale_tokens(rows: Sequence[HeavyBlock]) -> list[Span]:
    tokens = sum(row.weight.tokens for row in rows)
    return [Span(numbers.tokens(tokens), "ink bold"), Span(" could go", "dim")] if rows else []


def explain_stale_tokens(rows: Sequence[HeavyBlock]) -> str:
    tokens = [row.weight.tokens for row in rows]
    return sums.addition(sum(tokens), "tokens", tokens, "blocks")


def _common_stability(rows: Sequence[HeavyBlock]) -> str | None:
    """The common stability of all `rows` ("": unknown); None if they differ."""
    stabilities = {row.weight.stability for row in rows}
    return next(iter(stabilities)) if len(stabilities) == 1 else None


def table(preview_of: Callable[[int], Preview], rows: Sequence[HeavyBlock] = ()) -> Table[HeavyBlock]:
    """The table; `preview_of` previews a node's block.

    ``stale`` and ``cost`` are left out if no row has a value, ``cacheable`` if all have the same.
    """

    def describe_block(row: HeavyBlock, room: int) -> list[Span]:
        sign, preview = CATEGORY[row.category], preview_of(row.weight.node)
        return [sign.span, Span(" "), *one_line.preview_spans(preview, sign.style, "ink" if preview.loud else "dim")]

    left_out = {
        "stale" if not any(row.stale for row in rows) else "",
        "cost" if rows and all(row.usd is None for row in rows) else "",
        "cacheable" if _common_stability(rows) is not None else "",
    }
    figures = [column for column in _FIGURES if column.name not in left_out]
    return Table((Column("  block", 0, describe_block, "left", least=6), *figures))


def stale_table(preview_of: Callable[[int], Preview], rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
    """The same table for stale results, with the reason why each is stale."""
    full_table = table(preview_of, rows)
    columns = (column for column in full_table.columns if column.name in {"  block", "tokens", "calls", "stale"})
    return replace(
        full_table,
        columns=tuple(
            replace(column, width=REASON_CELLS, from_width=0) if column.name == "stale" else column
            for column in columns
        ),
    )


def _tokens(count: int, bold: int) -> Span:
    return Span(numbers.tokens(count), "ink bold" if count >= bold else "ink")


def _calls(weight: BlockWeight) -> str:
    if not weight.first_call:
        return "No call has read it yet."
    return f"Sent in {numbers.many(weight.calls, 'call')}, first in call {weight.first_call:,}."


def _stale(row: HeavyBlock, room: int) -> Span:
    return Span("" if not row.stale else row.stale if room >= REASON_CELLS else "stale", "warn")


_FIGURES: Final[tuple[Column[HeavyBlock], ...]] = (
    Column(
        "tokens",
        8,
        lambda row, _: _tokens(row.weight.tokens, 1000),
        sort=lambda row: row.weight.tokens,
        sum=lambda row: sums.share(row.weight.tokens, row.context),
    ),
    Column("calls", 7, lambda row, _: Span(f"{row.weight.calls:,}", "dim"), sum=lambda row: _calls(row.weight)),
    Column(
        "carry",
        9,
        lambda row, _: _tokens(row.weight.carry, 100_000),
        sort=lambda row: row.weight.carry,
        sum=lambda row: sums.product(row.weight.tokens, row.weight.calls),
    ),
    Column(
        "since",
        7,
        lambda row, _: Span(f"{row.weight.first_call:,}" if row.weight.first_call else numbers.NONE, "dim"),
        from_width=_WIDE,
        sum=lambda row: _calls(row.weight),
    ),
    Column(
        "cost",
        9,
        lambda row, _: Span(numbers.NONE if row.usd is None else numbers.money(row.usd), "dim"),
        from_width=_WIDE,
        sort=lambda row: row.usd or 0.0,
        sum=lambda row: sums.rate(row.usd, row.weight.carry, "tokens carried"),
    ),
    Column(
        "stale",
        7,
        _stale,
        "left",
        gap=2,
        wider=((_WIDE, REASON_CELLS),),
        # Stale ones first, by size.
        sort=lambda row: row.weight.tokens if row.stale else -1,
        sum=lambda row: f"{row.stale[0].upper()}{row.stale[1:]}." if row.stale else "",
    ),
    Column(
        "cacheable",
        11,
        lambda row, _: Span(row.weight.stability or numbers.NOT_YET, _STABILITY_STYLES[row.weight.stability]),
    ),
)


def weigh_blocks(
    scene: Scene, lifetimes: BlockLifetimes, ledger: CostLedger | None, repeats: Iterable[Duplicate] = ()
) -> list[HeavyBlock]:
    """The blocks that the provider reads, with carried tokens and cost.

    Slow for a long context. `repeats` are the duplicates in this context that are found so far.
    """
    tree, running, number = scene.session.tree, scene.running, scene.number
    context = scene.figures.context_tokens
    if lifetimes.done < number:
        # The study has not computed them up to this call yet.
        lifetimes = BlockLifetimes(tree)
        lifetimes.advance(scene.calls)
    old = stale_results(tree, scene.head, scene.turns, repeats)
    weight_list = block_weights(
        tree, scene.head, running.block_tokens, lifetimes, number, strips_thinking=running.strips_thinking
    )
    return [
        HeavyBlock(
            weight,
            running.category(weight.node),
            ledger.block_usd(weight.node, weight.tokens, number) if ledger else None,
            context,
            old.get(weight.node, ""),
        )
        for weight in weight_list
    ]
