"""MCP servers in a chat: their tools are offered and taken back with the price said, and a call asks for leave."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ctxtui.tui.chat.servers import ServersController
from ctxtui.tui.dialogs.command_palette import PaletteScreen
from tests.services.chatting import answer, provider, text, use
from tests.tui.test_chat import asked, asked_for_leave, chatting, reply, say, shown, until

SMALL = Path(__file__).parent.parent / "services" / "mcp" / "small_server.py"


@pytest.mark.slow
async def test_tools_are_used_with_leave_and_taken_back_with_their_price(tmp_path: Path) -> None:
    script = [
        answer("m1", use("t1", "mcp__small__die"), use("t2", "mcp__small__add", a=1, b=2)),
        answer("m2", text("done")),
        answer("m3", text("still here")),
    ]
    servers = f"{{small = {{command = {json.dumps(sys.executable)}, args = [{json.dumps(str(SMALL))}]}}}}"
    async with provider(script) as server, chatting(tmp_path, server, (80, 24), mcp=servers) as (screen, pilot):
        await say(screen, pilot, "go", wait=False)
        await asked_for_leave(screen, pilot)
        there = shown(screen)
        assert "die of the MCP server small" in there and "to be run" in there and "run it?" in there
        await reply(screen, pilot, "x")
        await until(pilot, lambda: not screen.state.running)
        body = json.loads(asked(server)[-1])
        assert [part["content"] for part in body["messages"][2]["content"]] == ["The user did not allow this.", "3"]
        assert [tool["name"][-4:] for tool in body["tools"]][-3:] == ["_add", "_die", "hang"]

        await pilot.press("escape")
        next(one for one in screen.controllers if isinstance(one, ServersController)).choose()
        await until(pilot, lambda: isinstance(pilot.app.screen, PaletteScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "take back 3 tools?" in shown(screen) and " a request" in shown(screen))
        await pilot.press("y")
        await until(pilot, lambda: "no longer" in shown(screen))
        await pilot.press("i")
        await say(screen, pilot, "go on")
        await until(pilot, lambda: len(asked(server)) == 3 and not screen.state.running)
        names = [tool["name"] for tool in json.loads(asked(server)[-1])["tools"]]
        assert names and not any(name.startswith("mcp__") for name in names)
