"""Copilot CLI with a provider of one's own."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab

_NOT_WRITTEN = "ctxtui does not write its files"


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("copilot"), "--allow-all-tools", "--no-auto-update", *args]


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
    lacks={CURATED: _NOT_WRITTEN, RESUMED: _NOT_WRITTEN},
)
