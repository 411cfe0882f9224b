"""Real MCP servers of others, from npm and PyPI: `make test-mcp` installs them and runs this."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.agent.events import ToolCall
from ctxtui.services.config.mcp_servers import parse_server
from ctxtui.services.mcp.connection import ServerState
from ctxtui.services.mcp.server_pool import ServerPermissions, ServerPool
from tests.pty_app import REPO

HOME = REPO / ".venv-mcp"
NODE = HOME / "node" / "node_modules" / ".bin"

pytestmark = pytest.mark.skipif(not os.environ.get("REAL_MCP"), reason="make test-mcp runs it")


async def test_four_real_servers_work_side_by_side(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the magic word is xyzzy\n")
    memory = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    known = [
        parse_server("files", {"command": str(NODE / "mcp-server-filesystem"), "args": [str(work)]}),
        parse_server("memory", {"command": str(NODE / "mcp-server-memory"), "env": memory}),
        parse_server("time", {"command": str(HOME / "bin" / "mcp-server-time")}),
        parse_server("fetch", {"command": str(HOME / "bin" / "mcp-server-fetch")}),
    ]
    pool = ServerPool(known, ServerPermissions(tmp_path / "data"), tmp_path / "logs")
    await pool.start()
    assert {name: (one.state, one.error) for name, one in pool.connections.items()} == {
        one.name: (ServerState.READY, "") for one in known
    }
    count = {name: len(one.tools) for name, one in pool.connections.items()}
    assert count["files"] >= 12 and count["memory"] >= 9 and count["time"] >= 2 and count["fetch"] == 1

    async def told(tool: str, **given: object) -> str:
        done = await pool.run(ToolCall("c", f"mcp__{tool}", given))
        assert not done.is_error, done.text
        return done.text

    assert "xyzzy" in await told("files__read_text_file", path=str(work / "a.txt"))
    await told(
        "memory__create_entities", entities=[{"name": "plan", "entityType": "note", "observations": ["ship it"]}]
    )
    assert "ship it" in await told("memory__search_nodes", query="ship")
    assert json.loads(await told("time__get_current_time", timezone="UTC"))["timezone"] == "UTC"
    outside = await pool.run(ToolCall("c", "mcp__files__read_text_file", {"path": "/etc/hostname"}))
    assert outside.is_error and "denied" in outside.text.lower()
    await pool.close()
    assert all(one.state == ServerState.STOPPED for one in pool.connections.values())
