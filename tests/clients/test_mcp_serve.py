"""A real Claude Code with `ctxtui mcp serve` as an MCP server asks for its own context, and proposes an edit of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client
from tests.clients.lab import KEPT, Lab, lab
from tests.clients.wire import Exchange

TOOLS = ("composition", "blocks", "stage")


def asked(place: Lab, *words: str) -> None:
    """One print-mode run of the client, with the server."""
    config = place.folder / "mcp.json"
    own = {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui"), "HOME": str(place.home)}
    serve = ["-P", "-m", "ctxtui", "mcp", "serve", "--allow", "stage"]
    told = {"command": sys.executable, "args": serve, "env": own}
    config.write_text(json.dumps({"mcpServers": {"ctxtui": told}}))
    allowed = ["Read", "Bash", "ToolSearch", *(f"mcp__ctxtui__{tool}" for tool in TOOLS)]
    program = place.client.program("claude")
    more = ["--mcp-config", str(config), "--model", "claude-opus-5-5", "--allowedTools", *allowed]
    place.run([program, "-p", *words, *more])


def called(place: Lab, tool: str, given: dict[str, object]) -> str:
    """What a tool of the server brings: the client keeps tools of servers back until they are searched for."""
    name = f"mcp__ctxtui__{tool}"
    asked(place, f"call ToolSearch `{json.dumps({'query': f'select:{name}', 'max_results': 5})}`", "--continue")
    asked(place, f"call {name} `{json.dumps(given)}`", "--continue")
    return answer_of(place.seen(), tool)


def answer_of(exchanges: list[Exchange], tool: str) -> str:
    """What the tool brought, as the client sent it on."""
    for one in reversed(exchanges):
        for message in one.messages:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part.get("type") == "tool_result" and named(one, part["tool_use_id"]) == f"mcp__ctxtui__{tool}":
                    content = part["content"]
                    return content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
    raise AssertionError(f"{tool} brought nothing")


def named(one: Exchange, call: str) -> str:
    parts = (part for m in one.messages if isinstance(m["content"], list) for part in m["content"])
    return next((part["name"] for part in parts if part.get("type") == "tool_use" and part["id"] == call), "")


@pytest.mark.parametrize("client", [CLAUDE_CODE], ids=lambda one: one.name, indirect=True, scope="module")
def test_an_agent_asks_for_its_own_context_and_proposes_an_edit(client: Client, tmp_path: Path) -> None:
    with lab(client, tmp_path / "lab") as place:
        place.open_gates()
        asked(place, client.second)  # it reads b.txt
        told = called(place, "composition", {"session": "last"})
        assert "claude code" in told and "tokens" in told and "tool result" in told, told
        told = called(place, "blocks", {"session": "last"})
        name = next(line.split()[0] for line in told.splitlines() if "tool_result" in line and "composition" in line)
        told = called(place, "stage", {"session": "last", "drop": [name]})
        assert (
            "1 edit staged: in the inspector" in told and "former name" not in told and f"{name}  by agent" in told
        ), told
        assert all(one.accepted for one in place.seen())
        recording = place.recorded()[-1]
        staged = place.ctxtui("edits", "stage", str(recording), "--json")["edits"]
        assert [(one["kind"], one["state"], one["author"]) for one in staged] == [("drop", "staged", "agent")]
        assert KEPT in json.dumps(place.seen()[-1].request), "nothing changes before the user applies it"
