"""Claude Code."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("claude"), "-p", *args, "--model", "claude-opus-5-5", "--allowedTools", "Read", "Bash"]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    """Instead of the session whose name it has."""
    (before,) = lab.recorded()
    shutil.copy(curated, before.with_name(curated.name))
    return [_asked(lab, prompt, "--resume", curated.stem)]


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
)
