"""OpenCode."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab
from tests.clients.wire import Exchange

_MODEL = "claude-sonnet-4-5"


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("opencode"), "run", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    session = json.loads(curated.read_text())["info"]["id"]
    return [[lab.client.program("opencode"), "import", str(curated)], _asked(lab, "--session", session, prompt)]


def _is_title(one: Exchange) -> bool:
    """The title is asked of a small model, and is no message of the session."""
    return one.model != _MODEL


OPENCODE = Client(
    name="opencode",
    env={
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    files={
        "home/.config/opencode/opencode.json": json.dumps(
            {
                "share": "disabled",
                "autoupdate": False,
                "model": f"anthropic/{_MODEL}",
                "provider": {"anthropic": {"options": {"baseURL": "{url}/v1", "apiKey": "any"}}},
            }
        )
    },
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", prompt),
    recordings="home/.local/share/opencode/opencode.db",
    curate_to="opencode",
    resume=_resume,
    aside=_is_title,
)
