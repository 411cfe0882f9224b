"""A run's context budget and project files as lines: shares, kinds, selection, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ctxtui.project.budget import PARTS, BudgetWarning, ContextBudget, group_files
from ctxtui.project.selection import Selection
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_NAME, _FIGURE = 20, 11


class ProjectFiles(Protocol):
    """The files of a project; see `services.project.report.CountedProject`.

    `half`: half of the 90 % interval of `tokens`. `kinds`: (kind, number of files, tokens) of each kind of file.
    """

    @property
    def tokens(self) -> int: ...
    @property
    def half(self) -> float: ...
    def kinds(self) -> list[tuple[str, int, int]]: ...


class RunFigures(Protocol):
    """Figures of a run; see `services.project.report.RunReport`.

    `kilobytes`: text that fits in the available tokens. `project` and `selection` are None without a project.
    """

    @property
    def budget(self) -> ContextBudget: ...
    @property
    def project(self) -> ProjectFiles | None: ...
    @property
    def selection(self) -> Selection | None: ...
    @property
    def warnings(self) -> Sequence[BudgetWarning]: ...
    @property
    def kilobytes(self) -> float: ...


def budget_lines(report: RunFigures) -> Iterator[list[Span]]:
    """The window, part by part."""
    budget = report.budget
    yield _row("window", budget.window, "", safe_text.one_line(f"{budget.model}, {budget.origin}", 120))
    yield _row("usable", budget.usable, _share(budget, budget.usable))
    for part in PARTS:
        tokens = getattr(budget, part)
        yield _row(f"  {part}", tokens, _share(budget, tokens))
    fits = f"about {report.kilobytes:,.0f} KB of text"
    yield _row("  available", budget.available, _share(budget, budget.available), fits, "bold")
    for name, tokens in budget.requests:
        yield _row(f"    {safe_text.one_line(name, 15)}", tokens, _share(budget, tokens))
    yield _row("reserved", budget.reserved, _share(budget, budget.reserved), "kept for the answer")


def project_lines(report: RunFigures) -> Iterator[list[Span]]:
    """The project's files by kind, the strategy, and the selection."""
    project, files = report.project, report.selection
    if project is None or files is None:
        return
    for kind, number, tokens in project.kinds():
        yield _row(kind, tokens, "", numbers.many(number, "file"))
    near = numbers.interval(project.tokens, project.tokens - project.half, project.tokens + project.half)
    yield _row("in all", project.tokens, near, "tokens of text", "bold")
    yield []
    memory = dict(report.budget.requests).get("memory", 0)
    free = max(1, report.budget.available - memory)
    after = " tokens left by memory" if memory else " available"
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


def plain_lines(report: RunFigures) -> Iterator[str]:
    yield f"context budget: {safe_text.one_line(report.budget.model, 120)}"
    for line in budget_lines(report):
        yield _plain(line)
    if report.project is not None:
        yield "repository:"
        for line in project_lines(report):
            if line:
                yield _plain(line)
    for warning in report.warnings:
        yield f"warning: {safe_text.one_line(warning.text, 300)}"


def _plain(line: Sequence[Span]) -> str:
    return "  " + "".join(span.text for span in line).rstrip()


def _share(budget: ContextBudget, tokens: int) -> str:
    return numbers.share(budget.share(tokens))


def _row(name: str, tokens: int, share: str, words: str = "", style: str = "") -> list[Span]:
    return [
        Span(cells.left(name, _NAME), "dim"),
        Span(cells.right(numbers.exact(tokens), _FIGURE), style),
        Span(cells.right(share, 9), "dim"),
        Span(f"  {words}" if words else ""),
    ]
