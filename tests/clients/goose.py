"""Goose with Anthropic's API."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.client import Client, Command, words
from tests.clients.lab import Lab

_NOTE = "<info-msg>"
"""Begins what it tells anew with each request: time, folder, size of the context, tasks."""


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("goose"), "run", "--with-builtin", "developer", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    name = json.loads(curated.read_text())["name"]
    return [
        [lab.client.program("goose"), "session", "import", str(curated)],
        _asked(lab, "-n", name, "--resume", "-t", prompt),
    ]


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
    # It orders a session of its own by the seconds of its messages, and drops a call whose result seems to be older
    # (1.34): only what ctxtui wrote is resumed with calls.
    first="say hello",
    second="run `cat a.txt` then run `cat b.txt` then run `sh gate.sh 2`",
    sums=True,
    recordings="home/.local/share/goose/sessions/sessions.db",
    unrecorded=(_NOTE,),
    spoken=lambda text: "" if text.startswith(_NOTE) else words(text),
    curate_to="goose",
    resume=_resume,
)
