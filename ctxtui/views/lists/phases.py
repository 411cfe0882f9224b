"""The table of phases: growth of the context, tokens sent, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, cast

from msgspec.structs import replace

from ctxtui.analysis.growth.growth import GrownPart
from ctxtui.analysis.growth.phases import Phase, typical_growth
from ctxtui.views.inspector.stacked_chart import sign_of, sign_span
from ctxtui.views.text import bars, numbers, safe_text, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

_WIDE: Final = 110
GREW_WIDTH: Final = 96
MIN_TYPICAL_PHASES: Final = 3
"""Number of phases from which some are neither first nor last."""


def table(rows: Sequence[Phase], number: int) -> Table[Phase]:
    """The table of `rows`; the phase of call `number` (from 1) is marked."""
    most = max((row.growth for row in rows), default=0)

    def name(row: Phase, room: int) -> list[Span]:
        mark = Span("● ", "ok") if row.first <= number <= row.last else Span("○ ", "dim")
        style = "accent bold" if row.own else "ink" if row.name else "dim"
        return [mark, Span(safe_text.one_line(row.name, 200) or "before the first", style)]

    def bar(row: Phase, room: int) -> Span:
        return Span(bars.line(max(0, row.growth), most, room), "accent" if row.own else "write")

    return Table((Column("  phase", 0, name, "left", least=6), *_FIGURES, Column("", 8, bar, "left", gap=1)))


def _cost(row: Phase, room: int) -> Span:
    text = numbers.least(row.least, row.usd is None).replace(" ", "")
    return Span(text if row.priced else numbers.NONE)


def _explain_growth(row: Phase) -> str:
    if row.growth < 0:
        return sums.difference(row.end, row.before, -row.growth, ("at its end", "before it", "gone"))
    return sums.difference(row.growth, row.end, row.before, ("growth", "at its end", "before it"))


def _explain_sent(row: Phase) -> str:
    calls = numbers.many(row.calls, "call")
    return (
        f"{row.sent:,} tokens of input in {calls}, {row.sent // row.calls:,} each on average; output {row.answered:,}."
    )


_FIGURES: Final[tuple[Column[Phase], ...]] = (
    Column(
        "calls",
        11,
        lambda row, _: Span(f"{row.first:,}–{row.last:,}" if row.calls > 1 else f"{row.first:,}", "dim"),
        sum=lambda row: f"{numbers.many(row.calls, 'call')}, from {row.first:,} to {row.last:,}.",
    ),
    Column("growth", 9, lambda row, _: Span(numbers.signed(row.growth)), sum=_explain_growth),
    Column(
        "per call",
        9,
        lambda row, _: Span(numbers.signed(round(row.growth / row.calls)), "dim"),
        from_width=_WIDE,
        sum=lambda row: f"{row.growth:,} tokens of growth in {numbers.many(row.calls, 'call')}.",
    ),
    Column("end", 8, lambda row, _: Span(numbers.tokens(row.end), "dim"), from_width=_WIDE, sum=_explain_growth),
    Column(
        "peak",
        8,
        lambda row, _: Span(numbers.tokens(row.peak), "dim"),
        sum=lambda row: sums.difference(row.end, row.peak, row.peak - row.end, ("at its end", "at its peak", "later")),
    ),
    Column("sent", 9, lambda row, _: Span(numbers.tokens(row.sent), "dim"), sum=_explain_sent),
    Column(
        "answered", 9, lambda row, _: Span(numbers.tokens(row.answered), "dim"), from_width=_WIDE, sum=_explain_sent
    ),
    Column(
        "cost",
        9,
        _cost,
        sum=lambda row: sums.rate(row.least, row.sent + row.answered, "tokens in and out") if row.priced else "",
    ),
)


class GrownPhase(NamedTuple):
    """A phase, and by how much each category grew in it."""

    phase: Phase
    parts: Sequence[GrownPart]


def combine(rows: Sequence[Phase], parts: Sequence[Sequence[GrownPart]]) -> list[GrownPhase]:
    return [GrownPhase(row, part) for row, part in zip(rows, parts, strict=True)]


def grown_table(rows: Sequence[GrownPhase], number: int) -> Table[GrownPhase]:
    """The table of phases, with the part that grew most if there is room."""
    plain = table([row.phase for row in rows], number)
    columns = [
        replace(cast(Column[GrownPhase], column), cell=_of_phase(column), sum=_sum_of_phase(column))
        for column in plain.columns
    ]
    return Table(
        (
            *columns[:2],
            Column("what grew", 19, _largest_part, "left", gap=2, from_width=GREW_WIDTH, sum=_sum_of_parts),
            *columns[2:],
        )
    )


def _of_phase(column: Column[Phase]) -> Callable[[GrownPhase, int], Span | Spans]:
    return lambda row, room: column.cell(row.phase, room)


def _sum_of_phase(column: Column[Phase]) -> Callable[[GrownPhase], str] | None:
    explain = column.sum
    return None if explain is None else lambda row: explain(row.phase)


def _sum_of_parts(row: GrownPhase) -> str:
    parts = [f"{sign_of(part.name).name} {part.growth:+,}" for part in row.parts if part.growth]
    return f"{', '.join(parts)}: {row.phase.growth:+,} tokens in all." if parts else ""


def _largest_part(row: GrownPhase, room: int) -> list[Span]:
    rising = [part for part in row.parts if part.growth > 0]
    if not rising:
        return [Span(numbers.NONE, "faint")]
    glyph, name = sign_span(rising[0].name), sign_of(rising[0].name).name
    share = rising[0].growth / sum(part.growth for part in rising)
    return [glyph, Span(f" {name}", glyph.style), Span(f" {numbers.share(share, 0)}", "dim")]


def explain_summary(rows: Sequence[Phase]) -> str:
    sent = sums.addition(sum(row.sent for row in rows), "sent", [row.sent for row in rows], "phases")
    return (
        sent
        if len(rows) < MIN_TYPICAL_PHASES
        else f"{sent} Growth per phase and per call are medians, without the first and the last phase."
    )


def summary(rows: Sequence[Phase]) -> list[Span]:
    """Typical growth of a phase and tokens sent, for the title rule; empty for one phase.

    With two phases only the tokens sent: none is typical, as the first includes the prompt and the last may be
    unfinished.
    """
    if len(rows) < 2:
        return []
    if len(rows) < MIN_TYPICAL_PHASES:
        return [Span(f"{numbers.tokens(sum(row.sent for row in rows))} sent in all", "dim")]
    per_phase, per_call = typical_growth(rows)
    return [
        Span(f"{numbers.typical(per_phase)} a phase"),
        Span(f", {numbers.typical(per_call)} a call", "dim"),
        Span(f"; {numbers.tokens(sum(row.sent for row in rows))} sent in all", "dim"),
    ]
