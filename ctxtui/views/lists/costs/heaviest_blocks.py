"""The list of blocks by weight: tokens, calls they stayed, what they carried, what they cost, how far a cache keeps
them.

The weights of the context shown: for a worker, since a long context takes longer than a frame.
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

KEEP: Final = 500
"""Blocks that the list shows: nobody reads further."""
_WIDE: Final = 96
"""Cells of a line from which it has every column."""
_REASON: Final = 13
"""Cells in which there is room for why a result is stale."""
_STABLE: Final = {HIGH: "ok", MEDIUM: "warn", LOW: "crit", "": "faint"}


class HeavyBlock(Struct, frozen=True):
    """A block with its category; `usd` is what it has cost since it entered, None where that is not known; `context`
    are the tokens of the context that it stands in, `stale` says why it is a stale result ("": it is none)."""

    weight: BlockWeight
    category: int
    usd: float | None
    context: int = 0
    stale: str = ""


def total(rows: Sequence[HeavyBlock]) -> list[Span]:
    """What all blocks carried, for the rule; how cacheable they are, where that is the same of all."""
    carried = sum(row.weight.carry for row in rows)
    stable = _alike(rows)
    alike = f", cacheable: {stable}" if stable else ""
    return [Span(numbers.tokens(carried)), Span(f" carried in all{alike}", "dim")]


def sum_of_total(rows: Sequence[HeavyBlock]) -> str:
    """What the figure on the rule is made of."""
    carried = [row.weight.carry for row in rows]
    return sums.added(sum(carried), "carried", carried, "blocks")


def could_go(rows: Sequence[HeavyBlock]) -> list[Span]:
    """What stale blocks take, for the rule."""
    tokens = sum(row.weight.tokens for row in rows)
    return [Span(numbers.tokens(tokens), "ink bold"), Span(" could go", "dim")] if rows else []


def sum_of_tokens(rows: Sequence[HeavyBlock]) -> str:
    """The same, as a sum."""
    tokens = [row.weight.tokens for row in rows]
    return sums.added(sum(tokens), "tokens", tokens, "blocks")


def _alike(rows: Sequence[HeavyBlock]) -> str | None:
    """How cacheable all `rows` are ("": not known of any), None where they differ: a column that says the same in
    every row says nothing."""
    found = {row.weight.stability for row in rows}
    return next(iter(found)) if len(found) == 1 else None


def table(say: Callable[[int], Preview], rows: Sequence[HeavyBlock] = ()) -> Table[HeavyBlock]:
    """The table; `say` gives a node's block in words. Columns that would say the same of all `rows` are left out."""

    def words(row: HeavyBlock, room: int) -> list[Span]:
        sign, says = CATEGORY[row.category], say(row.weight.node)
        return [sign.span, Span(" "), *one_line.words(says, sign.style, "ink" if says.loud else "dim")]

    left_out = {
        "stale" if not any(row.stale for row in rows) else "",
        "cost" if rows and all(row.usd is None for row in rows) else "",
        "cacheable" if _alike(rows) is not None else "",
    }
    figures = [column for column in _FIGURES if column.name not in left_out]
    return Table((Column("  block", 0, words, "left", least=6), *figures))


def stale_table(say: Callable[[int], Preview], rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
    """The table of stale results: each with why it is one."""
    made = table(say, rows)
    kept = (one for one in made.columns if one.name in {"  block", "tokens", "calls", "stale"})
    return replace(
        made,
        columns=tuple(replace(one, width=_REASON, from_width=0) if one.name == "stale" else one for one in kept),
    )


def _tokens(count: int, bold: int) -> Span:
    return Span(numbers.tokens(count), "ink bold" if count >= bold else "ink")


def _calls(one: BlockWeight) -> str:
    """In which calls it stood."""
    if not one.since:
        return "No call has read it yet."
    return f"It came with call {one.since:,}, and {one.calls:,} call{'' if one.calls == 1 else 's'} had it."


def _stale(row: HeavyBlock, room: int) -> Span:
    return Span("" if not row.stale else row.stale if room >= _REASON else "stale", "warn")


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
        sum=lambda row: sums.times(row.weight.tokens, row.weight.calls),
    ),
    Column(
        "since",
        7,
        lambda row, _: Span(f"{row.weight.since:,}" if row.weight.since else numbers.NONE, "dim"),
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
        wider=((_WIDE, _REASON),),
        # Those that are stale, the largest first.
        sort=lambda row: row.weight.tokens if row.stale else -1,
        sum=lambda row: f"{row.stale[0].upper()}{row.stale[1:]}." if row.stale else "",
    ),
    Column(
        "cacheable",
        11,
        lambda row, _: Span(row.weight.stability or numbers.NOT_YET, _STABLE[row.weight.stability]),
    ),
)


def weighed(
    scene: Scene, stays: BlockLifetimes, ledger: CostLedger | None, repeats: Iterable[Duplicate] = ()
) -> list[HeavyBlock]:
    """Every block of the scene's context with what it carried and, as far as `ledger` knows, cost; `repeats` are those
    of this context, as far as they are found."""
    tree, running, number = scene.session.tree, scene.running, scene.number
    context = scene.figures.context_tokens
    if stays.done < number:
        # The study's own is still on its way.
        stays = BlockLifetimes(tree)
        stays.advance(scene.calls)
    old = stale_results(tree, scene.head, scene.turns, repeats)
    found = block_weights(
        tree, scene.head, running.block_tokens, stays, number, strips_thinking=running.strips_thinking
    )
    return [
        HeavyBlock(
            one,
            running.category(one.node),
            ledger.block_usd(one.node, one.tokens, number) if ledger else None,
            context,
            old.get(one.node, ""),
        )
        for one in found
    ]
