"""Continue's CLI with a model in its file."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
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
_NOT_WRITTEN = "ctxtui does not write its files"


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("cn"), "-p", "--auto", *args]


CONTINUE_CLI = Client(
    name="continue-cli",
    env={"CONTINUE_TELEMETRY_ENABLED": "0"},
    files={"home/.continue/config.yaml": _CONFIG},
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, "--resume", prompt),
    recordings="home/.continue/sessions/*-*.json",
    lacks={CURATED: _NOT_WRITTEN, RESUMED: _NOT_WRITTEN},
)
