"""Where it gets tight: a run in a window of 8k that is warned of, and the windows of the authors' other models."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.kit import COMMAND, Failed, Figure, asked, offline, tell
from examples.pedroceli import repository

WINDOW = 8_192
NAME = "8k"
READ = "pkg/db/reminder_queries.go"
TASK = "Plan rate limiting in pkg/db/reminder.go"
MODELS = {
    "qwen2.5-coder:7b": 32_768,
    "qwen2.5-coder:72b": 131_072,
    "llama3.1:70b": 131_072,
    "codellama:34b": 16_384,
}
"""Models of the authors' table and their windows, but for those that the jobs run in."""


@dataclass(frozen=True)
class Tight:
    """A run that filled its window: its metadata, and the lines that it told."""

    metadata: dict[str, Any]
    said: tuple[str, ...]


def tight(folder: Path) -> Tight:
    """Run in a window that the files, one result and a long answer fill. Raises `Failed`."""
    root = folder / f"bot-{NAME}"
    repository.write(root, 1)
    sizes = f'[models."offline"]\ncontext_size = {WINDOW}\nusable_context = {WINDOW * 3 // 4}\n'
    (root / "ctxtui.toml").write_text(f'tools = "read_file"\n\n{sizes}', encoding="utf-8")
    plan = " ".join(f"Step {n}: look, change, test." for n in range(330))
    lines: list[dict[str, Any]] = [
        {"text": "I look.", "calls": [{"name": "read_file", "input": {"path": READ}}]},
        {"text": plan},
    ]
    options = ["--files", "auto", "--allow", "*", "--max-tool-result-length", "0", "--max-context-messages", "0"]
    tell(f"a job in {WINDOW:,} tokens, which are not enough")
    with offline(root, lines, "--as", "lm-studio", "--window", str(WINDOW)) as at:
        told = [*COMMAND, "run", TASK, *options, "--base-url", at["openai_url"], "--json"]
        done = subprocess.run(told, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"ctxtui run ended with {done.returncode}: {done.stderr}")
    return Tight(json.loads(done.stdout)["metadata"], tuple(done.stderr.splitlines()))


def rows(found: Tight) -> Iterator[Figure]:
    """What it was told, beside what the document prints."""
    context = found.metadata["context"]
    logged = [line for line in found.said if line.startswith("Tokens: ")]
    theirs, command = "Tokens: prompt=%d response=%d total=%d (%.1f%% of %d)", "ctxtui growth ID"
    yield Figure(f"{NAME}: each call logs", theirs, logged[-1], "", command, "N34, §4 tracking, 004", NAME)
    share = next((line for line in found.said if re.match("warning: the context is at .* of the window", line)), "none")
    yield Figure(
        f"{NAME}: warning above 90 % of the window",
        "High context usage! Consider compaction.",
        share,
        "answer included",
        command,
        "N34, §4 tracking, 004",
        NAME,
    )
    early = next((line for line in found.said if line.startswith("critical: ")), "none")
    yield Figure(
        f"{NAME}: before the call",
        "",
        early,
        f"of the usable 75 %, with a way out; in JSON: warning {context['warning']}, critical {context['critical']}",
        command,
        "§4 tracking",
        NAME,
    )


def windows(folder: Path) -> Iterator[Figure]:
    """The windows that ctxtui knows of the models that the authors name."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    for name, window in MODELS.items():
        told = asked("budget", "--model", name, cwd=empty)
        yield Figure(
            f"window of {name}",
            f"{window:,}, usable {window * 3 // 4:,}",
            f"{told['window']:,}, usable {told['usable']:,}",
            "",
            f"ctxtui budget HERE/empty --model {name}",
            "N31, §4 windows, 004",
        )
