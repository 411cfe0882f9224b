"""The dashboard as text: one line for each figure, with its limit, its peer and the margin between them."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import NO_LIMIT, Result

HEADS = ("goal", "what", "beside", "figure", "limit", "margin", "")
WIDTHS = (9, 66, 34, 13, 9, 8, 0)


def head() -> str:
    """The line over the table."""
    return "     " + " ".join(text.ljust(width) for text, width in zip(HEADS, WIDTHS, strict=True))


def line(result: Result) -> str:
    """One figure."""
    mark = "----" if result.value is None else "ok  " if result.met else "MISS"
    cells = (result.goal, result.name, result.peer, *numbers(result), result.note)
    return f"{mark} " + " ".join(text.ljust(width) for text, width in zip(cells, WIDTHS, strict=True)).rstrip()


def numbers(result: Result) -> tuple[str, str, str]:
    """Figure, limit and margin as words."""
    if result.value is None:
        return "not run", _limit(result), ""
    margin = result.margin
    return _figure(result.value, result.unit), _limit(result), "" if margin is None else f"{100 * margin:+.0f} %"


def _figure(value: float, unit: str) -> str:
    shown = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{shown}x" if unit == "x" else f"{shown} {unit}"


def _limit(result: Result) -> str:
    return "" if result.limit == NO_LIMIT else f"<= {result.limit:.3g}"


def markdown(results: Sequence[Result]) -> list[str]:
    """The table for a document."""
    lines = ["| goal | what | beside | figure | limit | margin |", "| --- | --- | --- | --- | --- | --- |"]
    return lines + ["| " + " | ".join((row.goal, row.name, row.peer, *numbers(row))) + " |" for row in results]
