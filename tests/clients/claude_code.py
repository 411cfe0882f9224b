"""Claude Code."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("claude"), "-p", *args, "--model", "claude-opus-5-5", "--allowedTools", "Read", "Bash"]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    """Instead of the session whose name it has."""
    before = lab.recorded()[0]
    shutil.copy(curated, before.with_name(curated.name))
    return [_asked(lab, prompt, "--resume", curated.stem)]


def _spent(recording: Path) -> float:
    """By the client's own record, which each process writes at its end."""
    records = [json.loads(line) for line in recording.read_text().splitlines()]
    return float([one["totalCostUSD"] for one in records if one["type"] == "cost-state"][-1])


def _meter(lab: Lab, curated: Path) -> int:
    """What `/context` says."""
    lab.run(_asked(lab, "/context", "--resume", curated.stem))
    (size, unit), *_ = re.findall(r"\*\*Tokens:\*\* ([\d.]+)(k?) /", lab.printed.read_text())
    return round(float(size) * (1000 if unit else 1))


CLAUDE_CODE = Client(
    name="claude-code",
    env={
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "any",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    },
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, prompt, "--continue"),
    recordings="home/.claude/projects/*/*.jsonl",
    curate_to="claude-code",
    resume=_resume,
    exact=True,
    spent=_spent,
    meter=_meter,
)
