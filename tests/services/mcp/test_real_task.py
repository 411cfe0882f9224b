"""The chat of a new user works through a real task with two real MCP servers, a memory file and `--files auto` on a 32k
budget: `make test-mcp` installs the servers and runs this."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.offline import offline
from ctxtui.offline.script import parse_script
from tests.cli.conftest import Run, ctxtui, home
from tests.services.mcp.real_task import KNOWN, NOTE, REMEMBERED, TASK, WINDOW, configured, repository, script

__all__ = ["ctxtui", "home"]

pytestmark = pytest.mark.skipif(not os.environ.get("REAL_MCP"), reason="make test-mcp runs it")


def test_without_a_screen(ctxtui: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = repository(tmp_path)
    monkeypatch.chdir(work)
    configured(Path(os.environ["CTXTUI_HOME"]), work)
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "user.md").write_text(KNOWN)
    with offline() as server:
        server.server.provider.playback = parse_script(script(work))
        where = ("--provider", "anthropic", "--base-url", server.url, "--model", "claude-opus-5-5")
        leave = ("--allow", "memory_*", "--allow", "write_file")
        ran = ctxtui("run", TASK, *where, *leave, "--files", "auto", "--memory", str(memory), "--json")
        asked = [json.loads(seen.body) for seen in server.server.seen if b'"messages"' in seen.body]
    assert ran.code == 0, ran.err
    told = ran.json["metadata"]
    assert told["rounds_used"] == 7 and told["outcome"] == "done" and "It is 8" in ran.json["result"]
    # What it was asked for is done, and remembered twice.
    assert (work / "docs" / "notes" / "mcp-size.md").read_text() == NOTE
    assert (memory / "ctxtui.md").read_text() == REMEMBERED
    assert "exit code 8 above --max" in (Path(os.environ["CTXTUI_HOME"]) / "graph.json").read_text()
    # The servers' tools were offered, and did what they were called for.
    offered = {tool["name"] for tool in asked[0]["tools"]}
    assert {"mcp__files__read_text_file", "mcp__graph__read_graph", "memory_create", "write_file"} <= offered
    assert "FAILED" in json.dumps(asked[2]["messages"]) and "ctxtui mcp size" in json.dumps(asked[-1]["messages"])
    # Composition, price and the cache's effect are known of every call, and none is over the budget.
    shown = ctxtui("show", told["session"], "--json").json
    assert all(TASK in json.dumps(one["messages"], ensure_ascii=False) for one in asked), "the task is in every request"
    assert shown["context_window"]["limit"] == WINDOW
    assert all(0 < one["context_tokens"] < WINDOW for one in shown["growth"])
    categories = shown["categories"]
    assert categories["tools"] > 3000 and categories["document"] > 500 and categories["memory"] > 10, categories
    assert told["tokens"]["cache_read"] > told["tokens"]["fresh"] and told["cost_usd"] > 0
    ledger = ctxtui("mcp", "--json").json["servers"]
    by_name = {one["name"]: one for one in ledger}
    assert by_name["graph"]["called"] == 3 and by_name["files"]["called"] == 1
    assert by_name["files"]["carried_calls"] == 7 and by_name["files"]["schema_usd"] > 0
