"""Kimi Code with a provider in its file."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

_CONFIG = """\
default_model = "own"
[providers.own]
type = "anthropic"
base_url = "{url}"
api_key = "any"
[models.own]
provider = "own"
model = "claude-sonnet-4-5"
max_context_size = 200000
"""


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("kimi"), *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    """With the session's whole folder beside the recorded one."""
    session = curated.parents[2]
    shutil.copytree(session, lab.recorded()[0].parents[3] / session.name)
    return [_asked(lab, "--session", session.name, "-p", prompt)]


KIMI_CODE = Client(
    name="kimi-code",
    env={"KIMI_CODE_NO_AUTO_UPDATE": "1"},
    files={"home/.kimi-code/config.toml": _CONFIG},
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", "-p", prompt),
    recordings="home/.kimi-code/sessions/*/*/agents/main/wire.jsonl",
    curate_to="kimi-code",
    resume=_resume,
)
