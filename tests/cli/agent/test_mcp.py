"""`ctxtui mcp`: what tools take, before they are offered."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

TOOLS = [
    {"name": "read", "description": "Reads a file.", "inputSchema": {"type": "object", "properties": {}}},
    {
        "type": "function",
        "function": {"name": "write", "description": "Writes. " * 50, "parameters": {"type": "object"}},
    },
]


def test_tools_of_a_file_are_counted_and_held_against_a_limit(ctxtui: Run) -> None:
    Path("tools.json").write_text(json.dumps({"tools": TOOLS}))
    for model in ("claude-sonnet-5-5", "gpt-6.1-terra"):
        ran = ctxtui("mcp", "size", "tools.json", "--json", "--model", model)
        assert ran.code == 0 and [tool["name"] for tool in ran.json["tools"]] == ["write", "read"]
        assert ran.json["tokens"] == sum(tool["tokens"] for tool in ran.json["tools"]) > 100
    assert ctxtui("mcp", "size", "tools.json", "--max", "10").code == 8
    assert ctxtui("mcp", "size", "tools.json", "--max", "10000").code == 0
    Path("odd.json").write_text('{"tools": [{"title": "x"}]}')
    assert "odd.json: tool 1" in ctxtui("mcp", "size", "odd.json").err
    assert ctxtui("mcp", "size", "nobody").code == 5


def test_what_a_project_names_is_shown_and_not_started(ctxtui: Run) -> None:
    Path(".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "touch", "args": ["ran"]}}}')
    ran = ctxtui("mcp", "list", "--json")
    assert ran.json["servers"][0]["starts"] == "touch ran" and not ran.json["servers"][0]["allowed"]
    assert "was not allowed yet: touch ran" in ctxtui("mcp", "size", "theirs").err and not Path("ran").exists()
    assert ctxtui("mcp", "allow", "theirs").code == 0
    assert ctxtui("mcp", "list", "--json").json["servers"][0]["allowed"]
