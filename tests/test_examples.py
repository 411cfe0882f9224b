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
from examples.pedroceli import repository
from examples.pedroceli.job import steps
from examples.pedroceli.toolchain import Repository
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


# Pedroceli


def test_the_toolchain_tells_of_the_repository_as_it_is(tmp_path: Path) -> None:
    assert repository.write(tmp_path) == 55
    tools = Repository(tmp_path)
    assert "ok  \tgithub.com/pedro/bot/pkg/reminder" in tools.test("pkg/reminder")
    assert tools.commit("nothing") == "nothing to commit, working tree clean"
    told = []
    for line in steps()[:-1]:
        (call,) = line["calls"]
        given = call["input"]
        if call["name"] == "edit_file":
            path = tmp_path / given["path"]
            assert path.read_text().count(given["old"]) == 1, "as the tool wants it"
            path.write_text(path.read_text().replace(given["old"], given["new"]))
        elif call["name"] == "go_test":
            told.append("FAIL" if "FAIL" in tools.test(given["package"]) else "ok")
        elif call["name"] == "git_commit":
            told.append(tools.commit(given["message"]).splitlines()[1].strip())
    assert told == ["ok", "2 files changed", "FAIL", "ok", "1 files changed"]


def test_a_job_in_a_small_window(tmp_path: Path) -> None:
    found = ran(tmp_path, "pedroceli", "--windows", "16384", "--entities", "4")
    assert ours(found, "16k: how it ended") == "done, 11 rounds"
    assert ours(found, "16k: usable, 75 %") == "12,288"
    assert ours(found, "16k: their worked example") == "10,296 too many"
    assert ours(found, "16k: named, whole").startswith("6 files, ")
    job = tmp_path / "work-pedroceli" / "job-16k"
    assert {path.name for path in job.glob("011-*")} == {
        "011-prompt.txt", "011-response.txt", "011-tool-calls.json", "011-turn.json",
    }  # fmt: skip
    log = """[Summary of rounds 1-5, drawn from the record]
Steps 1-5:
- Read: docs/limits.md
- Modified: pkg/api/reminder_handler.go, pkg/db/reminder_queries.go
- Tests: 8 passed, 0 failed
- Committed: "Add rate limiting middleware"
"""
    assert log in (job / "011-prompt.txt").read_text()
    assert (tmp_path / "work-pedroceli" / "bot-16k" / "pkg/api/middleware.go").read_text().count("RateLimit") == 2


@pytest.mark.slow
def test_jobs_in_both_windows(tmp_path: Path) -> None:
    found = ran(tmp_path, "pedroceli")
    for name, window in (("32k", 32_768), ("16k", 16_384)):
        assert ours(found, f"{name}: how it ended") == "done, 11 rounds"
        assert ours(found, f"{name}: strategy") == "by task"
        share = int(ours(found, f"{name}: largest call, of the window").split()[0])
        assert 40 < share < 75, window
