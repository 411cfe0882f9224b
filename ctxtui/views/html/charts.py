"""SVG charts: stacked columns, curves, bars; their colours come from the document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.views.html.document import escape
from ctxtui.views.text import scale
from ctxtui.views.text.numbers import tokens
from ctxtui.views.text.scale import short

WIDTH: Final = 960
# Margins in SVG units: axis labels at the left, call numbers below.
_LEFT: Final = 52
_BOTTOM: Final = 22
_TOP: Final = 10
_RIGHT: Final = 10
MAX_COLUMNS: Final = 420
"""With more calls than this, neighbours share a column, which shows the call with the highest sum."""

Figure = Callable[[float], str]


class StackPart(Struct, frozen=True):
    """One part of each column; `fill` is a CSS class."""

    name: str
    fill: str
    values: Sequence[float]


class LimitLine(Struct, frozen=True):
    """A horizontal line.

    Drawn only if the highest value exceeds a third of it, as the chart would be too low otherwise.
    """

    value: float
    name: str


class Mark(Struct, frozen=True):
    """A sign below the column of value `at` (from 0), with the tooltip `says`.

    A column shows only its first mark.
    """

    at: int
    sign: str
    says: str
    style: str = "mark"


class Curve(Struct, frozen=True):
    """One curve: its `letter` on the chart ("": none), and the CSS class of its `line`."""

    name: str
    letter: str
    line: str
    values: Sequence[float]


def stacked(
    description: str,
    parts: Sequence[StackPart],
    *,
    height: int = 240,
    limits: Sequence[LimitLine] = (),
    marks: Sequence[Mark] = (),
) -> str:
    """Draw stacked columns of `parts`: their tokens at each call. "" without values."""
    count = len(parts[0].values) if parts else 0
    if not count:
        return ""
    groups = scale.buckets(count, MAX_COLUMNS)
    sums = [sum(max(0.0, part.values[n]) for part in parts) for n in range(count)]
    chosen = [max(group, key=sums.__getitem__) for group in groups]
    visible_limits, top = _fit_limits(limits, max(sums))
    area = _Area(height, top, len(groups))
    out = [area.begin(description), *area.grid(short)]
    floor = [0.0] * len(chosen)
    for part in parts:
        path = []
        for at, n in enumerate(chosen):
            value = max(0.0, part.values[n])
            if value > 0:
                path.append(area.rect(at, floor[at], floor[at] + value))
                floor[at] += value
        if path:
            out.append(f'<path class="{part.fill}" d="{"".join(path)}"/>')
    out += [area.limit_line(limit, tokens) for limit in visible_limits]
    for at, (group, n) in enumerate(zip(groups, chosen, strict=True)):
        terms = [f"{part.name} {tokens(part.values[n])}" for part in parts if part.values[n] > 0]
        title = f"call {_format_range(group)}: {tokens(sums[n])} = {' + '.join(terms)}"
        out.append(f'<rect class="hit" {area.box(at)}><title>{escape(title)}</title></rect>')
    by_column: dict[int, Mark] = {}
    for mark in marks:
        by_column.setdefault(next((at for at, group in enumerate(groups) if mark.at in group), -1), mark)
    out += [area.mark_sign(at, mark) for at, mark in by_column.items() if at >= 0]
    return "".join([*out, *area.column_numbers([group.start + 1 for group in groups]), "</svg>"])


def curves(
    description: str,
    curves_drawn: Sequence[Curve],
    *,
    height: int = 240,
    limits: Sequence[LimitLine] = (),
    figure: Figure = short,
    calls: Sequence[int] = (),
) -> str:
    """Draw overlaid curves, each with its letter at the right end; "" without values.

    `figure` formats the axis labels and the values of limits. `calls` has the number of each value's call (empty: from
    1 on).
    """
    count = max((len(curve.values) for curve in curves_drawn), default=0)
    if not count:
        return ""
    visible_limits, top = _fit_limits(limits, max(value for curve in curves_drawn for value in curve.values))
    area = _Area(height, top, count)
    out = [area.begin(description), *area.grid(figure)]
    for curve in curves_drawn:
        points = [f"{area.middle(at):.1f},{area.y(value):.1f}" for at, value in enumerate(curve.values)]
        path = f"M{'L'.join(points)}"
        out.append(f'<path class="{curve.line}" d="{path}"><title>{escape(curve.name)}</title></path>')
        if curve.letter:
            end = area.middle(len(points) - 1)
            place = f'x="{end:.1f}" y="{area.y(curve.values[-1]) - 4:.1f}"'
            out.append(f'<text class="letter" text-anchor="end" {place}>{escape(curve.letter)}</text>')
    out += [area.limit_line(limit, figure) for limit in visible_limits]
    return "".join([*out, *area.column_numbers(calls or range(1, count + 1)), "</svg>"])


def spark(values: Sequence[float], description: str) -> str:
    """Draw an area chart for a table cell: at most 60 columns, a tooltip; "" without values."""
    if not values:
        return ""
    groups = scale.buckets(len(values), 60)
    heights = [max(values[n] for n in group) for group in groups]
    top = max(heights) or 1.0
    path = "".join(f"M{n * 2},{20 - 19 * v / top:.1f}h2V20h-2z" for n, v in enumerate(heights) if v > 0)
    return (
        f'<svg class="spark" viewBox="0 0 120 20" role="img" aria-label="{escape(description)}">'
        f"<title>{escape(description)}</title>"
        f'<path class="spark-area" d="{path}"/></svg>'
    )


def bar(value: float, most: float, fill: str) -> str:
    """Draw a bar next to a figure; `most` is the value of a full bar, `fill` a CSS class."""
    percent = 100 * max(0.0, value) / most if most > 0 else 0.0
    return f'<span class="track"><i class="{fill}" style="width:{percent:.1f}%"></i></span>'


def legend(parts: Sequence[tuple[str, str, str]]) -> str:
    """Draw a legend line from (CSS class of the swatch, glyph, name) of each part."""
    swatches = (
        f'<span><i class="{fill}"></i>{escape(f"{glyph} {name}".strip())}</span>' for fill, glyph, name in parts
    )
    return f'<p class="legend">{"".join(swatches)}</p>'


def _format_range(group: range) -> str:
    return f"{group.start + 1:,}" if len(group) == 1 else f"{group.start + 1:,}–{group.stop:,}"


def _fit_limits(limits: Sequence[LimitLine], most: float) -> tuple[list[LimitLine], float]:
    """The limits that are drawn if `most` is the highest value, and the end of the axis."""
    visible = [limit for limit in limits if limit.value > 0 and most > limit.value / 3]
    return visible, scale.ceiling(max([most, *(limit.value * 1.02 for limit in visible)]))


class _Area:
    """Coordinates and parts of a chart of `columns` columns whose axis ends at `top`."""

    def __init__(self, height: int, top: float, columns: int) -> None:
        self._height, self._top, self._columns = height, top, columns
        self._column_width = (WIDTH - _LEFT - _RIGHT) / columns
        self._floor = height - _BOTTOM

    def begin(self, description: str) -> str:
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self._height}" role="img" aria-label="{escape(description)}">'
            f"<desc>{escape(description)}</desc>"
        )

    def x(self, at: float) -> float:
        return _LEFT + at * self._column_width

    def middle(self, at: float) -> float:
        return self.x(at + 0.5)

    def y(self, value: float) -> float:
        return self._floor - (self._floor - _TOP) * value / self._top

    def rect(self, at: int, low: float, high: float) -> str:
        wide = max(0.6, self._column_width - (0.8 if self._column_width > 3 else 0.0))
        y = self.y(high)
        return f"M{self.x(at):.1f},{y:.1f}h{wide:.1f}v{self.y(low) - y:.1f}h-{wide:.1f}z"

    def box(self, at: int) -> str:
        return f'x="{self.x(at):.1f}" y="{_TOP}" width="{self._column_width:.2f}" height="{self._floor - _TOP}"'

    def grid(self, figure: Figure) -> list[str]:
        step = scale.step(self._top, 4)
        out, value = [], 0.0
        while value <= self._top * 1.0001:
            y = self.y(value)
            out.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(f'<text class="axis" text-anchor="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{figure(value)}</text>')
            value += step
        return out

    def limit_line(self, limit: LimitLine, figure: Figure) -> str:
        y = self.y(limit.value)
        label = f"{escape(limit.name)} {figure(limit.value)}"
        return (
            f'<line class="limit" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="limit-name" x="{_LEFT + 4}" y="{y - 4:.1f}">{label}</text>'
        )

    def mark_sign(self, at: int, mark: Mark) -> str:
        place = f'x="{self.middle(at):.1f}" y="{self._floor + 9}"'
        title = f"<title>{escape(mark.says)}</title>"
        return f'<text class="{mark.style}" text-anchor="middle" {place}>{mark.sign}{title}</text>'

    def column_numbers(self, numbers: Sequence[int]) -> list[str]:
        """Label the first column, and those in which the rising `numbers` reach a round one.

        Columns too close to the label before get none.
        """
        every = max(1, round(scale.step(numbers[-1] - numbers[0] + 1, 8)))
        labelled = [0]
        for at in range(1, len(numbers)):
            is_round = numbers[at] // every > numbers[at - 1] // every
            if is_round and at - labelled[-1] >= len(numbers) / 20:
                labelled.append(at)
        return [
            f'<text class="axis" text-anchor="middle" x="{self.middle(at):.1f}" y="{self._height - 3}">'
            f"{numbers[at]:,}</text>"
            for at in labelled
        ]


CHART_CSS: Final = """
figure{margin:1rem 0}
figcaption{color:var(--dim);margin-bottom:.2rem}
svg.chart{width:100%;height:auto;display:block}
svg.spark{width:120px;height:20px;display:block}
.spark-area{fill:var(--cat-result)}
.grid{stroke:var(--hair);stroke-width:1}
.axis{fill:var(--dim);font:11px system-ui,sans-serif}
.limit{stroke:var(--warn);stroke-width:1.2;stroke-dasharray:5 4}
.limit-name{fill:var(--warn);font:11px system-ui,sans-serif}
.hit{fill:transparent}.hit:hover{fill:var(--ink);fill-opacity:.14}
.mark{fill:var(--cat-summary);font:11px system-ui,sans-serif}
.mark-miss{fill:var(--crit);font:9px system-ui,sans-serif}
.mark-here{fill:var(--accent);font:11px system-ui,sans-serif}
.letter{fill:var(--ink);font:bold 12px system-ui,sans-serif;paint-order:stroke;stroke:var(--bg);stroke-width:3px}
.line0,.line1,.line2,.line3,.line4,.line5{fill:none;stroke-width:1.8;stroke-linejoin:round}
.line0{stroke:var(--ink)}.line1{stroke:var(--accent)}.line2{stroke:var(--cat-user)}
.line3{stroke:var(--cat-image)}.line4{stroke:var(--ok)}.line5{stroke:var(--cat-document)}
.f-read{fill:var(--cache-read)}.f-write{fill:var(--cache-write)}.f-fresh{fill:var(--cache-fresh)}
.b-read{background:var(--cache-read)}.b-write{background:var(--cache-write)}.b-fresh{background:var(--cache-fresh)}
.f-rest{fill:var(--faint)}.b-rest{background:var(--faint)}.f-residual{fill:var(--hair)}.b-residual{background:var(--hair)}
.b-money{background:var(--accent)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.3rem 0;color:var(--dim);font-size:13px}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;vertical-align:-.05em}
.track{display:inline-block;width:9rem;max-width:100%;height:.6rem;background:var(--panel)}
.track i{display:block;height:100%}
@media (max-width:50rem){svg.chart text{font-size:14px}}
"""
