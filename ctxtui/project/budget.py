"""Division of a model's window before a run: system prompt, tools, task, answer, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.project.selection import BY_TASK, NAMED, REASONS, RELATED, SHORTENED, SIGNATURES, Selection

PARTS: Final = ("system", "tools", "task")
BYTES_PER_TOKEN: Final = 4.0
"""Bytes per token assumed for files of which no text was counted."""
_HEAVY_START_SHARE: Final = 0.25
"""Share of the usable window above which system prompt and tools get a warning."""


class BudgetWarning(NamedTuple):
    """A warning: a short `code` for programs, and the text for the user."""

    code: str
    text: str


class ContextBudget(Struct, frozen=True, kw_only=True):
    """The division of a window of `window` tokens before a run; `usable` of them may be filled.

    - `system`, `tools`, `task`: tokens of these parts; `answer`: the maximum answer.
    - `requests`: further requested parts by name, in tokens.
    - `origin`: the source of the window's size.
    """

    model: str
    window: int
    usable: int
    origin: str
    system: int
    tools: int
    task: int
    answer: int
    requests: tuple[tuple[str, int], ...] = ()

    @property
    def reserved(self) -> int:
        """Tokens kept for the answer."""
        return self.window - self.usable

    @property
    def available(self) -> int:
        """Tokens left for files and history; never below 0."""
        return max(0, self.usable - self.system - self.tools - self.task)

    @property
    def requested(self) -> int:
        return sum(tokens for _, tokens in self.requests)

    def share(self, tokens: int) -> float:
        return tokens / self.window


def warnings(budget: ContextBudget, files: Selection | None) -> Iterator[BudgetWarning]:
    """Yield the warnings before a run; `files` is None if there is no project to select from."""
    fixed = budget.system + budget.tools
    if fixed > budget.usable * _HEAVY_START_SHARE:
        share = f"{fixed / budget.usable:.0%} of the usable window"
        yield BudgetWarning(
            "heavy_start", f"system prompt and tools take {share}: fewer tools, or shorter descriptions"
        )
    if budget.answer > budget.reserved:
        yield BudgetWarning(
            "answer",
            f"an answer may take {budget.answer:,} tokens, only {budget.reserved:,} are kept: lower answer_tokens",
        )
    if budget.requested > budget.available:
        excess = budget.requested - budget.available
        names = ", ".join(f"{name} {tokens:,}" for name, tokens in budget.requests)
        yield BudgetWarning(
            "does_not_fit", f"{names}: {budget.requested:,} tokens are {excess:,} more than are available"
        )
    elif budget.requested > 0.9 * budget.available:
        yield BudgetWarning(
            "tight",
            f"{budget.requested:,} of {budget.available:,} available tokens are taken: several runs may be needed",
        )
    if files is not None:
        yield from _file_warnings(files)


def _file_warnings(files: Selection) -> Iterator[BudgetWarning]:
    if files.strategy == BY_TASK:
        yield BudgetWarning("large_repository", f"the project is not loaded whole: {files.reason}")
    elif files.strategy == SHORTENED:
        short = sum(1 for file in files.chosen if file.form == SIGNATURES)
        yield BudgetWarning("details_missing", f"{short:,} large files go in as signatures: details are missing")
    shortened = [file.path for file in files.chosen if file.form == SIGNATURES and file.why in (NAMED, RELATED)]
    named_cut = [file.path for file in files.with_reason(NAMED) if file.form == SIGNATURES]
    if named_cut:
        yield BudgetWarning("named_as_signatures", f"the task names {_join_some(named_cut)}, which do not fit whole")
    elif len(shortened) > len(files.with_reason(RELATED)) / 2 > 0:
        yield BudgetWarning("tight", f"{len(shortened):,} files related to the task's fit as signatures only")
    if not files.chosen and files.total:
        yield BudgetWarning("nothing_fits", "no file fits: choose a larger window or a smaller task")


def _join_some(paths: list[str]) -> str:
    more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def group_files(files: Selection) -> Iterator[tuple[str, str, int, int]]:
    """(why, form, number of files, tokens) of the selected files, in the order of `REASONS`."""
    for why in REASONS:
        for form in dict.fromkeys(file.form for file in files.with_reason(why)):
            matching = [file for file in files.with_reason(why) if file.form == form]
            yield why, form, len(matching), sum(file.tokens for file in matching)
