"""Growth of a thread's context as a curve, with its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.views.text import bars, braille, numbers, scale
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, merged

MAX_POINTS: Final = 400
"""Points of the curve, more than it has dots."""


class GrowthChart(Struct, frozen=True):
    """Growth of a thread's context.

    - `tokens`: the context of each call in order.
    - `usable`: the usable window in tokens, drawn as the limit (0: unknown); `window`: the window in force.
    - `compactions`: their positions as shares of the width.
    """

    tokens: tuple[float, ...]
    usable: float
    window: ContextWindow = field(default_factory=ContextWindow)
    compactions: tuple[float, ...] = ()

    @property
    def per_call(self) -> float:
        """Average growth in tokens per call since the context last shrank by more than a sixth."""
        start = len(self.tokens) - 1
        while start > 0 and self.tokens[start - 1] <= self.tokens[start] * 1.2 and self.tokens[start - 1] > 0:
            start -= 1
        steps = len(self.tokens) - 1 - start
        return (self.tokens[-1] - self.tokens[start]) / steps if steps > 0 else 0.0


def notes(chart: GrowthChart) -> list[Span]:
    pace = [Span(numbers.signed(chart.per_call), "ink bold"), Span(" per call", "dim")] if len(chart.tokens) > 1 else []
    limit = bars.limit_words(chart.window)
    return [*pace, Span(" · " if pace and limit else "", "faint"), *limit]


def lines(chart: GrowthChart, room: int, height: int) -> list[Spans]:
    """The body: the curve, the limit ``┄``, the limit's figure and zero at the left."""
    if height < 1:
        return []
    if len(chart.tokens) < 2:
        return [[Span(" A curve needs two calls.", "dim")]]
    top = scale.ceiling(max(*chart.tokens, chart.usable * 1.05))
    chart_width = max(1, room - 8)
    points = [(float(number), tokens) for number, tokens in enumerate(downsample(chart.tokens, MAX_POINTS))]
    mask = braille.curve(points, chart_width, height, (0, len(points) - 1), (0, top))
    limit = height - 1 - int(chart.usable * height / top) if chart.usable else -1
    out: list[Spans] = []
    drawn = braille.rows([(mask, "ink")])
    for y in range(height):
        label = scale.short(chart.usable) if y == limit else "0" if y == height - 1 else ""
        spans = draw_limit(drawn[y]) if y == limit else drawn[y]
        out.append([Span(f" {label:>5} ", "warn" if y == limit else "faint"), *spans])
    for share in chart.compactions:
        _draw_compaction(out, 7 + min(chart_width - 1, round(share * (chart_width - 1))))
    return out


def _draw_compaction(lines: list[Spans], column: int) -> None:
    """Draw ``Σ`` in a column, on the highest line with a free cell there."""
    line_cells = [[Span(char, style) for text, style in line for char in text] for line in lines]
    free = next((y for y, line in enumerate(line_cells) if len(line) <= column or line[column].text in " ┄"), 0)
    line = line_cells[free] + [Span(" ")] * (column + 1 - len(line_cells[free]))
    lines[free] = merged([*line[:column], MARK["compaction"].span, *line[column + 1 :]])


def draw_limit(line: Spans) -> list[Span]:
    """Draw a limit into the free cells of a line."""
    return merged(Span("┄", "warn") if char == " " else Span(char, style) for text, style in line for char in text)


def downsample(values: Sequence[float], most: int) -> tuple[float, ...]:
    """Reduce `values` to `most`, keeping the largest of each stretch."""
    return tuple(max(values[bucket.start : bucket.stop]) for bucket in scale.buckets(len(values), most))
