"""Goose with Anthropic's API."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab

_NOT_WRITTEN = "ctxtui does not write its database"


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("goose"), "run", "--with-builtin", "developer", *args]


GOOSE = Client(
    name="goose",
    env={
        "GOOSE_PROVIDER": "anthropic",
        "GOOSE_MODEL": "claude-sonnet-4-5",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "ANTHROPIC_HOST": "{url}",
        "ANTHROPIC_API_KEY": "any",
    },
    ask=lambda lab, prompt: _asked(lab, "-n", "one", "-t", prompt),
    again=lambda lab, prompt: _asked(lab, "-n", "one", "--resume", "-t", prompt),
    first="run `cat a.txt` then run `sh gate.sh 1`",
    second="run `cat b.txt` then run `sh gate.sh 2`",
    sums=True,
    recordings="home/.local/share/goose/sessions/sessions.db",
    unrecorded=("<info-msg>",),
    lacks={CURATED: _NOT_WRITTEN, RESUMED: _NOT_WRITTEN},
)
