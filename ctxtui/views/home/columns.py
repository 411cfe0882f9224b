"""Columns of Home, from which its rows, heads, sorting and `ctxtui sessions` are derived."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from ctxtui.core.model_names import short_model
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, merged
from ctxtui.views.text.table import Column, Table

# Cells of a line from which a column is shown or gets wider.
NARROW: Final = 60
SOURCE_WIDTH: Final = 76
MEDIUM: Final = 100
ROOMY: Final = 114
WIDE: Final = 160
EXPIRY_WARNING_SECONDS: Final = 60
BOLD_COST_USD: Final = 5.0
GOOD_READ: Final = 0.9
POOR_READ: Final = 0.8

MADE_BY_CTXTUI: Final = "made by ctxtui"
"""Prefix of the title of a session that ctxtui wrote for resuming and no client has continued."""
_DOT: Final = Span(numbers.NONE, "faint")


class HomeRow(NamedTuple):
    """A session drawn at `now` (Unix seconds); `home` is the folder written as ``~``."""

    summary: SessionSummary
    now: float = 0.0
    cursor: bool = False
    home: str = ""


class HomeColumn(Column[HomeRow], frozen=True):
    """A column of Home.

    - `figure`: it needs figures. It shows a dot until they are there, and such sessions sort last.
    - `falling`: its first sort direction.
    - `value`, `field`: ``sessions --json`` writes the value as this field if it is set.
    - `text`, `printed`: `ctxtui sessions` prints the text in so many cells if that is not 0.
    """

    falling: bool = True
    figure: bool = True
    field: str = ""
    value: Callable[[SessionSummary], object] | None = None
    printed: int = 0
    text: Callable[[SessionSummary], str] | None = None

    def draw(self, row: HomeRow, room: int) -> Spans:
        if self.figure and not row.summary.known:
            return [self.align_span(_DOT, room)]
        return Column.draw(self, row, room)


# Cells


def format_age(seconds: float) -> str:
    """Age in at most 4 cells: ``now``, ``13 m``, ``2 h``, ``3 d``, ``31 w``, ``2 y``."""
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{math.floor(seconds / 60)} m"
    days = math.floor(seconds / 86400)
    if days < 100:
        return numbers.ago(seconds)
    return f"{days // 7} w" if days < 365 else f"{min(days // 365, 99)} y"


def _format_remaining(seconds: float) -> str:
    """Remaining time: ``45s``, ``4m``, ``11h``."""
    return (
        f"{seconds:.0f}s" if seconds < 60 else f"{seconds // 60:.0f}m" if seconds < 3600 else f"{seconds // 3600:.0f}h"
    )


def session_age(summary: SessionSummary, now: float) -> str:
    """Age of a session's last record; "" for a sample, whose age is that of the installation."""
    return "" if summary.group == SAMPLES else format_age(now - summary.mtime)


def age_sort_key(summary: SessionSummary) -> float:
    """Sort key for age: running sessions count as now, so that they do not swap places."""
    return math.inf if summary.runs else 0.0 if summary.group == SAMPLES else summary.mtime


def abbreviate_home(path: str, home: str) -> str:
    """Replace the home directory in a path: ``~/src/handy-cli``."""
    return "~" + path[len(home) :] if home and f"{path}/".startswith(f"{home}/") else path


def format_tags(summary: SessionSummary) -> str:
    return " ".join(f"#{safe_text.one_line(tag)}" for tag in summary.tags)


def read_share(part: float | None) -> Span:
    """The share read from the cache: green above 90 %, amber below 80 %, ``–`` if None."""
    if part is None:
        return Span(numbers.NOT_APPLICABLE, "dim")
    shown = round(part, 2)
    style = "ok" if shown > GOOD_READ else "warn" if shown < POOR_READ else "ink"
    return Span(numbers.share(part, 0), style)


def _title(row: HomeRow, room: int) -> list[Span]:
    s = row.summary
    mark = [Span("● ", "ok bold")] if s.runs else [Span("✗ ", "crit")] if s.refused else []
    mark = [Span(f"{MARK['held'].glyph} ", "warn bold")] if s.held else mark
    room -= 2 * len(mark)
    mark += [Span(f"{MADE_BY_CTXTUI}: ", "dim")] if s.is_made else []
    room -= len(MADE_BY_CTXTUI) + 2 if s.is_made else 0
    words = cells.fit(safe_text.one_line(s.title) or numbers.NONE, room)
    tags = cells.fit(format_tags(s), room - cells.width(words) - 2) if s.tags else ""
    gap = " " * (room - cells.width(words) - cells.width(tags))
    return [
        *mark,
        Span(words, "ink bold" if row.cursor else "ink" if s.known else "dim"),
        Span(gap),
        Span(tags, "accent"),
    ]


def _text_span(text: str) -> Span:
    return Span(safe_text.one_line(text) or numbers.NONE, "dim" if text else "faint")


def _source(row: HomeRow, room: int) -> Span:
    source = row.summary.source
    return _text_span(source if cells.width(source) <= room else source.split(" ")[0])


def _peak(row: HomeRow, room: int) -> Span:
    style = bars.budget_style(row.summary.peak_tokens, row.summary.usable)
    return Span(numbers.tokens(row.summary.peak_tokens), "ink" if style == "readtx" else f"{style} bold")


def _share_of_window(row: HomeRow, room: int) -> list[Span]:
    s = row.summary
    if not s.known:
        return [Span(numbers.NONE * room, "faint")]
    if not s.window:
        return [Span(numbers.NOT_YET, "faint")]
    return bars.level(_window_tokens(s), s.window, room, bars.budget_style(_window_tokens(s), s.usable))


def _window_tokens(s: SessionSummary) -> int:
    """Tokens shown in the window bar: current context of a running session, else its peak."""
    return s.last_tokens if s.runs and s.last_tokens else s.peak_tokens


def _cost(row: HomeRow, room: int) -> Span:
    """A session's cost; for subscriptions the tokens, which the plan counts."""
    s = row.summary
    if s.is_made:
        return Span(format_least_cost(s), "faint")
    if s.subscription:
        return Span(_tokens(s), "ink bold")
    usd = least_cost(s)
    bold = usd is not None and usd >= BOLD_COST_USD
    return Span(format_least_cost(s), "ink bold" if bold else "dim" if s.cost_usd is None else "ink")


def _tokens(s: SessionSummary) -> str:
    return numbers.least_tokens(s.total_tokens, s.partial > 0)


def least_cost(s: SessionSummary) -> float | None:
    """A session's cost in USD; a lower bound if calls have no price or an incomplete answer."""
    return s.known_usd if s.cost_usd is None else s.cost_usd


def format_least_cost(s: SessionSummary) -> str:
    """The cost as text: ``$8.03``, ``≥$8.03``.

    ``–`` for one that ctxtui wrote and no client continued.
    """
    if s.is_made:
        return numbers.NOT_APPLICABLE
    return numbers.least(least_cost(s), s.cost_usd is None).replace(" ", "")


def _age(row: HomeRow, room: int) -> Span:
    if row.summary.held:
        return Span("held", "warn bold")
    if row.summary.runs:
        # Running sessions come first; their order does not change while they write.
        left = row.summary.expires - row.now
        if left <= 0:
            return Span("live", "ok")
        return Span(
            f"{MARK['live'].glyph}{_format_remaining(left)}", "ok" if left > EXPIRY_WARNING_SECONDS else "warn bold"
        )
    return Span(session_age(row.summary, row.now), "dim")


# Explanations of figures


def _sum_of_calls(row: HomeRow) -> str:
    s = row.summary
    copies = f" ctxtui copied {numbers.many(s.copied, 'more call')} from another session." if s.copied else ""
    return f"{_calls(s)}{copies}"


def _calls(s: SessionSummary) -> str:
    others = s.calls - s.main_calls
    if not s.main_calls or not others:
        return f"{numbers.many(s.calls, 'call')}{', none in the main thread' if others else ' of one thread'}."
    return f"{s.calls:,} calls = {s.main_calls:,} in the main thread + {others:,} in subagents and other requests."


def _sum_of_peak(row: HomeRow) -> str:
    s = row.summary
    at = f"Call {s.peak_call:,} had the largest context. " if s.peak_call else ""
    if not s.usable:
        return f"{at}No window is known for {safe_text.one_line(short_model(s.model)) or 'its model'}."
    return f"{at}{sums.share(s.peak_tokens, s.usable, ' that are usable')}"


def _sum_of_full(row: HomeRow) -> str:
    s = row.summary
    if _window_tokens(s) == s.peak_tokens or not s.usable:
        return _sum_of_peak(row)
    return f"Running: {sums.share(s.last_tokens, s.usable, ' that are usable')}"


def _sum_of_age(row: HomeRow) -> str:
    left = row.summary.expires - row.now
    return f"Running; its cached prefix expires in {_format_remaining(left)}." if row.summary.runs and left > 0 else ""


def _sum_of_tokens(row: HomeRow) -> str:
    s = row.summary
    if not s.sent_tokens:
        return ""
    return f"{s.total_tokens:,} tokens = {s.sent_tokens:,} of input + {s.total_tokens - s.sent_tokens:,} of output."


def _sum_of_cost(row: HomeRow) -> str:
    s = row.summary
    if s.subscription:
        return _sum_of_tokens(row)
    whole, sentences = least_cost(s), []
    if s.main_usd is not None and whole is not None and s.total_tokens > s.main_tokens:
        sentences.append(
            f"{numbers.money(whole)} = {numbers.money(s.main_usd)} in the main thread + "
            f"{numbers.money(max(0.0, whole - s.main_usd))} in subagents and other requests."
        )
    if s.unpriced:
        sentences.append(f"{s.unpriced:,} of {s.calls:,} calls have no price.")
    if s.partial:
        sentences.append(f"{s.partial:,} of {s.calls:,} answers are only partly reported: the known part is counted.")
    dearest = sorted(s.by_category, key=lambda part: -part[1])[:2]
    if whole and dearest:
        named = " and ".join(f"{numbers.money(usd)} by {name.replace('_', ' ')}" for name, usd in dearest)
        sentences.append(f"Largest parts: {named}.")
    return " ".join(sentences) or sums.rate(whole, s.total_tokens)


def _sortable(value: float | None) -> float:
    return -1.0 if value is None else value


TITLE: Final = HomeColumn(
    "title", 0, _title, "left", sort=lambda row: row.summary.title.casefold(), falling=False, figure=False
)
SOURCE: Final = HomeColumn(
    "source", 8, _source, "left", gap=1, from_width=SOURCE_WIDTH, wider=((MEDIUM, 11),), figure=False
)
TABLE: Table[HomeRow] = Table(
    (
        TITLE,
        SOURCE,
        HomeColumn(
            "model", 11, lambda row, _: Span(safe_text.one_line(short_model(row.summary.model)) or numbers.NONE),
            "left", gap=1, from_width=NARROW, wider=((MEDIUM, 14), (WIDE, 18)),
            field="model", value=lambda s: s.model,
        ),
        HomeColumn(
            "where", 30, lambda row, _: _text_span(abbreviate_home(row.summary.cwd, row.home)),
            "left", gap=1, from_width=WIDE, figure=False,
        ),
        HomeColumn(
            "turns", 5, lambda row, _: Span(f"{row.summary.turns:,}"), gap=2, from_width=WIDE,
            sum=lambda row: f"{numbers.many(row.summary.turns, 'turn')} in {numbers.many(row.summary.calls, 'call')}.",
            field="turns", value=lambda s: s.turns,
        ),
        HomeColumn(
            "calls", 5, lambda row, _: Span(f"{row.summary.calls:,}"),
            gap=1, from_width=NARROW, wider=((WIDE, 6),), sort=lambda row: row.summary.calls,
            sum=_sum_of_calls,
            field="calls", value=lambda s: s.calls, printed=6, text=lambda s: f"{s.calls:,}",
        ),
        HomeColumn(
            "peak", 6, _peak, gap=1, wider=((MEDIUM, 7),), sort=lambda row: row.summary.peak_tokens,
            sum=_sum_of_peak,
            field="peak_tokens", value=lambda s: s.peak_tokens, printed=7, text=lambda s: numbers.tokens(s.peak_tokens),
        ),
        HomeColumn("", 6, _share_of_window, "left", gap=2, from_width=MEDIUM, figure=False, sum=_sum_of_full),
        HomeColumn(
            "total", 7, lambda row, _: Span(_tokens(row.summary), "dim"),
            gap=2, from_width=ROOMY, wider=((WIDE, 8),), sort=lambda row: row.summary.total_tokens,
            sum=_sum_of_tokens,
            field="total_tokens", value=lambda s: s.total_tokens,
        ),
        HomeColumn(
            "misses", 6, lambda row, _: Span(str(row.summary.misses), "crit") if row.summary.misses else _DOT,
            gap=1, from_width=WIDE,
            sum=lambda row: f"{row.summary.misses:,} of {row.summary.calls:,} calls read less than was cached.",
        ),
        HomeColumn(
            "cost", 8, _cost, gap=1, sort=lambda row: _sortable(least_cost(row.summary)), sum=_sum_of_cost,
            field="cost_usd", value=lambda s: s.cost_usd, printed=9, text=format_least_cost,
        ),
        HomeColumn(
            "read", 5, lambda row, _: read_share(row.summary.read_share),
            gap=1, from_width=NARROW, sort=lambda row: _sortable(row.summary.read_share),
            sum=lambda row: sums.share(row.summary.read_tokens, row.summary.sent_tokens, " of input"),
            field="read_share", value=lambda s: s.read_share,
        ),
        HomeColumn("age", 4, _age, gap=1, sort=lambda row: age_sort_key(row.summary), figure=False, sum=_sum_of_age),
    ),
    mark=2,
    style="faint",
    ordered_by="",
)  # fmt: skip

_FIRST_SORTS: Final = ("age", "cost", "peak", "total", "calls", "read", "title")


def home_columns() -> list[HomeColumn]:
    return [column for column in TABLE.columns if isinstance(column, HomeColumn)]


def sorts() -> list[HomeColumn]:
    """Sortable columns, in the order of the sort key."""
    sortable = [column for column in home_columns() if column.sort is not None]
    rank = {name: number for number, name in enumerate(_FIRST_SORTS)}
    return sorted(sortable, key=lambda column: rank.get(column.name, len(rank)))


# Rows


def heads(width: int, sort: str) -> list[Span]:
    return merged(TABLE.heads(width, sort))


def sum_at(summary: SessionSummary, width: int, x: int) -> str:
    """Explain the figure at cell `x` of a session's row that is `width` cells wide."""
    return TABLE.sum_at(HomeRow(summary), width, x) if summary.known and not summary.error else ""


def row(summary: SessionSummary, width: int, now: float, *, cursor: bool = False, home: str = "") -> list[Span]:
    """One session in `width` cells.

    `now` in Unix seconds, `home` is the folder written as ``~``.
    """
    if summary.known and summary.error:
        return merged([Span("▸ " if cursor else "  ", "accent"), *_unreadable(summary, width, now)])
    return merged(TABLE.draw(HomeRow(summary, now, cursor, home), width, here=cursor))


def describe_error(summary: SessionSummary) -> str:
    error = safe_text.one_line(summary.error)
    return error if is_empty(summary) else f"not readable: {error}"


def is_empty(summary: SessionSummary) -> bool:
    """Whether the session is readable but has no model context."""
    return summary.error.startswith("no model context")


def _unreadable(summary: SessionSummary, width: int, now: float) -> list[Span]:
    widths = {column.name: column_width for column, column_width in TABLE.visible_columns(width)}
    spans = [TITLE.align_span(Span(safe_text.one_line(summary.title), "dim"), widths[TITLE.name]), Span(" ")]
    if SOURCE.name in widths:
        room = widths[SOURCE.name]
        source = _source(HomeRow(summary), room) if summary.source else Span("?", "dim")
        spans += [SOURCE.align_span(source, room), Span(" ")]
    used_cells = TABLE.mark + sum(cells.width(span.text) for span in spans)
    spans.append(Span(cells.left(f"▲ {describe_error(summary)}", max(0, width - used_cells - 6)), "warn"))
    return [*spans, Span(f" {session_age(summary, now):>4}", "dim")]
