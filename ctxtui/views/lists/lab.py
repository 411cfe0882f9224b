"""The lab's table: a row for each variant, the cheapest first, with what it costs and what it risks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.lab.deviation import WITHIN
from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span, Spans
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
    style = "ok" if abs(lab.off) <= WITHIN else "warn"
    return [Span("simulation off by ", "dim"), Span(f"{100 * abs(lab.off):.1f} %", f"{style} bold")]


def notes(lab: SessionLab) -> list[Spans]:
    """What is to be said about the figures, a line each."""
    found: list[Spans] = [
        [Span(f"outcome {safe_text.one_line(name)}: {safe_text.one_line(value)}", "ink")]
        for name, value in lab.outcomes[:6]
    ]
    return [*found, *([Span(note, "dim")] for note in lab.notes)]
