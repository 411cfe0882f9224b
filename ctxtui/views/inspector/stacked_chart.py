"""The context of each call, its categories on top of one another, with the limit that it grows towards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.analysis.growth.growth import PARTS, RESIDUAL, Growth
from ctxtui.views.inspector.strip_columns import axis, stacked_cell
from ctxtui.views.text import bars, cells, scale, signs
from ctxtui.views.text.signs import MARK, Sign
from ctxtui.views.text.span import Span, Spans, merged, width

AXIS: Final = 5
"""Cells of the figures at the left."""
_RESIDUAL: Final = Sign("residual", "░", "?", "hair")


class StackedChart(Struct, frozen=True):
    """`parts` of each call in order (tokens by name, see `analysis.growth.growth.PARTS`), the `window` in force, the
    index of the call shown (-1: none), and the indices of calls in front of which the context was cut."""

    parts: Sequence[Mapping[str, int]]
    window: ContextWindow = field(default_factory=ContextWindow)
    here: int = -1
    cuts: Sequence[int] = ()

    @property
    def top(self) -> float:
        """Tokens of the whole height: the limit is in view where the context comes near it."""
        most = max((sum(max(0, n) for n in part.values()) for part in self.parts), default=0)
        usable = self.window.usable
        return scale.ceiling(max(most, usable * 1.02 if most > usable / 3 else 0))

    @property
    def names(self) -> list[str]:
        """The parts that there are, from the bottom up."""
        return [name for name in PARTS if any(part.get(name, 0) > 0 for part in self.parts)]


def of(grown: Growth, window: ContextWindow | None = None, here: int = -1) -> StackedChart:
    """The chart of a thread's growth; `here` is the index of the call shown."""
    cuts = [call.number - 1 for call in grown.calls if call.broken]
    return StackedChart([call.parts for call in grown.contexts], window or ContextWindow(), here, cuts)


def sum_of_scale(chart: StackedChart) -> str:
    """What the figures at the chart's left stand for."""
    most = max((sum(max(0, n) for n in part.values()) for part in chart.parts), default=0)
    return f"So many tokens of context stand at that height; the fullest of {len(chart.parts):,} calls has {most:,}."


def sign_of(name: str) -> Sign:
    """The sign of a part."""
    return _RESIDUAL if name == RESIDUAL else signs.category(name)


def sign_span(name: str) -> Span:
    """The glyph of a part where it stands in a text: an area may be darker than a letter."""
    sign = sign_of(name)
    return Span(sign.glyph, "faint" if name == RESIDUAL else sign.style)


def lines(what: StackedChart, room: int, height: int, *, colour: bool = False) -> list[Spans]:
    """The body: the axis, the columns, and below them the marks of cuts and of the call shown. Without `colour` each
    cell holds the glyph of its largest category."""
    if height < 3 or not what.parts:
        sentence: Spans = [Span(" No call yet." if not what.parts else " Too little room for the chart.", "dim")]
        return [sentence][:height]
    wide, tall = max(1, room - AXIS - 2), height - 1
    groups = _groups(len(what.parts), wide)
    top, names = what.top, what.names
    # Of the calls that share a column the largest context is shown.
    columns = [max((what.parts[i] for i in group), key=lambda part: sum(part.values())) for group in groups]
    levels = [_levels(column, names, tall, top) for column in columns]
    per = max(1, wide // len(columns)) if len(columns) < wide else 1
    per = min(per, 4)
    figures = axis(tall, top, AXIS)
    limit = tall - 1 - int(what.window.usable * tall / top) if 0 < what.window.usable <= top else -1
    out: list[Spans] = []
    for y in range(tall):
        draw = stacked_cell if colour else _glyph_cell
        row = [draw(level, tall - 1 - y) for level in levels]
        drawn = [Span(text * per, style) for text, style in row]
        lead = [Span(f" {scale.short(what.window.usable):>{AXIS}} "[: AXIS + 2], "warn")] if y == limit else None
        line = [*(lead or [Span(" "), *figures[y]]), *drawn]
        out.append(_limited(line, AXIS + 2, room) if y == limit else merged(line))
    out.append(_marks(what, groups, per))
    return out


def _groups(count: int, wide: int) -> list[range]:
    if count <= wide:
        return [range(i, i + 1) for i in range(count)]
    return [range(i * count // wide, (i + 1) * count // wide) for i in range(wide)]


def _levels(part: Mapping[str, int], names: Sequence[str], height: int, top: float) -> list[tuple[int, str]]:
    ends, sum_ = [], 0.0
    for name in names:
        sum_ += max(0, part.get(name, 0))
        ends.append((min(8 * height, int(sum_ * 8 * height / top + 0.5)), sign_of(name).style))
    return ends


def _glyph_cell(levels: list[tuple[int, str]], row: int) -> Span:
    """The glyph of what fills most of a cell, where anything fills half of it."""
    glyphs = {sign.style: sign.glyph for sign in (*signs.CATEGORY, _RESIDUAL)}
    if not levels or levels[-1][0] < 8 * row + 4:
        return Span(" ")
    start, most = 0, (0, "")
    for end, style in levels:
        most = max(most, (min(end, 8 * row + 8) - max(start, 8 * row), style), key=lambda one: one[0])
        start = end
    return Span(glyphs.get(most[1], "░"), most[1])


def _limited(line: Sequence[Span], lead: int, room: int) -> list[Span]:
    """A line with the limit where the columns leave room."""
    drawn = width(line)
    spans = [Span(char, style) for text, style in line for char in text]
    kept = [Span("┄", "warn") if n >= lead and one.text == " " else one for n, one in enumerate(spans)]
    return merged([*kept, Span("┄" * max(0, room - drawn - 1), "warn")])


def _marks(what: StackedChart, groups: Sequence[range], per: int) -> Spans:
    cuts = set(what.cuts)
    spans = [Span(" " * (AXIS + 2))]
    for group in groups:
        mark = Span(" ")
        if what.here in group:
            mark = MARK["here"].span
        elif any(index in cuts for index in group):
            mark = MARK["compaction"].span
        spans += [mark, Span(" " * (per - 1))]
    return merged(spans)


def legend(what: StackedChart, room: int) -> list[Span]:
    """What the colours mean, as far as there is room; the limit."""
    limit = bars.limit_words(what.window)
    found: list[Span] = []
    taken = sum(cells.width(span.text) for span in limit) + 2
    last = what.parts[-1] if what.parts else {}
    for name in sorted(what.names, key=lambda one: -last.get(one, 0)):
        sign = sign_of(name)
        more = [sign_span(name), Span(f" {sign.name} ", "dim"), Span(" ")]
        if taken + width(more) > room:
            break
        found, taken = [*found, *more], taken + width(more)
    return [*found, *limit]
