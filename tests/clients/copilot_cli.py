"""Copilot CLI with a provider of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("copilot"), "--allow-all-tools", "--no-auto-update", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    folder = curated.parent
    shutil.copytree(folder, lab.recorded()[0].parents[1] / folder.name)
    return [_asked(lab, f"--resume={folder.name}", "-p", prompt)]


COPILOT_CLI = Client(
    name="copilot-cli",
    env={
        "COPILOT_HOME": "{home}/.copilot",
        "COPILOT_MODEL": "claude-sonnet-4-5",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_BASE_URL": "{url}",
        "COPILOT_PROVIDER_API_KEY": "any",
    },
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", "-p", prompt),
    recordings="home/.copilot/session-state/*/events.jsonl",
    curate_to="copilot-cli",
    resume=_resume,
)
