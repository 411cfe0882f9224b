"""The table of phases: how the context grows in each, what was sent, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.growth.growth import GrownPart
from ctxtui.analysis.growth.phases import Phase, typical_growth
from ctxtui.views.inspector.stacked_chart import sign_of, sign_span
from ctxtui.views.text import bars, numbers, safe_text, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

_WIDE: Final = 110
"""Cells of a line from which it has every column."""
_GREW: Final = 96
"""Cells of a line from which it says what grew."""
_TYPICAL: Final = 3
"""Phases from which on there is one that is neither the first nor the last."""


def table(rows: Sequence[Phase], number: int) -> Table[Phase]:
    """The table of `rows`; the phase of call `number` (from 1), which the screen behind shows, is marked."""
    most = max((row.growth for row in rows), default=0)

    def name(row: Phase, room: int) -> list[Span]:
        mark = Span("● ", "ok") if row.first <= number <= row.last else Span("○ ", "dim")
        style = "accent bold" if row.own else "ink" if row.name else "dim"
        return [mark, Span(safe_text.one_line(row.name, 200) or "before the first", style)]

    def bar(row: Phase, room: int) -> Span:
        return Span(bars.line(max(0, row.growth), most, room), "accent" if row.own else "write")

    return Table((Column("  phase", 0, name, "left", least=6), *_FIGURES, Column("", 8, bar, "left", gap=1)))


def _cost(row: Phase, room: int) -> Span:
    told = numbers.least(row.least, row.usd is None).replace(" ", "")
    return Span(told if row.priced else numbers.NONE)


def _grown(row: Phase) -> str:
    if row.growth < 0:
        return sums.less(row.end, row.before, -row.growth, ("at its end", "before it", "gone"))
    return sums.less(row.growth, row.end, row.before, ("growth", "at its end", "before it"))


def _sent(row: Phase) -> str:
    return f"{row.sent:,} tokens of input in {row.calls:,} calls, {row.sent // row.calls:,} each on average; " + (
        f"they answered {row.answered:,}."
    )


_FIGURES: Final[tuple[Column[Phase], ...]] = (
    Column(
        "calls",
        11,
        lambda row, _: Span(f"{row.first:,}–{row.last:,}" if row.calls > 1 else f"{row.first:,}", "dim"),
        sum=lambda row: f"{row.calls:,} calls, from {row.first:,} to {row.last:,}.",
    ),
    Column("growth", 9, lambda row, _: Span(numbers.signed(row.growth)), sum=_grown),
    Column(
        "per call",
        9,
        lambda row, _: Span(numbers.signed(round(row.growth / row.calls)), "dim"),
        from_width=_WIDE,
        sum=lambda row: f"{row.growth:,} tokens of growth in {row.calls:,} calls.",
    ),
    Column("end", 8, lambda row, _: Span(numbers.tokens(row.end), "dim"), from_width=_WIDE, sum=_grown),
    Column(
        "peak",
        8,
        lambda row, _: Span(numbers.tokens(row.peak), "dim"),
        sum=lambda row: sums.less(row.end, row.peak, row.peak - row.end, ("at its end", "at its peak", "later")),
    ),
    Column("sent", 9, lambda row, _: Span(numbers.tokens(row.sent), "dim"), sum=_sent),
    Column("answered", 9, lambda row, _: Span(numbers.tokens(row.answered), "dim"), from_width=_WIDE, sum=_sent),
    Column(
        "cost",
        9,
        _cost,
        sum=lambda row: sums.rate(row.least, row.sent + row.answered, "tokens in and out") if row.priced else "",
    ),
)


class GrownPhase(NamedTuple):
    """A phase with what grew in it, most first."""

    phase: Phase
    parts: Sequence[GrownPart]


def grown(rows: Sequence[Phase], parts: Sequence[Sequence[GrownPart]]) -> list[GrownPhase]:
    """The phases with what grew in each."""
    return [GrownPhase(row, part) for row, part in zip(rows, parts, strict=True)]


def grown_table(rows: Sequence[GrownPhase], number: int) -> Table[GrownPhase]:
    """The table of phases, with what grew most in each where there is room."""
    plain = table([row.phase for row in rows], number)
    columns = [
        Column(
            one.name,
            one.width,
            _of_phase(one),
            one.align,
            gap=one.gap,
            from_width=one.from_width,
            least=one.least,
            sum=_sum_of_phase(one),
        )
        for one in plain.columns
    ]
    return Table(
        (*columns[:2], Column("what grew", 19, _most, "left", gap=2, from_width=_GREW, sum=_sum_of_parts), *columns[2:])
    )


def _of_phase(column: Column[Phase]) -> Callable[[GrownPhase, int], Span | Spans]:
    return lambda row, room: column.cell(row.phase, room)


def _sum_of_phase(column: Column[Phase]) -> Callable[[GrownPhase], str] | None:
    made = column.sum
    return None if made is None else lambda row: made(row.phase)


def _sum_of_parts(row: GrownPhase) -> str:
    parts = [f"{sign_of(part.name).name} {part.growth:+,}" for part in row.parts if part.growth]
    return f"{', '.join(parts)}: {row.phase.growth:+,} tokens in all." if parts else ""


def _most(row: GrownPhase, room: int) -> list[Span]:
    rising = [part for part in row.parts if part.growth > 0]
    if not rising:
        return [Span(numbers.NONE, "faint")]
    glyph, name = sign_span(rising[0].name), sign_of(rising[0].name).name
    share = rising[0].growth / sum(part.growth for part in rising)
    return [glyph, Span(f" {name}", glyph.style), Span(f" {numbers.share(share, 0)}", "dim")]


def sum_of_summary(rows: Sequence[Phase]) -> str:
    """What the figures of the rule are made of."""
    sent = sums.added(sum(row.sent for row in rows), "sent", [row.sent for row in rows], "phases")
    return (
        sent
        if len(rows) < _TYPICAL
        else f"{sent} What a phase and a call add are medians; the first and the last phase are left out."
    )


def summary(rows: Sequence[Phase]) -> list[Span]:
    """What a phase typically adds, for the rule. Of two phases one begins the prompt and one may not be over: neither
    is typical."""
    if len(rows) < 2:
        return []
    if len(rows) < _TYPICAL:
        return [Span(f"{numbers.tokens(sum(row.sent for row in rows))} sent in all", "dim")]
    grown, each = typical_growth(rows)
    return [
        Span(f"{numbers.typical(grown)} a phase"),
        Span(f", {numbers.typical(each)} a call", "dim"),
        Span(f"; {numbers.tokens(sum(row.sent for row in rows))} sent in all", "dim"),
    ]
