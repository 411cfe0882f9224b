"""``python -m examples.claims``: claims of the documents that single commands show."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from examples.kit import COMMAND, Failed, Ours, asked, claims, printed, started, work_folder
from examples.pedroceli import repository

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOG = str(HERE / "lm-studio-server.log")
TOOLS = ROOT / "examples/bridge/tools/github.json"
SAMPLE = str(ROOT / "sessions/3-lm-studio-bridge.jsonl")
PROJECTS = {
    2: "a small repository, under 20k tokens",
    7: "a medium repository, 20k to 50k tokens",
    10: "a large repository, above 50k tokens",
}
"""Repositories of so many entities."""


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to work; by default a new temporary folder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    return started(lambda: show(given), "claims")


def show(given: argparse.Namespace) -> None:
    """Print what the commands say. Raises `Failed`."""
    folder = work_folder(given, "claims")
    rows = claims(HERE / "claims.md", bridge(folder) | schemas(folder) | pedroceli(folder))
    printed(rows, {row.session: str(ROOT / row.session) for row in rows}, folder, given.json)


def bridge(folder: Path) -> dict[str, Ours]:
    """Of the bridge's claims (document 002): its server's log, a narrow window, summaries, the loop as a tool."""
    threads = [asked("show", LOG, *options, cwd=folder) for options in ((), ("--thread", "conversation-2"))]
    prompts = [" -> ".join(f"{call['reported_input']:,}" for call in thread["growth"]) for thread in threads]
    cured = asked("curate", SAMPLE, "--policy", "sliding_window", "--set", "n=3", cwd=folder)
    lab = asked("lab", SAMPLE, "--policy", "summarize_every k=10", "--cache", "recorded", cwd=folder)
    plain, summed = lab["sessions"][0]["variants"]
    summaries = f"{summed['summaries']['count']} summaries of {summed['summaries']['tokens']:,} tokens in all"
    run = served_tools(folder).get("run", {"inputSchema": {}})
    return {
        "a server's log without bodies": "; ".join(prompts),
        "a window of 3 messages": ", ".join(message["role"] for message in cured["request"]["messages"]),
        "calls that summaries cost": f"{summaries}, {summed['calls'] - plain['calls']} calls more",
        "the loop as an MCP tool": ", ".join(run["inputSchema"].get("properties", {})) or "no such tool",
    }


def schemas(folder: Path) -> dict[str, Ours]:
    """Of GitHub's 26 tools: as they are, and made smaller in two ways."""
    tools = json.loads(TOOLS.read_text(encoding="utf-8"))["tools"]
    small = {
        "schemas made smaller, nothing of a property but its type": ("theirs", list(map(minimised, tools))),
        "schemas made smaller, as checked": ("ours", [without_descriptions(tool) for tool in tools]),
    }
    ours: dict[str, Ours] = {"26 tools of GitHub": f"{_tokens(TOOLS, folder):,}"}
    for claim, (name, smaller) in small.items():
        path = folder / f"github-{name}.json"
        path.write_text(json.dumps({"tools": smaller}), encoding="utf-8")
        ours[claim] = f"{_tokens(path, folder):,}"
    return ours


def _tokens(tools: Path, folder: Path) -> int:
    return int(asked("mcp", "size", str(tools), "--model", "offline", cwd=folder)["tokens"])


def minimised(tool: dict[str, Any]) -> dict[str, Any]:
    """The authors' ``minimize_tool_schema``: nothing of a property but its type."""
    given = tool["inputSchema"].get("properties", {})
    properties = {name: {"type": one.get("type", "string")} for name, one in given.items()}
    return {
        "name": tool["name"],
        "description": tool.get("description", "")[:100],
        "inputSchema": {"type": "object", "properties": properties},
    }


def without_descriptions(tool: dict[str, Any]) -> dict[str, Any]:
    """As ctxtui's policy does it: descriptions of properties go, all that a call is checked against stays."""

    def bare(value: Any) -> Any:
        if isinstance(value, list):
            return [bare(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {key: bare(one) for key, one in value.items() if not (key == "description" and isinstance(one, str))}

    return {**tool, "description": tool.get("description", "")[:100], "inputSchema": bare(tool["inputSchema"])}


def served_tools(folder: Path) -> dict[str, Any]:
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


def pedroceli(folder: Path) -> dict[str, Ours]:
    """Of Pedroceli's claims (document 004): a model's own folder, and repositories of three sizes."""
    model, empty = folder / "my-model", folder / "empty"
    model.mkdir()
    empty.mkdir()
    (model / "config.json").write_text(json.dumps({"model_type": "qwen2", "max_position_embeddings": 16_384}))
    told = asked("budget", "--model", str(model), cwd=empty)
    ours: dict[str, Ours] = {"the window of a model's own folder": f"{told['window']:,}, usable {told['usable']:,}"}
    for entities, claim in PROJECTS.items():
        project = folder / f"project-{claim.split()[1]}"
        repository.write(project, entities)
        told = asked("budget", "--model", "llama3.1:70b", cwd=project)
        ours[claim] = f"{told['repository']['loadable_tokens']:,}: {told['strategy']['name']}"
    return ours


if __name__ == "__main__":
    raise SystemExit(main())
