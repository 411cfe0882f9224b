"""A row of Home: which columns there are by the width of the screen, and what stands in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ctxtui.views import bars, cells, numbers, safe_text
from ctxtui.views.home import SessionSummary
from ctxtui.views.span import Span, merged

NARROW: Final = 60
"""Screen columns from which rows name the model and count calls."""
MEDIUM: Final = 100
"""Screen columns from which rows name their source and have a bar."""
ROOMY: Final = 114
"""Screen columns from which rows have a total."""
WIDE: Final = 160
"""Screen columns from which rows tell where they ran, their turns and their misses."""
LEAD: Final = 2
"""The cursor's mark and a blank."""
DEAR: Final = 5.0
"""US dollars from which a session's cost is bold."""
GOOD_READ: Final = 0.9
POOR_READ: Final = 0.8

_DOT: Final = Span(numbers.NONE, "faint")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head (also the name of the sort that it stands for), its cells, at which side it is aligned."""

    head: str
    room: int
    align: str = "right"


SOURCE: Final = Column("source", 11, "left")
MODEL: Final = Column("model", 14, "left")
BAR: Final = Column("", 6, "left")
_ALWAYS: Final = (Column("cost", 8), Column("read", 5), Column("age", 4))
_TINY: Final = (Column("peak", 6), Column("cost", 8), Column("age", 4))
_NARROW: Final = (Column("model", 11, "left"), Column("calls", 5), Column("peak", 6), *_ALWAYS)
_MEDIUM: Final = (SOURCE, MODEL, Column("calls", 5), Column("peak", 7), BAR, *_ALWAYS)
_ROOMY: Final = (*_MEDIUM[:5], Column("total", 7), *_ALWAYS)
_WIDE: Final = (
    SOURCE, Column("model", 18, "left"), Column("where", 30, "left"), Column("turns", 5), Column("calls", 6),
    Column("peak", 7), BAR, Column("total", 8), Column("misses", 6), *_ALWAYS,
)  # fmt: skip


def columns(width: int) -> tuple[Column, ...]:
    """The columns at `width` cells; the first is the title, which takes what is left."""
    steps = ((WIDE, _WIDE), (ROOMY, _ROOMY), (MEDIUM, _MEDIUM), (NARROW, _NARROW), (0, _TINY))
    rest = next(columns for least, columns in steps if width >= least)
    fixed = sum(column.room + _gap(column) for column in rest)
    return (Column("title", max(4, width - LEAD - fixed - 1), "left"), *rest)


def _gap(column: Column) -> int:
    return 2 if column is BAR or column.head in ("turns", "total") else 1


def heads(width: int, sort: str) -> list[Span]:
    """The line of column heads; the one that is sorted by is not faint."""
    spans = [Span(" " * LEAD)]
    for number, column in enumerate(columns(width)):
        spans.append(Span(" " * (_gap(column) if number else 0)))
        spans.append(_aligned([Span(column.head, "ink" if column.head == sort else "faint")], column))
    return merged(spans)


def head_at(width: int, x: int) -> str:
    """The head that stands at cell `x` of a line of `width` cells, "" where there is none."""
    at = LEAD
    for number, column in enumerate(columns(width)):
        at += _gap(column) if number else 0
        if at <= x < at + column.room:
            return column.head
        at += column.room
    return ""


def _aligned(spans: Sequence[Span], column: Column) -> Span:
    (text, style) = spans[0]
    fitted = cells.right(text, column.room) if column.align == "right" else cells.left(text, column.room)
    return Span(fitted, style)


def age(seconds: float) -> str:
    """How long ago, in at most 4 cells and without a clock that ticks: ``now``, ``13 m``, ``2 h``, ``3 d``, ``2 y``."""
    if seconds < 60:
        return "now"
    return f"{math.floor(seconds / 60)} m" if seconds < 3600 else numbers.ago(seconds)


def shortened_home(path: str, home: str) -> str:
    """A path as it is written on the screen: ``~/src/handy-cli``."""
    return "~" + path[len(home) :] if home and f"{path}/".startswith(f"{home}/") else path


def row(summary: SessionSummary, width: int, now: float, *, cursor: bool = False, home: str = "") -> list[Span]:
    """One session in `width` cells; `now` in Unix seconds, `home` the folder that is written ``~``."""
    lead = [Span("▸ " if cursor else "  ", "accent")]
    if summary.known and summary.error:
        return merged([*lead, *_unreadable(summary, width, now)])
    spans = lead
    for number, column in enumerate(columns(width)):
        spans.append(Span(" " * (_gap(column) if number else 0)))
        spans += _cell(column, summary, now, cursor, home)
    return merged(spans)


def trouble(summary: SessionSummary) -> str:
    """Why a session has no figures: it cannot be read, or there is nothing in it that a model read."""
    error = safe_text.one_line(summary.error)
    return error if error.startswith("no model context") else f"not readable: {error}"


def _unreadable(summary: SessionSummary, width: int, now: float) -> list[Span]:
    title, *rest = columns(width)
    spans = [_aligned([Span(safe_text.one_line(summary.title), "dim")], title), Span(" ")]
    if rest[0] is SOURCE:
        spans.append(_aligned([Span(summary.source or "?", "dim")], SOURCE))
        spans.append(Span(" "))
    told = f"▲ {trouble(summary)}"
    taken = LEAD + sum(cells.width(span.text) for span in spans)
    when = age(now - summary.mtime)
    spans.append(Span(cells.left(told, max(0, width - taken - 6)), "warn"))
    return [*spans, Span(f" {when:>4}", "dim")]


def _cell(column: Column, s: SessionSummary, now: float, cursor: bool, home: str) -> list[Span]:
    if column is BAR:
        return _share_of_window(s)
    if column.head == "title":
        text = safe_text.one_line(s.title) or numbers.NONE
        mark = [Span("● ", "ok bold")] if s.live else []
        words = cells.left(text, column.room - 2 * len(mark))
        return [*mark, Span(words, "ink bold" if cursor else "ink" if s.known else "dim")]
    if column.head == "age":
        return [_aligned([Span("" if s.group == "samples" else age(now - s.mtime), "dim")], column)]
    if column.head in ("source", "where"):
        text = s.source if column.head == "source" else shortened_home(s.cwd, home)
        return [_aligned([Span(safe_text.one_line(text) or numbers.NONE, "dim" if text else "faint")], column)]
    return [_aligned([_figure(column.head, s) if s.known else _DOT], column)]


def _figure(head: str, s: SessionSummary) -> Span:
    match head:
        case "model":
            return Span(safe_text.one_line(short_model(s.model)) or numbers.NONE, "ink")
        case "calls" | "turns":
            return Span(f"{s.calls if head == 'calls' else s.turns:,}", "ink")
        case "misses":
            return Span(str(s.misses), "crit") if s.misses else _DOT
        case "peak":
            style = bars.budget_style(s.peak_tokens, s.usable)
            return Span(numbers.tokens(s.peak_tokens), "ink" if style == "readtx" else f"{style} bold")
        case "total":
            return Span(numbers.tokens(s.total_tokens), "dim")
        case "cost":
            bold = s.cost_usd is not None and s.cost_usd >= DEAR
            return Span(numbers.money(s.cost_usd), "ink bold" if bold else "dim" if s.cost_usd is None else "ink")
    return read_share(s.read_share)


def read_share(part: float | None) -> Span:
    """The share read from the cache: good above 90 %, poor under 80 %, ``–`` where the question does not apply."""
    if part is None:
        return Span(numbers.NOT_APPLICABLE, "dim")
    shown = round(part, 2)
    style = "ok" if shown > GOOD_READ else "warn" if shown < POOR_READ else "ink"
    return Span(numbers.share(part, 0), style)


def _share_of_window(s: SessionSummary) -> list[Span]:
    if not s.known:
        return [Span(numbers.NONE * BAR.room, "faint")]
    if not s.window:
        return [Span(cells.left(numbers.NOT_YET, BAR.room), "faint")]
    return bars.level(s.peak_tokens, s.window, BAR.room, bars.budget_style(s.peak_tokens, s.usable))


_DATED: Final = 8


def short_model(model: str) -> str:
    """A model's id without maker and date: ``claude-sonnet-4-5-20250929`` -> ``sonnet-4-5``."""
    name = model.rpartition("/")[2].removeprefix("claude-")
    head, _, date = name.rpartition("-")
    return head if len(date) == _DATED and date.isdigit() and head else name
