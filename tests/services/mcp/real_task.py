"""A real task on this repository, with two real MCP servers, a memory file and `--files auto` in a window of 32k: what
is set up for it, what is asked, and what the offline provider says to it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.pty_app import REPO

NODE = REPO / ".venv-mcp" / "node" / "node_modules" / ".bin"
PYTHON = REPO / ".venv-mcp" / "bin"
WINDOW = 32_768
TASK = (
    "Which exit code has `ctxtui mcp size` above its --max, and where is it said? Look at @ctxtui/cli/agent/mcp.py, "
    "note what you learn in your memory and in the graph, and write docs/notes/mcp-size.md."
)
REMEMBERED = "mcp size: exit code 8 above --max\n"
KNOWN = "The user wants notes in docs/notes, short, with the file that says it.\n"
NOTE = "# ctxtui mcp size\n\nAbove --max it ends with exit code 8 (`FAILED` of `ctxtui/cli/exit_codes.py`).\n"


def repository(folder: Path) -> Path:
    """A copy of this repository, as it was committed last, to work in."""
    target = folder / "ctxtui"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{REPO}", str(target)], check=True)
    return target


def configured(home: Path, work: Path) -> Path:
    """What a new user writes: two servers, and the window of the model; the file."""
    graph = {"MEMORY_FILE_PATH": str(home / "graph.json")}
    config = home / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"""[models."claude-opus-5-5"]
context_size = {WINDOW}

[mcp.files]
command = {json.dumps(str(NODE / "mcp-server-filesystem"))}
args = [{json.dumps(str(work))}]
allow = ["read_*"]

[mcp.graph]
command = {json.dumps(str(NODE / "mcp-server-memory"))}
env = {{ MEMORY_FILE_PATH = {json.dumps(graph["MEMORY_FILE_PATH"])} }}
allow = ["create_*", "read_*", "search_*"]
"""
    )
    return config


FOUR = ("files", "graph", "time", "fetch")


def configured_four(home: Path, work: Path) -> None:
    """Two servers more, and pictures are sent; the fetched page is the offline provider's, on loopback."""
    config = configured(home, work)
    tables = [config.read_text()]
    for name, args in (("time", "[]"), ("fetch", '["--allow-private-ips", "--ignore-robots-txt"]')):
        command = json.dumps(str(PYTHON / f"mcp-server-{name}"))
        tables.append(f'[mcp.{name}]\ncommand = {command}\nargs = {args}\nallow = ["*"]\n')
    config.write_text("\n".join(['mcp_images = "on"', *tables]))


def asked_of_four(work: Path, url: str) -> list[tuple[str, dict[str, Any], str]]:
    """A tool of each server with its input, and what its answer says; the page is below `url`."""
    learnt = {"name": "plan", "entityType": "note", "observations": ["ship it"]}
    return [
        ("mcp__files__read_text_file", {"path": str(work / "a.txt")}, "xyzzy"),
        ("mcp__graph__create_entities", {"entities": [learnt]}, "ship it"),
        ("mcp__time__get_current_time", {"timezone": "UTC"}, "is_dst"),
        ("mcp__fetch__fetch", {"url": f"{url}/v1/models"}, "o4-mini"),
    ]


def script(work: Path) -> str:
    """What is said, an answer a line."""
    code = work / "ctxtui" / "cli" / "exit_codes.py"
    learnt = {"name": "ctxtui mcp size", "entityType": "command", "observations": ["exit code 8 above --max"]}
    said: list[dict[str, Any]] = [
        {"text": "I look what is known.", "calls": [{"name": "read_graph", "input": {}}]},
        {
            "text": "Nothing yet. Where are the codes?",
            "calls": [
                {"name": "mcp__files__read_text_file", "input": {"path": str(code)}},
                {"name": "grep", "input": {"pattern": "exit_codes.FAILED", "path": "ctxtui/cli/agent"}},
            ],
        },
        {"calls": [{"name": "create_entities", "input": {"entities": [learnt]}}]},
        {"calls": [{"name": "memory_create", "input": {"path": "ctxtui.md", "content": REMEMBERED}}]},
        {"calls": [{"name": "write_file", "input": {"path": "docs/notes/mcp-size.md", "content": NOTE}}]},
        {"calls": [{"name": "search_nodes", "input": {"query": "mcp size"}}]},
        {"text": "It is 8: `FAILED`, said in ctxtui/cli/exit_codes.py. Written to docs/notes/mcp-size.md."},
    ]
    return "\n".join(json.dumps(one) for one in said)
