"""What commands show of the bridge's claims (message growth, October 2025)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.kit import COMMAND, Failed, Figure, asked

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOG = "examples/claims/lm-studio-server.log"
TOOLS = "examples/bridge/tools/github.json"
SAMPLE = "sessions/3-lm-studio-bridge.jsonl"
MODEL = "offline"


def rows(folder: Path) -> Iterator[Figure]:
    """The rows; `folder` is where to work."""
    yield from _log(folder)
    yield from _schemas(folder)
    cured = asked("curate", str(ROOT / SAMPLE), "--policy", "sliding_window", "--set", "n=3", cwd=folder)
    roles = [one["role"] for one in cured["request"]["messages"]]
    yield Figure(
        "a window of 3 messages",
        "first message and the last 2",
        ", ".join(roles),
        "widened where it would part a call from its result",
        f"ctxtui curate {SAMPLE} --policy sliding_window --set n=3 --dry-run",
        "N28, §3 (a), 002 test 3",
        SAMPLE,
    )
    tried = asked("lab", str(ROOT / SAMPLE), "--policy", "summarize_every k=10", "--cache", "recorded", cwd=folder)
    plain, summed = tried["sessions"][0]["variants"]
    count, tokens = summed["summaries"]["count"], summed["summaries"]["tokens"]
    yield Figure(
        "calls that summaries cost",
        "extra LLM calls (slower, more cost)",
        f"{count} summaries of {tokens:,} tokens in all, {summed['calls'] - plain['calls']} calls more",
        "drawn from the record, so that none is made; an agent that asks a model has its call in the session like any "
        "other (LLuMa's summary)",
        f"ctxtui lab {SAMPLE} --policy 'summarize_every k=10' --cache recorded",
        "N25, §3 (d), 002 strategy 4",
        SAMPLE,
    )
    offered = _served(folder)
    run = offered.get("run", {})
    yield Figure(
        "the loop as an MCP tool",
        "task, max_rounds, max_tokens, max_context_messages, max_tool_result_length",
        ", ".join(run.get("inputSchema", {}).get("properties", {})) or "no such tool",
        "servers and policies of a task as well",
        "ctxtui mcp serve --help",
        "N27, §3 (f)",
        SAMPLE,
    )


def _log(folder: Path) -> Iterator[Figure]:
    threads = [asked("show", str(ROOT / LOG), *more, cwd=folder) for more in ((), ("--thread", "conversation-2"))]
    told = [[one["reported_input"] for one in thread["growth"]] for thread in threads]
    yield Figure(
        "a server's log without bodies",
        "578 -> 938; 5,703 -> 6,937",
        "; ".join(" -> ".join(f"{tokens:,}" for tokens in one) for one in told),
        "",
        f"ctxtui show {LOG} --threads",
        "N22, 002 evidence",
        LOG,
    )


def _schemas(folder: Path) -> Iterator[Figure]:
    listed = json.loads((ROOT / TOOLS).read_text(encoding="utf-8"))["tools"]
    ours = asked("mcp", "size", str(ROOT / TOOLS), "--model", MODEL, cwd=folder)["tokens"]
    yield Figure(
        "26 tools of GitHub",
        "7,307 by bytes / 4; 5,703 with a message, by their server",
        f"{ours:,}",
        "bytes of indented JSON / 4; the server's template; minified, as a model reads them, by their own names",
        f"ctxtui mcp size {TOOLS} --model {MODEL}",
        "N23, §3 loop, 002",
        LOG,
    )
    small = folder / "github-theirs.json"
    small.write_text(json.dumps({"tools": list(map(_theirs, listed))}), encoding="utf-8")
    theirs = asked("mcp", "size", str(small), "--model", MODEL, cwd=folder)["tokens"]
    small = folder / "github-ours.json"
    small.write_text(json.dumps({"tools": [_ours(tool) for tool in listed]}), encoding="utf-8")
    kept = asked("mcp", "size", str(small), "--model", MODEL, cwd=folder)["tokens"]
    why = "theirs lets a model leave out what is required: minimise_schemas keeps what a call is checked against"
    for name, what, tokens in (("theirs", "nothing of a property but its type", theirs), ("ours", "as checked", kept)):
        yield Figure(
            f"schemas made smaller, {what}",
            "descriptions cut at 100, nothing of a property but its type",
            f"{tokens:,}",
            why,
            f"ctxtui mcp size HERE/github-{name}.json --model {MODEL}",
            "N24, §3 (c), 002 strategy 3",
            SAMPLE,
        )


def _theirs(tool: dict[str, Any]) -> dict[str, Any]:
    """Their ``minimize_tool_schema``."""
    given = tool["inputSchema"].get("properties", {})
    properties = {name: {"type": one.get("type", "string")} for name, one in given.items()}
    return {
        "name": tool["name"],
        "description": tool.get("description", "")[:100],
        "inputSchema": {"type": "object", "properties": properties},
    }


def _ours(tool: dict[str, Any]) -> dict[str, Any]:
    """As the policy does it: descriptions of properties go, all that a call is checked against stays."""

    def bare(value: Any) -> Any:
        if isinstance(value, list):
            return [bare(one) for one in value]
        if not isinstance(value, dict):
            return value
        words = "description"
        return {key: bare(one) for key, one in value.items() if not (key == words and isinstance(one, str))}

    return {**tool, "description": tool.get("description", "")[:100], "inputSchema": bare(tool["inputSchema"])}


def _served(folder: Path) -> dict[str, Any]:
    """The tools that ``ctxtui mcp serve --allow run`` lists, by name. Raises `Failed`."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claims", "version": "1"}}
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    told = [*COMMAND, "mcp", "serve", "--allow", "run"]
    with subprocess.Popen(told, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                process.stdin.close()
                return {tool["name"]: tool for tool in answer["result"]["tools"]}
    raise Failed("ctxtui mcp serve listed no tools")
