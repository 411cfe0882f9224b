"""Continue's CLI with a model in its file."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

_CONFIG = """\
name: Lab
version: 1.0.0
schema: v1
models:
  - name: main
    provider: anthropic
    model: claude-sonnet-4-5
    apiKey: any
    apiBase: {url}/v1/
    roles: [chat]
"""


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("cn"), "-p", "--auto", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    shutil.copy(curated, lab.recorded()[0].with_name(curated.name))
    return [_asked(lab, "--fork", curated.stem, prompt)]


CONTINUE_CLI = Client(
    name="continue-cli",
    env={"CONTINUE_TELEMETRY_ENABLED": "0"},
    files={"home/.continue/config.yaml": _CONFIG},
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, "--resume", prompt),
    recordings="home/.continue/sessions/*-*.json",
    curate_to="continue-cli",
    resume=_resume,
)
