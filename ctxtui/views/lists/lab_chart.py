"""The contexts of all variants, call by call, drawn over each other: a letter and a colour for each curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.views.inspector.growth_chart import thinned
from ctxtui.views.lists.lab import LabLine, variant_words
from ctxtui.views.text import braille, cells, numbers, scale
from ctxtui.views.text.span import Span, Spans, cropped, merged, width

AXIS: Final = 6
"""Cells of the figures at the left."""
LEGEND: Final = 24
"""Cells of the names at the right, where there is room for them."""
_WITH_LEGEND: Final = 100


def chart_lines(lab: SessionLab, lines: Sequence[LabLine], room: int, height: int, here: int = -1) -> list[Spans]:
    """The chart in `room` x `height` cells. `lines` are the variants as the table has them, `here` the one under the
    cursor: nothing is drawn over it, nor over what was recorded."""
    shown = [line for line in lines if line.letter]
    if height < 3 or not shown or len(lab.drawn) < 2:
        few = "One call: there is no curve." if shown else "No curve is shown: v shows one."
        sentence: Spans = [Span(f" {few if height >= 3 else ''}", "dim")]
        return [sentence][:height]
    names = _legend(shown) if room >= _WITH_LEGEND else []
    wide = room - AXIS - 1 - (LEGEND + 1 if names else 0)
    tall = height - 2
    most = max(line.row.peak for line in shown)
    top = scale.ceiling(max(most, lab.usable * 1.05 if most * 3 > lab.usable else 0))
    body = _body(lab, _in_front(shown, lines, here), wide, tall, top)
    told, found = axis_figures(tall, top), list[Spans]()
    for y in range(tall):
        line = [Span(" "), _figure(y, told, _limit(tall, top, lab.usable), lab.usable), Span(" "), *body[y]]
        if names:
            line += [Span(" " * max(1, room - LEGEND - width(line))), *(names[y] if y < len(names) else ())]
        found.append(cropped(merged(line), room))
    found.append(_axis(lab, wide))
    found.append(_marks(lab, wide))
    return found


def _in_front(shown: Sequence[LabLine], lines: Sequence[LabLine], here: int) -> list[LabLine]:
    chosen = lines[here] if 0 <= here < len(lines) else None
    return sorted(shown, key=lambda line: (not line.row.is_recorded, line is not chosen))


def _body(lab: SessionLab, shown: Sequence[LabLine], wide: int, tall: int, top: float) -> list[list[Span]]:
    layers = []
    for line in shown:
        points = list(enumerate(thinned([line.row.curve[n] for n in lab.drawn], 2 * wide)))
        mask = braille.curve(
            ((float(x), float(y)) for x, y in points), wide, tall, (0.0, max(1.0, len(points) - 1.0)), (0.0, top)
        )
        layers.append((mask, line.colour))
    grid = [[Span(c, s) for c, s in ((c, one.style) for one in row for c in one.text)] for row in braille.rows(layers)]
    limit = _limit(tall, top, lab.usable)
    for y, row in enumerate(grid):
        row += [Span(" ")] * (wide - len(row))
        if y == limit:
            grid[y] = [Span("┄", "warn") if one.text == " " else one for one in row]
    taken: set[tuple[int, int]] = set()
    for number, (line, (mask, _)) in enumerate(zip(shown, layers, strict=True)):
        place = _letter_at(mask, [other for other, _ in layers[:number]], wide, number, taken)
        if place is not None:
            taken.add(place)
            grid[place[0]][place[1]] = Span(line.letter, f"{line.colour} reverse bold")
    return [merged(row) for row in grid]


def _letter_at(
    mask: braille.Mask, before: Sequence[braille.Mask], wide: int, number: int, taken: set[tuple[int, int]]
) -> tuple[int, int] | None:
    """Where on its curve a letter stands: where no curve in front of it is drawn, each further to the right."""
    wanted = (number * 2 + 5) * wide // 16 % max(1, wide)
    for column in sorted(range(wide), key=lambda x: abs(x - wanted)):
        for y, row in enumerate(mask):
            if row[column] and not any(one[y][column] for one in before) and (y, column) not in taken:
                return y, column
    return None


def axis_figures(tall: int, top: float) -> dict[int, float]:
    """The round figures at the left, by the row at whose upper edge each is; 0 stands in the last one."""
    by = scale.step(top, max(1, min(5, tall // 2)))
    steps = int(top / by + 1e-9)
    return {**{tall - round(n * by * tall / top): n * by for n in range(1, steps + 1)}, tall - 1: 0.0}


def _limit(tall: int, top: float, usable: int) -> int:
    """The row of what is usable of the window; -1: none."""
    return tall - 1 - int(usable * tall / top) if 0 < usable <= top else -1


def _figure(y: int, told: dict[int, float], limit: int, usable: int) -> Span:
    if y == limit:
        return Span(f"{scale.short(usable):>{AXIS - 1}}", "warn")
    figure = scale.short(told[y]) if y in told and (abs(y - limit) > 1 or not told[y]) else ""
    return Span(f"{figure:>{AXIS - 1}}", "faint")


def _axis(lab: SessionLab, wide: int) -> Spans:
    numbers_ = [lab.numbers[n] for n in lab.drawn]
    count = len(numbers_)
    cells_ = [" "] * wide
    for part in range(5):
        index = min(count - 1, part * (count - 1) // 4)
        text = f"{numbers_[index]:,}"
        at = min(wide - len(text), max(0, round(part / 4 * (wide - 1)) - (len(text) // 2 if part else 0)))
        if all(c == " " for c in cells_[max(0, at - 1) : at + len(text) + 1]):
            cells_[at : at + len(text)] = text
    return [Span(" " * (AXIS + 1)), Span("".join(cells_), "faint")]


def _marks(lab: SessionLab, wide: int) -> Spans:
    places = {index: n for n, index in enumerate(lab.drawn)}
    count = max(1, len(places) - 1)
    found = [Span(" ")] * wide
    for index, sign in lab.marks:
        if index not in places:
            continue
        found[min(wide - 1, round(places[index] / count * (wide - 1)))] = Span(
            sign, "cat-summary" if sign == "Σ" else "cat-document"
        )
    return [Span(" " * (AXIS + 1)), *merged(found)]


def _legend(shown: Sequence[LabLine]) -> list[Spans]:
    found: list[Spans] = []
    for line in sorted(shown, key=lambda one: (not one.row.is_recorded, -one.row.peak)):
        name = cells.left(variant_words(line.row), LEGEND - 2)
        money = "" if line.row.usd is None else f"  {numbers.money(line.row.usd)}"
        found.append([Span(line.letter, f"{line.colour} bold"), Span(f" {name}", line.colour)])
        found.append([Span(f"   {numbers.tokens(line.row.peak)}{money}", "dim")])
    return found
