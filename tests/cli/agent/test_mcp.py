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
    bytes_of_read = {"claude-sonnet-5-5": 94, "gpt-6.1-terra": 110, "gemini-2.5-pro": 102}
    for model, size in bytes_of_read.items():
        ran = ctxtui("mcp", "size", "tools.json", "--json", "--model", model)
        assert ran.code == 0 and [tool["name"] for tool in ran.json["tools"]] == ["write", "read"]
        assert ran.json["tokens"] == sum(tool["tokens"] for tool in ran.json["tools"]) > 100
        assert ran.json["tools"][1]["bytes"] == size, "as each provider spells it"
    assert ctxtui("mcp", "size", "tools.json", "--max", "10").code == 8
    assert ctxtui("mcp", "size", "tools.json", "--max", "10000").code == 0
    Path("odd.json").write_text('{"tools": [{"title": "x"}]}')
    assert "odd.json: tool 1" in ctxtui("mcp", "size", "odd.json").err
    Path("deep.json").write_text("[" * 100_000)
    assert ctxtui("mcp", "size", "deep.json").code == 4
    assert ctxtui("mcp", "size", "nobody").code == 5


def test_what_a_project_names_is_shown_and_not_started(ctxtui: Run) -> None:
    Path(".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "touch", "args": ["ran"]}}}')
    ran = ctxtui("mcp", "list", "--json")
    assert ran.json["servers"][0]["starts"] == "touch ran" and not ran.json["servers"][0]["allowed"]
    assert "is not allowed yet: touch ran" in ctxtui("mcp", "size", "theirs").err and not Path("ran").exists()
    assert ctxtui("mcp", "allow", "theirs").code == 0
    assert ctxtui("mcp", "list", "--json").json["servers"][0]["allowed"]
    Path(".mcp.json").write_text("[" * 100_000)
    assert ctxtui("mcp", "list").code == 2


def offered(name: str) -> dict[str, object]:
    return {"name": name, "description": "Does something. " * 20, "input_schema": {"type": "object", "properties": {}}}


def test_the_ledger_of_all_sessions_tells_what_is_known_and_what_is_not(ctxtui: Run) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "mcp__shop__price_of", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "42 cents " * 20}
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    Path("in").mkdir()
    tools = [offered("mcp__shop__price_of"), offered("mcp__shop__buy"), offered("Read")]
    body = {"model": "claude-opus-4-5-20251101", "max_tokens": 9, "tools": tools, "messages": said}
    Path("in/body.json").write_text(json.dumps(body))
    Path("in/plain.json").write_text(json.dumps({**body, "tools": [], "messages": [*said, said[0]]}))
    ran = ctxtui("mcp", "--in", "in", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["sessions"], ran.json["sessions_without_definitions"]) == (2, 1)
    (shop,) = ran.json["servers"]
    assert (shop["name"], shop["mcp"], shop["carried_calls"], shop["called"]) == ("shop", True, 1, 2)
    price, buy = sorted(shop["tools"], key=lambda one: one["name"], reverse=True)
    assert (price["name"], price["state"], price["called"], price["sessions_without_definition"]) == (
        "price_of", "loaded", 2, 1,
    )  # fmt: skip
    assert price["schema_tokens"] > 50 and price["result_tokens"] > 50 and price["verdict"] == "keep"
    assert (buy["called"], buy["last_used"], buy["reason"]) == (0, None, "1 call that carried it: too few to tell")
    assert "Read" in ctxtui("mcp", "--in", "in", "--all").out
    told = ctxtui("mcp", "--in", "in", "--by", "server")
    assert "mcp shop  2 tools" in told.out and "price_of" not in told.out
    assert ctxtui("mcp", "--in", "nowhere").code == 5
    none = ctxtui("mcp", "--json")
    assert none.code == 0 and none.json["servers"] == []
