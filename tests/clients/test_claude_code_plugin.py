"""The plugin of examples/claude-code in a real Claude Code: its hooks, its command and its server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client
from tests.clients.lab import Lab, lab

PLUGIN = ROOT / "examples" / "claude-code"


def asked(place: Lab, *words: str) -> str:
    """One print-mode run of the client with the plugin, and `ctxtui` on its PATH: what it printed."""
    program = place.folder / "bin" / "ctxtui"
    if not program.exists():
        program.parent.mkdir()
        where = f"PYTHONPATH={ROOT} CTXTUI_HOME={place.home / 'ctxtui'}"
        program.write_text(f'#!/bin/sh\n{where} exec {sys.executable} -P -m ctxtui "$@"\n')
        program.chmod(0o755)
    place.printed.unlink(missing_ok=True)
    path = f"PATH={program.parent}:{place.env['PATH']}"
    client = [place.client.program("claude"), "-p", *words, "--plugin-dir", str(PLUGIN)]
    more = ["--model", "claude-opus-5-5", "--allowedTools", "Read", "Bash"]
    place.run(["env", path, *client, *more, "--output-format", "stream-json", "--include-hook-events", "--verbose"])
    return place.printed.read_text()


def make_older(transcript: Path, minutes: int) -> None:
    """Move every time of a transcript back."""

    def earlier(match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match[1]) - timedelta(minutes=minutes)
        return f'"timestamp":"{moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}"'

    text = transcript.read_text(encoding="utf-8")
    transcript.write_text(re.sub(r'"timestamp":"([^"]+)"', earlier, text), encoding="utf-8")


def user_texts(request: dict[str, Any]) -> Iterator[str]:
    for message in request["messages"]:
        if message["role"] == "user":
            for part in message["content"] if isinstance(message["content"], list) else ():
                yield part.get("text", "")


@pytest.mark.parametrize("client", [CLAUDE_CODE], ids=lambda one: one.name, indirect=True, scope="module")
def test_the_client_accepts_the_plugin_and_its_parts_act(client: Client, tmp_path: Path) -> None:
    with lab(client, tmp_path / "lab") as place:
        place.open_gates()
        for folder in (PLUGIN, ROOT):
            place.run([client.program("claude"), "plugin", "validate", "--strict", str(folder)])
        said = asked(place, client.second)
        assert "prompt cache expired" not in said, "the first message has nothing to read"
        servers = json.loads(next(line for line in said.splitlines() if '"mcp_servers"' in line))["mcp_servers"]
        assert any("ctxtui" in one["name"] for one in servers), servers

        assert "prompt cache expired" not in asked(place, "say hello", "--continue"), "the cache is warm"
        make_older(place.recorded()[-1], 20)
        said = asked(place, "say hello", "--continue")
        assert re.search(r"The prompt cache expired 1\d:\d\d ago: this message writes [\d.]+k tokens again", said), said

        asked(place, "/ctxtui:ctx what fills it?", "--continue")
        (sent,) = {
            text for one in place.seen() for text in user_texts(one.request) if "Question: what fills it?" in text
        }
        assert "next call" in sent and "misses" in sent and "tokens" in sent, sent
        assert all(one.accepted for one in place.seen())
