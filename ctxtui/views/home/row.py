"""A row of Home: what stands in its columns."""

from __future__ import annotations

import math
from typing import Final

from ctxtui.views.home.columns import BAR, LEAD, SOURCE, Column, aligned, columns, gap
from ctxtui.views.home.summary import SessionSummary
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.span import Span, merged

DEAR: Final = 5.0
"""US dollars from which a session's cost is bold."""
GOOD_READ: Final = 0.9
POOR_READ: Final = 0.8

_DOT: Final = Span(numbers.NONE, "faint")


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
        spans.append(Span(" " * (gap(column) if number else 0)))
        spans += _cell(column, summary, now, cursor, home)
    return merged(spans)


def tagged(summary: SessionSummary) -> str:
    """A session's tags: ``#demo #good``."""
    return " ".join(f"#{safe_text.one_line(tag)}" for tag in summary.tags)


def trouble(summary: SessionSummary) -> str:
    """Why a session has no figures: it cannot be read, or there is nothing in it that a model read."""
    error = safe_text.one_line(summary.error)
    return error if is_empty(summary) else f"not readable: {error}"


def is_empty(summary: SessionSummary) -> bool:
    """Whether the session could be read, but there is nothing in it that a model read."""
    return summary.error.startswith("no model context")


def _unreadable(summary: SessionSummary, width: int, now: float) -> list[Span]:
    title, *rest = columns(width)
    spans = [aligned(Span(safe_text.one_line(summary.title), "dim"), title), Span(" ")]
    if rest[0] is SOURCE:
        spans.append(aligned(Span(summary.source or "?", "dim"), SOURCE))
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
        mark = [Span("● ", "ok bold")] if s.live else [Span("✗ ", "crit")] if s.refused else []
        room = column.room - 2 * len(mark)
        words = cells.fit(text, room)
        tags = cells.fit(tagged(s), room - cells.width(words) - 2) if s.tags else ""
        gap = " " * (room - cells.width(words) - cells.width(tags))
        style = "ink bold" if cursor else "ink" if s.known else "dim"
        return [*mark, Span(words, style), Span(gap), Span(tags, "accent")]
    if column.head == "age":
        return [aligned(Span("" if s.group == "samples" else age(now - s.mtime), "dim"), column)]
    if column.head in ("source", "where"):
        text = s.source if column.head == "source" else shortened_home(s.cwd, home)
        return [aligned(Span(safe_text.one_line(text) or numbers.NONE, "dim" if text else "faint"), column)]
    return [aligned(_figure(column.head, s) if s.known else _DOT, column)]


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
            return _cost(s)
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


def _cost(s: SessionSummary) -> Span:
    """What a session cost; `≥` where some of its calls have no price, so that a part does not look like the whole.

    Where a subscription paid, its tokens stand here: they are what it used up.
    """
    if s.subscription:
        return Span(numbers.tokens(s.total_tokens), "ink bold")
    if s.cost_usd is None and (part := sum(call.cost or 0.0 for call in s.spent)):
        return Span(f"≥{numbers.money(part)}", "dim")
    bold = s.cost_usd is not None and s.cost_usd >= DEAR
    return Span(numbers.money(s.cost_usd), "ink bold" if bold else "dim" if s.cost_usd is None else "ink")
