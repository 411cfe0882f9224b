"""Cline with a provider in its file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

_PROVIDERS = """\
{
  "version": 1,
  "lastUsedProvider": "anthropic",
  "modes": {},
  "providers": {
    "anthropic": {
      "settings": {
        "provider": "anthropic",
        "baseUrl": "{url}/v1",
        "apiKey": "any",
        "model": "claude-sonnet-4-5"
      },
      "updatedAt": "2026-11-30T09:00:00.000Z",
      "tokenSource": "manual"
    }
  }
}
"""


def _asked(lab: Lab, prompt: str) -> Command:
    return [lab.client.program("cline"), prompt]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    """It goes on with a session on a terminal only."""
    folder = curated.parent
    shutil.copytree(folder, lab.recorded()[0].parents[1] / folder.name, dirs_exist_ok=True)
    terminal = [sys.executable, str(Path(__file__).with_name("terminal.py")), "Ask anything", prompt]
    return [[*terminal, lab.client.program("cline"), "--id", folder.name]]


CLINE = Client(
    name="cline",
    env={"CLINE_NO_AUTO_UPDATE": "1"},
    files={"home/.cline/data/settings/providers.json": _PROVIDERS},
    ask=_asked,
    # It goes on with a session on a terminal only.
    again=None,
    first="read a.txt then run `sh gate.sh 1` then read b.txt then run `sh gate.sh 2`",
    recordings="home/.cline/data/sessions/*/[0-9]*.messages.json",
    curate_to="cline",
    resume=_resume,
)
