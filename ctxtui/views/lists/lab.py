"""The lab's table: a row for each variant, the cheapest first, with what it costs and what it risks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.lab.deviation import MAX_DEVIATION
from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.views.inspector.growth_chart import thinned
from ctxtui.views.text import braille, cells, numbers, safe_text, scale
from ctxtui.views.text.span import Span, Spans, cropped, merged, width
from ctxtui.views.text.table import Column, Table

STAR: Final = "✦"
CURVES: Final = 6
"""Curves that are drawn at most."""
_COLOURS: Final = ("cat-image", "cat-summary", "cat-user", "cat-document", "cat-call", "cat-memory")
_RECORDED: Final = "r"
_BUDGETS: Final = ("target", "tokens", "trigger", "n", "k", "limit", "size")


class LabLine(NamedTuple):
    """A variant as the table shows it: its `letter` on the chart ("": no curve) in `colour`, whether nothing is both
    cheaper and less risky (`best`), and which share of the recorded cost it `saves` (None: not known)."""

    row: LabRow
    letter: str
    colour: str
    best: bool
    saves: float | None


def lab_lines(lab: SessionLab, hidden: Sequence[int] = ()) -> list[LabLine]:
    """The variants, the cheapest first; where no price is known what sends least. `hidden` are indexes into the rows
    of the lab whose curve is not drawn."""
    if not lab.rows:
        return []
    own = lab.rows[0]
    order = sorted(range(len(lab.rows)), key=lambda n: (_price(lab.rows[n]), n))
    found: list[LabLine] = []
    letters: set[str] = {_RECORDED}
    drawn = 0
    for at in order:
        row = lab.rows[at]
        letter = colour = ""
        if row.is_recorded:
            letter, colour = (_RECORDED, "ink") if at not in hidden else ("", "")
        elif drawn < CURVES - 1 and at not in hidden:
            letter, colour = _letter(row, letters), _COLOURS[drawn % len(_COLOURS)]
            letters.add(letter)
            drawn += 1
        saves = 1 - row.usd / own.usd if row.usd is not None and own.usd else None
        found.append(LabLine(row, letter, colour, _is_best(row, lab.rows), saves))
    return found


def _price(row: LabRow) -> float:
    return row.usd if row.usd is not None else float(row.total)


def _is_best(row: LabRow, rows: Sequence[LabRow]) -> bool:
    """Whether no other variant is cheaper at no more risk, or less risky at no more cost."""
    mine = _price(row), row.dependence
    return not any(
        (_price(one), one.dependence) != mine and _price(one) <= mine[0] and one.dependence <= mine[1] for one in rows
    )


def _letter(row: LabRow, taken: set[str]) -> str:
    name = row.policy if row.policy != "as_recorded" else row.cache
    words = name.replace("_", " ").replace("-", " ")
    own = [word[0] for word in words.split()] + [c for c in name if c.isalpha()]
    return next((c for c in (*own, *"abcdefghijklmnopqstuvwxyz") if c not in taken and c.isalpha()), "?")


def setting_words(row: LabRow) -> str:
    """The settings that are not the policy's defaults, in few words: ``80.0k``, ``n=12``; the cache strategy and the
    model where they are not the recorded ones."""
    found = []
    for key, value in row.given.items():
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1_000:
            found.append(numbers.tokens(value) if key in _BUDGETS else f"{key}={numbers.tokens(value)}")
        else:
            found.append(f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return safe_text.one_line(" ".join(found))


def variant_words(row: LabRow, *, model: bool = False) -> str:
    """A variant in words: ``budget 80.0k``, ``as_recorded cache 1h``."""
    parts = [row.policy, setting_words(row)]
    parts += [f"cache {row.cache}"] if row.cache != RECORDED else []
    parts += [row.model] if model else []
    return safe_text.one_line(" ".join(part for part in parts if part))


def lab_table(lab: SessionLab, *, curves: bool = True) -> Table[LabLine]:
    """The table of `lab`; with `curves` the letters of the chart stand in front."""
    models = len({one.model for one in lab.rows}) > 1

    def policy(line: LabLine, room: int) -> Spans:
        row = line.row
        told = variant_words(row, model=models)[len(row.policy) :]
        return [Span(safe_text.one_line(row.policy), "ink bold" if row.is_recorded else "ink"), Span(told, "dim")]

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
            Column("read", 5, _share, gap=1, below=150),
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


def _share(line: LabLine, room: int) -> Span:
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
    told = "unknown" if usd is None else numbers.least(usd, line.row.at_least)
    return Span(told, "dim" if usd is None else "ink bold")


def _saves(line: LabLine, room: int) -> Span:
    if line.saves is None or line.row.is_recorded:
        return Span("")
    share = round(100 * line.saves)
    return Span(f"{'−' if share < 0 else ''}{abs(share)} %", "add" if share > 0 else "del" if share < 0 else "dim")


def told(lab: SessionLab) -> Spans:
    """How true the lab is to the recording: what the rule says at the right."""
    if lab.off is None:
        return [Span("nothing reported", "dim")]
    style = "ok" if abs(lab.off) <= MAX_DEVIATION else "warn"
    return [Span("simulation off by ", "dim"), Span(f"{100 * abs(lab.off):.1f} %", f"{style} bold")]


def notes(lab: SessionLab) -> list[Spans]:
    """What is to be said about the figures, a line each."""
    found: list[Spans] = [
        [Span(f"outcome {safe_text.one_line(name)}: {safe_text.one_line(value)}")] for name, value in lab.outcomes[:6]
    ]
    return [*found, *([Span(note, "dim")] for note in lab.notes)]


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
