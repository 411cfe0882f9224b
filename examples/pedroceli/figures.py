"""The figures of the authors (context window management) beside those of the jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.kit import Figure

CLAIMED = {
    32_768: {"task files": 15_000, "dependencies": 5_000, "summaries": 2_000, "history": 3_000},
    16_384: {"task files": 15_000, "dependencies": 2_000, "history": 2_000},
}
"""What the authors' worked examples put into a window (tokens)."""
FIXED = {"system": 2_048, "tools": 1_024, "task": 512}
"""What stands in front of it, by their budget."""


@dataclass(frozen=True)
class Job:
    """A job in a `window`: what `ctxtui budget --json` said before, the metadata of `ctxtui run --json`, each
    ``logs/turn_NNNNNN.json``, and the names in the job folder."""

    window: int
    budget: Mapping[str, Any]
    metadata: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]]
    folder: Sequence[str]


def figures(jobs: Sequence[Job]) -> list[Figure]:
    """The table."""
    return [row for job in jobs for row in _of(job)]


def _of(job: Job) -> Iterator[Figure]:
    name, budget, window = f"{job.window // 1024}k", job.budget, job.window
    usable = window * 3 // 4
    yield Figure(f"{name}: usable, 75 %", f"{usable:,}", f"{budget['usable']:,}", "", "ctxtui budget")
    for part, theirs in FIXED.items():
        why = {"system": "ctxtui's own is short", "tools": "six tools, minified", "task": "this job's"}[part]
        yield Figure(f"{name}: {part}", f"{theirs:,}", f"{budget[part]:,}", why, "ctxtui budget --task")
    available = usable - sum(FIXED.values())
    yield Figure(f"{name}: available", f"{available:,}", f"{budget['available']:,}", "what those three leave")
    yield Figure(f"{name}: reserved for the answer", f"{window // 4:,}", f"{budget['reserved']:,}")
    claimed = CLAIMED.get(window)
    if claimed:
        told, wanted = ("fits comfortably", "tight fit")[window < 32_768], sum(claimed.values())
        fits = "fits" if wanted <= available else f"{wanted - available:,} too many"
        yield Figure(f"{name}: their worked example", f"{wanted:,}: {told}", fits, f"of {available:,} available")
    repository, strategy = budget["repository"], budget["strategy"]
    yield Figure(
        f"{name}: repository",
        "50 files, 60,000",
        f"{repository['files']} files, {repository['loadable_tokens']:,}",
        "their 15,000 lines would be more: Go has about ten tokens a line",
    )
    yield Figure(f"{name}: strategy", "task-based loading", strategy["name"], strategy["reason"])
    for group in strategy["groups"]:
        what, size = f"{group['why']}, {group['form']}", f"{group['files']} files, {group['tokens']:,}"
        yield Figure(f"{name}: {what}", _claimed(claimed or {}, group), size)
    yield from _rounds(name, job)


def _claimed(claimed: Mapping[str, int], group: Mapping[str, Any]) -> str:
    part = (
        "summaries"
        if group["form"] == "signatures"
        else {"named": "task files", "related": "dependencies"}.get(group["why"], "")
    )
    return f"{claimed[part]:,}" if part in claimed else ""


def _rounds(name: str, job: Job) -> Iterator[Figure]:
    prompts = [turn["usage"]["input_tokens"] for turn in job.turns if turn["usage"]]
    totals = [turn["usage"]["input_tokens"] + turn["usage"]["output_tokens"] for turn in job.turns if turn["usage"]]
    if not prompts:
        return
    yield Figure(f"{name}: first prompt", "", f"{prompts[0]:,}", "files, before any history")
    yield Figure(f"{name}: history at the last", "3,000" if name == "32k" else "2,000", f"{prompts[-1] - prompts[0]:,}")
    yield Figure(
        f"{name}: largest call, of the window",
        "warning above 90 %",
        f"{100 * max(totals) / job.window:.0f} %",
        "",
        "run",
    )
    trimmed = sum(bool(turn["trims"]) for turn in job.turns)
    edits = sum(one["edits"] for one in job.metadata["policies"])
    yield Figure(f"{name}: compaction", "last 3 rounds whole", f"{edits} edits in {trimmed} rounds")
    kinds = {one.partition("-")[2] for one in job.folder if one[:3].isdigit()}
    yield Figure(f"{name}: job folder", "4 kinds of file", f"{len(job.folder)} files", ", ".join(sorted(kinds)))
    yield Figure(f"{name}: how it ended", "", f"{job.metadata['outcome']}, {job.metadata['rounds_used']} rounds")
