"""The lab's table of variants, cheapest first, with cost and risk; the chart of contexts.

A variant is a recorded session, simulated under another policy, cache strategy or model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.lab.deviation import MAX_DEVIATION
from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.views.inspector.growth_chart import downsample
from ctxtui.views.text import braille, cells, numbers, safe_text, scale
from ctxtui.views.text.span import Span, Spans, cropped, merged, width
from ctxtui.views.text.table import Column, Table

STAR: Final = "✦"
LEGEND: Final = (
    f"{STAR} no other variant is cheaper at no more risk, or less risky at no more cost; over: calls above the usable "
    "window; quoted: removed blocks that later blocks quote"
)
MAX_CURVES: Final = 6
_COLOURS: Final = ("cat-image", "cat-summary", "cat-user", "cat-document", "cat-call", "cat-memory")
_RECORDED: Final = "r"
TOKEN_SETTINGS: Final = ("target", "tokens", "trigger", "n", "k", "limit", "size")
"""Settings that are numbers of tokens from 1,000 on, and then written without their name."""


class LabLine(NamedTuple):
    """A variant in the table.

    - `name`: with the model if the variants have different ones.
    - `letter`: on the chart, in `colour` ("": no curve).
    - `best`: see `LEGEND`.
    - `saves`: the share of the recorded cost that it saves; negative if it costs more.
    """

    row: LabRow
    name: str
    letter: str
    colour: str
    best: bool
    saves: float | None


def lab_lines(lab: SessionLab, hidden: Sequence[int] = ()) -> list[LabLine]:
    """The variants, cheapest first, then those without a price by the tokens they send.

    The recorded one and the first `MAX_CURVES` - 1 others get a curve, except those with an index in `hidden`.
    """
    if not lab.rows:
        return []
    recorded, models = lab.rows[0], has_several_models(lab.rows)
    order = sorted(range(len(lab.rows)), key=lambda n: (_price(lab.rows[n]), n))
    lines: list[LabLine] = []
    letters: set[str] = {_RECORDED}
    drawn = 0
    for index in order:
        row = lab.rows[index]
        letter = colour = ""
        if row.is_recorded:
            letter, colour = (_RECORDED, "ink") if index not in hidden else ("", "")
        elif drawn < MAX_CURVES - 1 and index not in hidden:
            letter, colour = _letter(row, letters), _COLOURS[drawn % len(_COLOURS)]
            letters.add(letter)
            drawn += 1
        saves = 1 - row.usd / recorded.usd if row.usd is not None and recorded.usd else None
        lines.append(LabLine(row, describe_variant(row, model=models), letter, colour, _is_best(row, lab.rows), saves))
    return lines


def _price(row: LabRow) -> float:
    return row.usd if row.usd is not None else float(row.total)


def _is_best(row: LabRow, rows: Sequence[LabRow]) -> bool:
    mine = _price(row), row.dependence
    return not any(
        (_price(other_row), other_row.dependence) != mine
        and _price(other_row) <= mine[0]
        and other_row.dependence <= mine[1]
        for other_row in rows
    )


def _letter(row: LabRow, used_letters: set[str]) -> str:
    name = row.policy if row.policy != "as_recorded" else row.cache
    words = name.replace("_", " ").replace("-", " ")
    candidates = [word[0] for word in words.split()] + [c for c in name if c.isalpha()]
    return next((c for c in (*candidates, *"abcdefghijklmnopqstuvwxyz") if c not in used_letters and c.isalpha()), "?")


def _describe_settings(row: LabRow) -> str:
    """Settings other than the policy's defaults, in short: ``80.0k``, ``n=12``."""
    settings = []
    for key, value in row.given_settings.items():
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1_000:
            settings.append(numbers.tokens(value) if key in TOKEN_SETTINGS else f"{key}={numbers.tokens(value)}")
        else:
            settings.append(f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return safe_text.one_line(" ".join(settings))


def has_several_models(rows: Sequence[LabRow]) -> bool:
    return len({row.model for row in rows}) > 1


def describe_variant(row: LabRow, *, model: bool) -> str:
    """Name of a variant: ``budget 80.0k``, ``as_recorded cache 1h``; with its model if `model`."""
    parts = [row.policy, _describe_settings(row)]
    parts += [f"cache {row.cache}"] if row.cache != RECORDED else []
    parts += [row.model] if model else []
    return safe_text.one_line(" ".join(part for part in parts if part))


def lab_table(lab: SessionLab, *, curves: bool = True) -> Table[LabLine]:
    """The table of `lab`; with `curves` the chart's letters are in the first column."""

    def policy(line: LabLine, room: int) -> Spans:
        row = line.row
        settings = line.name[len(row.policy) :]
        return [Span(safe_text.one_line(row.policy), "ink bold" if row.is_recorded else "ink"), Span(settings, "dim")]

    letter: Column[LabLine] = Column("", 2, _letter_cell, "left", gap=0)
    return Table(
        (
            *([letter] if curves else []),
            Column("", 1, lambda line, _: Span(STAR if line.best else "", "warn"), "left", gap=1),
            Column("policy", 0, policy, "left", gap=0, least=16),
            _tokens("peak", lab.usable),
            _tokens("final", lab.usable, "dim", 84),
            _tokens("total", 0),
            _tokens("read", 0, "dim", 150),
            _tokens("write", 0, "dim", 150),
            _tokens("fresh", 0, "dim", 150),
            Column("read", 5, _read_cell, gap=1, below=150),
            _count("rewrites", "rewrites", 96),
            _count("over", "over"),
            Column("first", 6, _overflow, gap=1, from_width=120),
            _count("dependence", "quoted"),
            Column("cost", 8, _cost, gap=1),
            Column("saves", 6, _saves, gap=1),
        ),
        mark=1 if curves else 0,
    )


def _letter_cell(line: LabLine, room: int) -> Spans:
    return [Span("━" if line.letter else " ", line.colour), Span(line.letter or " ", f"{line.colour} bold")]


def _tokens(name: str, usable: int, style: str = "ink", since: int = 0) -> Column[LabLine]:
    def cell(line: LabLine, room: int) -> Span:
        value = getattr(line.row, name)
        if value is None:
            return Span("?", "dim")
        return Span(numbers.tokens(value), "crit" if 0 < usable < value else style)

    return Column("sent" if name == "total" else name, 7, cell, gap=1, from_width=since)


def _read_cell(line: LabLine, room: int) -> Span:
    row = line.row
    if row.read is None or not row.total:
        return Span("?", "dim")
    return Span(f"{100 * row.read / row.total:.0f} %", "readtx")


def _count(name: str, head: str, since: int = 0) -> Column[LabLine]:
    def cell(line: LabLine, room: int) -> Span:
        value = getattr(line.row, name)
        style = "crit bold" if name == "over" else "ink"
        return Span(f"{value:,}" if value else "·", style if value else "dim")

    return Column(head, max(6, len(head)), cell, gap=1, from_width=since)


def _overflow(line: LabLine, room: int) -> Span:
    first = line.row.first_overflow
    return Span("·" if first is None else f"{first:,}", "dim")


def _cost(line: LabLine, room: int) -> Span:
    usd = line.row.usd
    text = "unknown" if usd is None else numbers.least(usd, line.row.at_least)
    return Span(text, "dim" if usd is None else "ink bold")


def _saves(line: LabLine, room: int) -> Span:
    if line.saves is None or line.row.is_recorded:
        return Span("")
    share = round(100 * line.saves)
    return Span(f"{'−' if share < 0 else ''}{abs(share)} %", "add" if share > 0 else "del" if share < 0 else "dim")


def describe_deviation(lab: SessionLab) -> Spans:
    if lab.off is None:
        return [Span("nothing reported", "dim")]
    style = "ok" if abs(lab.off) <= MAX_DEVIATION else "warn"
    return [Span("simulation off by ", "dim"), Span(f"{100 * abs(lab.off):.1f} %", f"{style} bold")]


def notes(lab: SessionLab) -> list[Spans]:
    outcomes: list[Spans] = [
        [Span(f"outcome {safe_text.one_line(name)}: {safe_text.one_line(value)}")] for name, value in lab.outcomes[:6]
    ]
    return [*outcomes, *([Span(note, "dim")] for note in lab.notes)]


AXIS_CELLS: Final = 6
LEGEND_CELLS: Final = 24
LEGEND_MIN_WIDTH: Final = 100


def chart_lines(lab: SessionLab, lines: Sequence[LabLine], room: int, height: int, here: int = -1) -> list[Spans]:
    """The chart in `room` x `height` cells.

    `lines` are the variants in table order; the one at `here` and the recorded one are drawn on top.
    """
    shown = [line for line in lines if line.letter]
    if height < 3 or not shown or len(lab.drawn) < 2:
        few = "One call: there is no curve." if shown else "No curve is shown: space shows one."
        sentence: Spans = [Span(f" {few if height >= 3 else ''}", "dim")]
        return [sentence][:height]
    names = _legend(shown) if room >= LEGEND_MIN_WIDTH else []
    chart_width = room - AXIS_CELLS - 1 - (LEGEND_CELLS + 1 if names else 0)
    chart_height = height - 2
    most = max(line.row.peak for line in shown)
    top = scale.ceiling(max(most, lab.usable * 1.05 if most * 3 > lab.usable else 0))
    body = _body(lab, _in_front(shown, lines, here), chart_width, chart_height, top)
    labels, out = axis_labels(chart_height, top), list[Spans]()
    for y in range(chart_height):
        line = [
            Span(" "),
            _axis_label(y, labels, _usable_row(chart_height, top, lab.usable), lab.usable),
            Span(" "),
            *body[y],
        ]
        if names:
            line += [Span(" " * max(1, room - LEGEND_CELLS - width(line))), *(names[y] if y < len(names) else ())]
        out.append(cropped(merged(line), room))
    out.append(_axis(lab, chart_width))
    out.append(_marks(lab, chart_width))
    return out


def _in_front(drawn_lines: Sequence[LabLine], lines: Sequence[LabLine], here: int) -> list[LabLine]:
    chosen = lines[here] if 0 <= here < len(lines) else None
    return sorted(drawn_lines, key=lambda line: (not line.row.is_recorded, line is not chosen))


def _body(
    lab: SessionLab, drawn_lines: Sequence[LabLine], chart_width: int, chart_height: int, top: float
) -> list[list[Span]]:
    layers = []
    for line in drawn_lines:
        points = list(enumerate(downsample([line.row.curve[n] for n in lab.drawn], 2 * chart_width)))
        mask = braille.curve(
            ((float(x), float(y)) for x, y in points),
            chart_width,
            chart_height,
            (0.0, max(1.0, len(points) - 1.0)),
            (0.0, top),
        )
        layers.append((mask, line.colour))
    grid = [
        [Span(c, s) for c, s in ((c, span.style) for span in row for c in span.text)] for row in braille.rows(layers)
    ]
    limit = _usable_row(chart_height, top, lab.usable)
    for y, row in enumerate(grid):
        row += [Span(" ")] * (chart_width - len(row))
        if y == limit:
            grid[y] = [Span("┄", "warn") if span.text == " " else span for span in row]
    used_cells: set[tuple[int, int]] = set()
    for number, (line, (mask, _)) in enumerate(zip(drawn_lines, layers, strict=True)):
        place = _letter_at(mask, [front for front, _ in layers[:number]], chart_width, number, used_cells)
        if place is not None:
            used_cells.add(place)
            grid[place[0]][place[1]] = Span(line.letter, f"{line.colour} reverse bold")
    return [merged(row) for row in grid]


def _letter_at(
    mask: braille.Mask, before: Sequence[braille.Mask], wide: int, number: int, used_cells: set[tuple[int, int]]
) -> tuple[int, int] | None:
    """Position of a letter on its curve that no curve in front covers.

    Later curves have theirs further right.
    """
    preferred_column = (number * 2 + 5) * wide // 16 % max(1, wide)
    for column in sorted(range(wide), key=lambda x: abs(x - preferred_column)):
        for y, row in enumerate(mask):
            if row[column] and not any(front[y][column] for front in before) and (y, column) not in used_cells:
                return y, column
    return None


def axis_labels(tall: int, top: float) -> dict[int, float]:
    """Round axis labels by row (each at the row's upper edge); 0 is in the last row."""
    by = scale.step(top, max(1, min(5, tall // 2)))
    steps = int(top / by + 1e-9)
    return {**{tall - round(n * by * tall / top): n * by for n in range(1, steps + 1)}, tall - 1: 0.0}


def _usable_row(tall: int, top: float, usable: int) -> int:
    return tall - 1 - int(usable * tall / top) if 0 < usable <= top else -1


def _axis_label(y: int, labels: dict[int, float], limit: int, usable: int) -> Span:
    if y == limit:
        return Span(f"{scale.short(usable):>{AXIS_CELLS - 1}}", "warn")
    figure = scale.short(labels[y]) if y in labels and (abs(y - limit) > 1 or not labels[y]) else ""
    return Span(f"{figure:>{AXIS_CELLS - 1}}", "faint")


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
    return [Span(" " * (AXIS_CELLS + 1)), Span("".join(cells_), "faint")]


def _marks(lab: SessionLab, wide: int) -> Spans:
    places = {index: n for n, index in enumerate(lab.drawn)}
    count = max(1, len(places) - 1)
    mark_spans = [Span(" ")] * wide
    for index, sign in lab.marks:
        if index not in places:
            continue
        mark_spans[min(wide - 1, round(places[index] / count * (wide - 1)))] = Span(
            sign, "cat-summary" if sign == "Σ" else "cat-document"
        )
    return [Span(" " * (AXIS_CELLS + 1)), *merged(mark_spans)]


def _legend(shown: Sequence[LabLine]) -> list[Spans]:
    legend_lines: list[Spans] = []
    for line in sorted(shown, key=lambda line: (not line.row.is_recorded, -line.row.peak)):
        name = cells.left(line.name, LEGEND_CELLS - 2)
        money = "" if line.row.usd is None else f"  {numbers.money(line.row.usd)}"
        legend_lines.append([Span(line.letter, f"{line.colour} bold"), Span(f" {name}", line.colour)])
        legend_lines.append([Span(f"   {numbers.tokens(line.row.peak)}{money}", "dim")])
    return legend_lines
