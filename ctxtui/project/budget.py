"""A model's window laid out before a run: what system prompt, tools and task take, what is kept for the answer, what is
left for files; and what there is to warn of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.project.selection import BY_TASK, NAMED, REASONS, RELATED, SHORTENED, SIGNATURES, Selection

PARTS: Final = ("system", "tools", "task")
"""What stands in front of the files."""
CHARACTERS: Final = 4.0
"""Bytes of text that a token is taken for where there is no text to measure it by."""
_HEAVY: Final = 0.25


class Warn(NamedTuple):
    """Something to know before the run: a short `code` for programs, and the words."""

    code: str
    words: str


class ContextBudget(Struct, frozen=True, kw_only=True):
    """A window of `window` tokens of which `usable` are to be filled. `system`, `tools` and `task` are tokens; `wants`
    what else is to go in, by name; `answer` what an answer may take; `origin` who said how large the window is."""

    model: str
    window: int
    usable: int
    origin: str
    system: int
    tools: int
    task: int
    answer: int
    wants: tuple[tuple[str, int], ...] = ()

    @property
    def reserved(self) -> int:
        """Tokens kept for the answer."""
        return self.window - self.usable

    @property
    def available(self) -> int:
        """Tokens left for files and history; never below 0."""
        return max(0, self.usable - self.system - self.tools - self.task)

    @property
    def over(self) -> int:
        """Tokens by which what stands in front of the files is more than the usable part."""
        return max(0, self.system + self.tools + self.task - self.usable)

    @property
    def wanted(self) -> int:
        """What `wants` come to."""
        return sum(tokens for _, tokens in self.wants)

    def share(self, tokens: int) -> float:
        """`tokens` as a share of the window."""
        return tokens / self.window


def warnings(budget: ContextBudget, files: Selection | None) -> Iterator[Warn]:
    """What there is to know before a run with `budget`; `files` are those that would go in."""
    fixed = budget.system + budget.tools
    if fixed > budget.usable * _HEAVY:
        share = f"{fixed / budget.usable:.0%} of the usable window"
        yield Warn("heavy_start", f"system prompt and tools take {share}: fewer tools, or shorter descriptions")
    if budget.answer > budget.reserved:
        yield Warn(
            "answer",
            f"an answer may take {budget.answer:,} tokens, only {budget.reserved:,} are kept: lower answer_tokens",
        )
    if budget.wanted > budget.available:
        over = budget.wanted - budget.available
        names = ", ".join(f"{name} {tokens:,}" for name, tokens in budget.wants)
        yield Warn("does_not_fit", f"{names}: {budget.wanted:,} tokens are {over:,} more than are available")
    elif budget.wanted > 0.9 * budget.available:
        yield Warn(
            "tight", f"{budget.wanted:,} of {budget.available:,} available tokens are taken: several runs may be needed"
        )
    if files is not None:
        yield from _of_files(files)


def _of_files(files: Selection) -> Iterator[Warn]:
    if files.strategy == BY_TASK:
        yield Warn("large_repository", f"the project is not loaded whole: {files.reason}")
    elif files.strategy == SHORTENED:
        short = sum(1 for one in files.chosen if one.form == SIGNATURES)
        yield Warn("details_missing", f"{short:,} large files go in as signatures: details are missing")
    cut = [one.path for one in files.chosen if one.form == SIGNATURES and one.why in (NAMED, RELATED)]
    named_cut = [one.path for one in files.of(NAMED) if one.form == SIGNATURES]
    if named_cut:
        yield Warn("named_as_signatures", f"the task names {_some(named_cut)}, which do not fit whole")
    elif len(cut) > len(files.of(RELATED)) / 2 > 0:
        yield Warn("tight", f"{len(cut):,} files that the task's files import fit as signatures only")
    if not files.chosen and files.total:
        yield Warn("nothing_fits", "no file fits: choose a larger window or a smaller task")


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def groups(files: Selection) -> Iterator[tuple[str, str, int, int]]:
    """(why, form, number of files, tokens) of what goes in, in the order of `REASONS`."""
    for why in REASONS:
        for form in dict.fromkeys(one.form for one in files.of(why)):
            own = [one for one in files.of(why) if one.form == form]
            yield why, form, len(own), sum(one.tokens for one in own)
