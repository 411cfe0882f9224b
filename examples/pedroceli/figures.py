"""Our figures beside the claims of the authors (``claims.md``): of the budget of a window, and of the jobs in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.kit import Ours, asked

FIXED = {"system": 2_048, "tools": 1_024, "task": 512}
"""Tokens in front of the files, by the authors' budget."""
EXAMPLES = {
    32_768: ("qwen2.5-coder:32b", {"task_files": 15_000, "dependencies": 5_000, "summaries": 2_000, "history": 3_000}),
    16_384: ("deepseek-coder:33b", {"task_files": 15_000, "dependencies": 2_000, "history": 2_000}),
}
"""The authors' worked examples: a window's model, and what they put into it (tokens)."""
MODELS = ("qwen2.5-coder:7b", "qwen2.5-coder:72b", "llama3.1:70b", "codellama:34b")
"""Models of the authors' table, but for those that the jobs run in."""


@dataclass(frozen=True)
class Job:
    """A job in a `window`: what ``ctxtui budget`` said before, the metadata of ``ctxtui run``, each turn's log in the
    job folder, the names in it, and what the last prompt says of the older rounds (`facts`)."""

    window: int
    budget: Mapping[str, Any]
    metadata: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]]
    files: Sequence[str]
    facts: str


def job_figures(job: Job, folder: Path) -> dict[str, Ours]:
    """What came of a job."""
    budget, strategy = job.budget, job.budget["strategy"]
    ours: dict[str, Ours] = {
        "usable, 75 %": f"{budget['usable']:,}",
        **{part: f"{budget[part]:,}" for part in FIXED},
        "available": f"{budget['available']:,}",
        "reserved for the answer": f"{budget['reserved']:,}",
        "repository": f"{budget['repository']['files']} files, {budget['repository']['loadable_tokens']:,}",
        "strategy": (strategy["name"], strategy["reason"]),
        "how it ended": f"{job.metadata['outcome']}, {job.metadata['rounds_used']} rounds",
        "job folder": f"{len(job.files)} files",
    }
    for group in strategy["groups"]:
        ours[f"{group['why']}, {group['form']}"] = f"{group['files']} files, {group['tokens']:,}"
    if job.window in EXAMPLES:
        ours["their worked example"] = worked_example(job.window, folder)
    usages = [turn["usage"] for turn in job.turns if turn["usage"]]
    if usages:
        prompts = [usage["input_tokens"] for usage in usages]
        largest = max(usage["input_tokens"] + usage["output_tokens"] for usage in usages)
        edits = sum(policy["edits"] for policy in job.metadata["policies"])
        ours["first prompt"] = f"{prompts[0]:,}"
        ours["history at the last"] = f"{prompts[-1] - prompts[0]:,}"
        ours["largest call, of the window"] = f"{100 * largest / job.window:.0f} %"
        ours["compaction"] = f"{edits} edits in {sum(bool(turn['trims']) for turn in job.turns)} rounds"
    if job.facts:
        ours["older rounds"] = job.facts
    return {f"{job.window // 1024}k: {claim}": figure for claim, figure in ours.items()}


def worked_example(window: int, folder: Path) -> tuple[str, str]:
    """Whether the authors' example fits its window, by ``ctxtui budget`` in an empty folder."""
    model, parts = EXAMPLES[window]
    takes = [word for name, tokens in {**FIXED, **parts}.items() for word in ("--take", f"{name}={tokens}")]
    empty = folder / f"empty-{window}"
    empty.mkdir()
    told = asked("budget", "--model", model, *takes, cwd=empty)
    wanted, room = sum(told["wants"].values()), told["available"]
    return "fits" if wanted <= room else f"{wanted - room:,} too many", f"of {room:,} available"


def tight_figures(metadata: Mapping[str, Any], said: Sequence[str]) -> dict[str, Ours]:
    """What a run that filled its window of 8k was told (`said`: the lines on standard error)."""
    warning = re.compile("warning: the context is at .* of the window")
    levels = f"in JSON: warning {metadata['context']['warning']}, critical {metadata['context']['critical']}"
    return {
        "8k: each call logs": [line for line in said if line.startswith("Tokens: ")][-1],
        "8k: warning above 90 % of the window": next((line for line in said if warning.match(line)), "none"),
        "8k: before the call": (
            next((line for line in said if line.startswith("critical: ")), "none"),
            f"of the usable 75 %, with a way out; {levels}",
        ),
    }


def windows(folder: Path) -> dict[str, Ours]:
    """The windows that ctxtui knows of the models that the authors name."""
    empty = folder / "empty"
    empty.mkdir()
    ours: dict[str, Ours] = {}
    for model in MODELS:
        told = asked("budget", "--model", model, cwd=empty)
        ours[f"window of {model}"] = f"{told['window']:,}, usable {told['usable']:,}"
    return ours
