"""The context budget before a run, and the project's files, as lines (`ctxtui budget`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxtui.project.budget import PARTS, BudgetWarning, ContextBudget, group_files
from ctxtui.project.selection import Selection
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_NAME_CELLS, _FIGURE_CELLS, _ASIDE_CELLS = 20, 11, 9


def budget_lines(budget: ContextBudget, kilobytes: float) -> Iterator[list[Span]]:
    """The window, part by part; `kilobytes` of text fit in its available tokens."""
    yield _row("window", budget.window, "", safe_text.one_line(f"{budget.model}, {budget.origin}", 120))
    yield _row("usable", budget.usable, _share(budget, budget.usable))
    for part in PARTS:
        tokens = getattr(budget, part)
        yield _row(f"  {part}", tokens, _share(budget, tokens))
    fits = f"about {kilobytes:,.0f} KB of text"
    yield _row("  available", budget.available, _share(budget, budget.available), fits, "bold")
    for name, tokens in budget.requests:
        yield _row(f"    {safe_text.one_line(name, 15)}", tokens, _share(budget, tokens))
    yield _row("reserved", budget.reserved, _share(budget, budget.reserved), "kept for the answer")


def project_lines(
    budget: ContextBudget, files: Selection, kinds: Sequence[tuple[str, int, int]], tokens_in_all: int, half: float
) -> Iterator[list[Span]]:
    """The project's files by kind and in all, their room, the strategy and the selection.

    `kinds` are (kind, number of files, tokens); `half`: half the width of the 90 % interval of `tokens_in_all`, in
    tokens.
    """
    for kind, number, tokens in kinds:
        yield _row(kind, tokens, "", numbers.many(number, "file"))
    interval = numbers.interval(tokens_in_all, tokens_in_all - half, tokens_in_all + half)
    yield _row("in all", tokens_in_all, interval, "tokens of text", "bold")
    yield []
    memory = dict(budget.requests).get("memory", 0)
    free = max(1, budget.available - memory)
    after = " tokens that memory leaves" if memory else " available"
    share = numbers.share(files.budget / free, 0)
    yield _row("room", files.budget, "", f"for files: {share} of the {free:,}{after} (setting files_share)")
    yield [Span("strategy  ", "dim"), Span(files.strategy, "bold"), Span(f": {files.reason}")]
    for reason, form, number, tokens in group_files(files):
        yield _row(f"  {reason}", tokens, "", f"{number:,} {form}")
    left = f", {len(files.left_out):,} left out" if files.left_out else ""
    selected = f"of {files.budget:,}: {len(files.chosen):,} of {len(files.chosen) + len(files.left_out):,} files{left}"
    yield _row("  included", files.tokens, "", selected)


def warning_lines(warnings: Sequence[BudgetWarning]) -> Iterator[list[Span]]:
    for warning in warnings:
        yield [Span("▲ ", "warn"), Span(safe_text.one_line(warning.text, 300))]


def _share(budget: ContextBudget, tokens: int) -> str:
    return numbers.share(budget.share(tokens))


def _row(name: str, tokens: int, aside: str, words: str = "", style: str = "") -> list[Span]:
    return [
        Span(cells.left(name, _NAME_CELLS), "dim"),
        Span(cells.right(numbers.exact(tokens), _FIGURE_CELLS), style),
        Span(cells.right(aside, _ASIDE_CELLS), "dim"),
        Span(f"  {words}" if words else ""),
    ]
