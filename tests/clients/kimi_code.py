"""Kimi Code with a provider in its file."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
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
_NOT_WRITTEN = "ctxtui does not write its files"


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("kimi"), *args]


KIMI_CODE = Client(
    name="kimi-code",
    env={"KIMI_CODE_NO_AUTO_UPDATE": "1"},
    files={"home/.kimi-code/config.toml": _CONFIG},
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", "-p", prompt),
    recordings="home/.kimi-code/sessions/*/*/agents/main/wire.jsonl",
    lacks={CURATED: _NOT_WRITTEN, RESUMED: _NOT_WRITTEN},
)
