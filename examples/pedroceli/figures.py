"""The figures of the authors (context window management) beside those of the jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from examples.kit import Figure

CLAIMED = {
    32_768: {"task files": 15_000, "dependencies": 5_000, "summaries": 2_000, "history": 3_000},
    16_384: {"task files": 15_000, "dependencies": 2_000, "history": 2_000},
}
"""What the authors' worked examples put into a window (tokens)."""
MODELS = {32_768: "qwen2.5-coder:32b", 16_384: "deepseek-coder:33b"}
"""The models of the authors' worked examples."""
BUDGET = "ctxtui budget HERE/bot-WINDOW --model offline"
SHOWN = "ctxtui growth ID"
FIXED = {"system": 2_048, "tools": 1_024, "task": 512}
"""What stands in front of it, by their budget."""


@dataclass(frozen=True)
class Job:
    """A job in a `window`: what `ctxtui budget --json` said before, and of the authors' example (`worked`), the
    metadata of `ctxtui run --json`, each ``logs/turn_NNNNNN.json``, and the names in the job folder."""

    window: int
    budget: Mapping[str, Any]
    worked: Mapping[str, Any] | None
    metadata: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]]
    folder: Sequence[str]
    facts: str = ""
    """What the last prompt says of the older rounds."""


def figures(jobs: Sequence[Job]) -> list[Figure]:
    """The table."""
    return [
        replace(row, session=row.session or name, command=row.command.replace("WINDOW", name))
        for job in jobs
        for name in (f"{job.window // 1024}k",)
        for row in _of(job)
    ]


def _taken(window: int, claimed: Mapping[str, int]) -> str:
    """The command that lays out the worked example."""
    parts = {**FIXED, **{name.replace(" ", "_"): tokens for name, tokens in claimed.items()}}
    takes = " ".join(f"--take {name}={tokens}" for name, tokens in parts.items())
    return f"ctxtui budget HERE/empty-{window} --model {MODELS[window]} {takes}"


def _of(job: Job) -> Iterator[Figure]:
    name, budget, window = f"{job.window // 1024}k", job.budget, job.window
    usable = window * 3 // 4
    yield Figure(f"{name}: usable, 75 %", f"{usable:,}", f"{budget['usable']:,}", "", BUDGET, "N31, §4 windows, 004")
    for part, theirs in FIXED.items():
        why = {"system": "ctxtui's own is short", "tools": "six tools, minified", "task": "this job's"}[part]
        yield Figure(f"{name}: {part}", f"{theirs:,}", f"{budget[part]:,}", why, BUDGET, "N30, §4 budget, 004")
    available = usable - sum(FIXED.values())
    yield Figure(
        f"{name}: available",
        f"{available:,}",
        f"{budget['available']:,}",
        "what those three leave",
        BUDGET,
        "N30, §4 budget, 004",
    )
    yield Figure(
        f"{name}: reserved for the answer", f"{window // 4:,}", f"{budget['reserved']:,}", "", BUDGET, "§4 budget, 004"
    )
    claimed = CLAIMED.get(window)
    if claimed and job.worked is not None:
        told, wanted = ("fits comfortably", "tight fit")[window < 32_768], sum(job.worked["wants"].values())
        room = job.worked["available"]
        fits = "fits" if wanted <= room else f"{wanted - room:,} too many"
        why = f"of {room:,} available"
        yield Figure(
            f"{name}: their worked example",
            f"{wanted:,}: {told}",
            fits,
            why,
            _taken(window, claimed),
            "N35, §4 example, 004",
        )
    repository, strategy = budget["repository"], budget["strategy"]
    yield Figure(
        f"{name}: repository",
        "50 files, 60,000",
        f"{repository['files']} files, {repository['loadable_tokens']:,}",
        "their 15,000 lines would be more: Go has about ten tokens a line",
        BUDGET,
        "§4 example, 004",
    )
    yield Figure(
        f"{name}: strategy", "task-based loading", strategy["name"], strategy["reason"], BUDGET, "N32, §4 files, 004"
    )
    for group in strategy["groups"]:
        what, size = f"{group['why']}, {group['form']}", f"{group['files']} files, {group['tokens']:,}"
        yield Figure(f"{name}: {what}", _claimed(claimed or {}, group), size, "", BUDGET, "§4 files, 004")
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
    yield Figure(f"{name}: first prompt", "", f"{prompts[0]:,}", "files, before any history", SHOWN, "§4 files, 004")
    theirs = "3,000" if name == "32k" else "2,000"
    grown = f"{prompts[-1] - prompts[0]:,}"
    yield Figure(f"{name}: history at the last", theirs, grown, "", SHOWN, "§4 history, 004")
    yield Figure(
        f"{name}: largest call, of the window",
        "warning above 90 %",
        f"{100 * max(totals) / job.window:.0f} %",
        "answer included; each call logs its tokens and this share",
        SHOWN,
        "N34, §4 tracking, 004",
    )
    trimmed = sum(bool(turn["trims"]) for turn in job.turns)
    edits = sum(one["edits"] for one in job.metadata["policies"])
    yield Figure(
        f"{name}: compaction",
        "last 3 rounds whole",
        f"{edits} edits in {trimmed} rounds",
        "",
        SHOWN,
        "N33, §4 history, 004",
    )
    if job.facts:
        theirs = "facts by range of steps: modified, tests, committed, error, fixed"
        yield Figure(
            f"{name}: older rounds",
            theirs,
            job.facts,
            "",
            f"ctxtui show HERE/job-{name}",
            "N33, 004 summary",
            f"HERE/job-{name}",
        )
    kinds = {one.partition("-")[2] for one in job.folder if one[:3].isdigit()}
    yield Figure(
        f"{name}: job folder",
        "4 kinds of file",
        f"{len(job.folder)} files",
        ", ".join(sorted(kinds)),
        f"ctxtui show HERE/job-{name}",
        "N19, §4 job folder, 004",
        f"HERE/job-{name}",
    )
    yield Figure(
        f"{name}: how it ended",
        "",
        f"{job.metadata['outcome']}, {job.metadata['rounds_used']} rounds",
        "",
        SHOWN,
        "§4, 004",
    )
