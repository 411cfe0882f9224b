"""What `ctxtui cost` prints: rows and their sum, as text or JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from ctxtui.analysis.money.spending import Row
from ctxtui.cli.paint import Painter
from ctxtui.core.errors import CtxtuiError
from ctxtui.views.lists.bill import LABEL
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_NAME = 44


class Spent(NamedTuple):
    """What was asked for: `rows` that add up to `total`; USD `recorded` and `listed` over the calls that have both; the
    `versions` of the price tables; recordings that could not be read."""

    rows: list[Row]
    total: Row
    recorded: float | None = None
    listed: float | None = None
    versions: tuple[str, ...] = ()
    failed: tuple[tuple[str, CtxtuiError], ...] = ()


def as_fields(found: Spent, by: str) -> dict[str, Any]:
    """The fields of ``cost --json``; the rows' USD add up to ``total_usd``."""
    total = found.total
    return {
        "total_usd": total.usd,
        "prices": LABEL,
        "calls": total.calls,
        "tokens": total.tokens,
        "unpriced_calls": total.unpriced,
        "recorded_usd": found.recorded,
        "list_usd_where_recorded": found.listed,
        "price_versions": list(found.versions),
        "by": by or None,
        "rows": [{"name": row.name, "usd": row.usd, **_counts(row)} for row in found.rows],
        "failed": [{"file": name, "error": str(error)} for name, error in found.failed],
    }


def _counts(row: Row) -> dict[str, int]:
    return {"tokens": row.tokens, "calls": row.calls, "unpriced_calls": row.unpriced}


def print_text(painter: Painter, found: Spent) -> None:
    """Print the rows and their sum."""
    for row in found.rows:
        painter.line(_line(row, bold=False))
    painter.line(_line(found.total, bold=True))
    if found.recorded is not None:
        same = (
            f"{numbers.money(found.recorded)} by the records' own figures, {numbers.money(found.listed)} by list price"
        )
        painter.line([Span(f"  of calls with both: {same}", "dim")])


def _line(row: Row, *, bold: bool) -> list[Span]:
    more = "≥ " if row.unpriced and row.usd is not None else ""
    unknown = f"  {row.unpriced:,} call{'s' if row.unpriced != 1 else ''} without a price" if row.unpriced else ""
    note = f"  {LABEL}" if bold else ""
    return [
        Span(f"{more + numbers.money(row.usd):>12}  ", "ink bold" if bold else "ink"),
        Span(cells.left(safe_text.one_line(row.name), _NAME), "ink bold" if bold else "ink"),
        Span(f"{f'{row.calls:,} calls' if row.calls else '':>14}", "dim"),
        Span(f"{numbers.tokens(row.tokens) if row.tokens else '':>9}", "dim"),
        Span(note + unknown, "dim"),
    ]
