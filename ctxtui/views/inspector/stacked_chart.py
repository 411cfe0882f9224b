"""Stacked chart of each call's context by category, with the window limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.analysis.growth.growth import PARTS, RESIDUAL, Growth
from ctxtui.views.inspector.growth_chart import draw_limit
from ctxtui.views.inspector.strip_columns import axis, stacked_cell
from ctxtui.views.text import bars, cells, scale, signs
from ctxtui.views.text.signs import MARK, Sign
from ctxtui.views.text.span import Span, Spans, merged, width

AXIS: Final = 5
_RESIDUAL: Final = Sign("residual", "░", "?", "hair")


class StackedChart(Struct, frozen=True):
    """Each call's context by category.

    - `parts`: tokens by name of each call (see `analysis.growth.growth.PARTS`).
    - `here`: the index of the call shown (-1: none).
    - `cuts`: indices of calls before which the context was cut.
    """

    parts: Sequence[Mapping[str, int]]
    window: ContextWindow = field(default_factory=ContextWindow)
    here: int = -1
    cuts: Sequence[int] = ()

    @property
    def top(self) -> float:
        """Tokens of the full height, with the limit if the largest context exceeds a third of it."""
        most = max((sum(max(0, n) for n in part.values()) for part in self.parts), default=0)
        usable = self.window.usable
        return scale.ceiling(max(most, usable * 1.02 if most > usable / 3 else 0))

    @property
    def names(self) -> list[str]:
        return [name for name in PARTS if any(part.get(name, 0) > 0 for part in self.parts)]


def from_growth(growth: Growth, window: ContextWindow | None) -> StackedChart:
    cuts = [call.number - 1 for call in growth.calls if call.broken]
    return StackedChart([call.parts for call in growth.contexts], window or ContextWindow(), cuts=cuts)


def explain_scale(chart: StackedChart) -> str:
    most = max((sum(max(0, n) for n in part.values()) for part in chart.parts), default=0)
    return f"Tokens of context at this height; the largest of {len(chart.parts):,} calls has {most:,}."


def sign_of(name: str) -> Sign:
    return _RESIDUAL if name == RESIDUAL else signs.category(name)


def sign_span(name: str) -> Span:
    """The glyph of a part within text, where an area may be darker than a letter."""
    sign = sign_of(name)
    return Span(sign.glyph, "faint" if name == RESIDUAL else sign.style)


def lines(chart: StackedChart, room: int, height: int, *, colour: bool = False) -> list[Spans]:
    """The body: axis, columns, then marks of cuts and of the call shown.

    Without `colour` each cell has the glyph of its largest category.
    """
    if height < 3 or not chart.parts:
        sentence: Spans = [Span(" No call yet." if not chart.parts else " Too little room for the chart.", "dim")]
        return [sentence][:height]
    chart_width, chart_height = max(1, room - AXIS - 2), height - 1
    groups = scale.buckets(len(chart.parts), chart_width)
    top, names = chart.top, chart.names
    # Calls that share a column show their largest context.
    columns = [max((chart.parts[i] for i in group), key=lambda part: sum(part.values())) for group in groups]
    levels = [_levels(column, names, chart_height, top) for column in columns]
    per = max(1, chart_width // len(columns)) if len(columns) < chart_width else 1
    per = min(per, 4)
    figures = axis(chart_height, top, AXIS)
    limit = chart_height - 1 - int(chart.window.usable * chart_height / top) if 0 < chart.window.usable <= top else -1
    out: list[Spans] = []
    for y in range(chart_height):
        draw = stacked_cell if colour else _glyph_cell
        row = [draw(level, chart_height - 1 - y) for level in levels]
        drawn, lead = [Span(text * per, style) for text, style in row], [Span(" "), *figures[y]]
        if y == limit:
            lead = [Span(f" {scale.short(chart.window.usable):>{AXIS}} "[: AXIS + 2], "warn")]
            drawn = draw_limit([*drawn, Span(" " * max(0, chart_width - 1 - width(drawn)))])
        out.append(merged([*lead, *drawn]))
    out.append(_marks(chart, groups, per))
    return out


def _levels(part: Mapping[str, int], names: Sequence[str], height: int, top: float) -> list[tuple[int, str]]:
    ends, sum_ = [], 0.0
    for name in names:
        sum_ += max(0, part.get(name, 0))
        ends.append((min(8 * height, int(sum_ * 8 * height / top + 0.5)), sign_of(name).style))
    return ends


def _glyph_cell(levels: list[tuple[int, str]], row: int) -> Span:
    """Glyph of the largest part of a cell, if at least half of it is filled."""
    glyphs = {sign.style: sign.glyph for sign in (*signs.CATEGORY, _RESIDUAL)}
    if not levels or levels[-1][0] < 8 * row + 4:
        return Span(" ")
    start, most = 0, (0, "")
    for end, style in levels:
        most = max(most, (min(end, 8 * row + 8) - max(start, 8 * row), style), key=lambda part: part[0])
        start = end
    return Span(glyphs.get(most[1], "░"), most[1])


def _marks(chart: StackedChart, groups: Sequence[range], per: int) -> Spans:
    cuts = set(chart.cuts)
    spans = [Span(" " * (AXIS + 2))]
    for group in groups:
        mark = Span(" ")
        if chart.here in group:
            mark = MARK["here"].span
        elif any(index in cuts for index in group):
            mark = MARK["compaction"].span
        spans += [mark, Span(" " * (per - 1))]
    return merged(spans)


def legend(chart: StackedChart, room: int) -> list[Span]:
    """Meaning of the colours, largest part first until the room is used, and the limit."""
    limit = bars.limit_words(chart.window)
    entries: list[Span] = []
    used_width = sum(cells.width(span.text) for span in limit) + 2
    last = chart.parts[-1] if chart.parts else {}
    for name in sorted(chart.names, key=lambda part: -last.get(part, 0)):
        sign = sign_of(name)
        more = [sign_span(name), Span(f" {sign.name} ", "dim"), Span(" ")]
        if used_width + width(more) > room:
            break
        entries, used_width = [*entries, *more], used_width + width(more)
    return [*entries, *limit]
