"""The examples: files that a user could have written; each runs against the offline provider."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from examples.bridge.figures import SCHEMAS
from examples.bridge.rounds import rounds
from examples.bridge.server import Files, stub
from tests.pty_app import environment

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def ran(home: Path, name: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What ``python -m examples.NAME ARGUMENTS --json`` prints."""
    told = [sys.executable, "-m", f"examples.{name}", "--folder", str(home / f"work-{name}"), "--json", *arguments]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, env=environment(home), timeout=300)
    assert done.returncode == code, done.stderr[-3000:]
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def ours(found: dict[str, Any], claim: str) -> str:
    return next(str(row["ours"]) for row in found["figures"] if row["claim"] == claim)


def shown(home: Path, session: str) -> Any:
    told = [sys.executable, "-m", "ctxtui", "show", session, "--json"]
    done = subprocess.run(told, capture_output=True, text=True, env=environment(home), timeout=60, check=True)
    return json.loads(done.stdout)


def test_nothing_in_them_knows_the_inside_of_ctxtui() -> None:
    for path in EXAMPLES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "ctxtui"], path
    listed = {path.name for path in EXAMPLES.iterdir() if (path / "__main__.py").exists()}
    readme = (EXAMPLES / "README.md").read_text()
    for name in listed:
        assert f"`python -m examples.{name}`" in readme
        assert len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 40, "one screen"


# The bridge


@pytest.mark.parametrize("name", list(SCHEMAS))
async def test_a_stub_lists_what_was_measured_and_does_what_the_script_calls(name: str, tmp_path: Path) -> None:
    async with Client(stub(name, tmp_path)) as session:
        listed = (await session.list_tools()).tools
        spelled = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in listed
        ]
        assert (len(listed), len(json.dumps(spelled, indent=2))) == SCHEMAS[name]
        for line in rounds(100, [name])[:-1]:
            (call,) = line["calls"]
            result = await session.call_tool(call["name"], call["input"])
            assert not result.is_error, (call, result.content)
        if name == "github":
            refused = await session.call_tool("fork_repository", {"owner": "a", "repo": "b"})
            assert refused.is_error and "does not do fork_repository" in str(refused.content)
    if name == "filesystem":
        assert (tmp_path / "notes" / "comparison.md").read_text().count("\n") == 16
        with pytest.raises(ValueError, match="outside allowed"):
            Files(tmp_path).inside("../x")
    if name == "memory":
        assert len(json.loads((tmp_path / "memory.json").read_text())["entities"]) == 12


def test_a_hundred_rounds_are_scripted() -> None:
    lines = rounds(100, SCHEMAS)
    assert len(lines) == 100 and "Done: 99 calls" in lines[-1]["text"]
    names = [call["name"] for line in lines for call in line.get("calls", ())]
    assert len(set(names)) == 10 and names.count("get_file_contents") == 12


def test_a_bridge_of_a_few_rounds(tmp_path: Path) -> None:
    found = ran(tmp_path, "bridge", "--rounds", "7", "--servers", "memory", "--under", "hybrid")
    assert ours(found, "metadata, hybrid").startswith("7 7 11 True ")
    assert ours(found, "schemas of memory").startswith("9 tools, ") and "less" not in ours(found, "last prompt, hybrid")
    assert len(json.loads((tmp_path / "work-bridge" / "hybrid" / "memory.json").read_text())["entities"]) == 3


@pytest.mark.slow
def test_a_bridge_of_a_hundred_rounds(tmp_path: Path) -> None:
    found = ran(tmp_path, "bridge")
    assert ours(found, "kind of growth") in [f"x{n / 100:.2f}" for n in range(85, 116)], "a line"
    first, last = (int(ours(found, f"prompt of round {n}").replace(",", "")) for n in (1, 100))
    assert last > 5 * first
    for name in ("sliding window", "hybrid"):
        tokens, less = ours(found, f"last prompt, {name}").split(", ")
        assert int(tokens.replace(",", "")) < 11_500 and int(less.split()[0]) >= 77
        assert ours(found, f"metadata, {name}").startswith("100 100 11 True ")
    assert ours(found, "metadata, plain").startswith("100 100 201 False ")
    assert len(shown(tmp_path, found["sessions"]["plain"])["growth"]) == 100
