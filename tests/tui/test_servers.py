"""MCP servers in a chat: their tools are offered and taken back with the price said, and a call asks for leave."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import App

from ctxtui.services.config.mcp_servers import parse_server
from ctxtui.services.config.paths import data_dir
from ctxtui.services.mcp.connection import ServerState
from ctxtui.services.mcp.server_pool import FILE
from ctxtui.tui.chat.servers import ServerLogScreen, ServersController, StartServerScreen, describe_starting_servers
from ctxtui.tui.dialogs.command_palette import PaletteScreen
from ctxtui.tui.theme.theme import apply_theme
from ctxtui.views.text.span import Span, plain, width
from tests.services.chatting import answer, provider, text, use
from tests.services.mcp.test_servers import pool_of
from tests.tui.test_chat import asked_for_leave, chatting, reply, say, shown, until
from tests.warm import warm_python

SMALL = Path(__file__).parent.parent / "services" / "mcp" / "small_server.py"
SMALL_TOOLS = ["add", "die", "flood", "hang", "picture"]


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
        await reply(screen, pilot, "n")
        # What a server says of its own tools gives no leave.
        await asked_for_leave(screen, pilot)
        assert "add of the MCP server small" in shown(screen)
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)
        body = json.loads(server.bodies[-1])
        assert [part["content"] for part in body["messages"][2]["content"]] == ["The user did not allow this.", "3"]
        assert [
            name for name in (tool["name"].rpartition("__")[2] for tool in body["tools"]) if name in SMALL_TOOLS
        ] == SMALL_TOOLS

        await pilot.press("escape")
        next(one for one in screen.controllers if isinstance(one, ServersController)).choose()
        await until(pilot, lambda: isinstance(pilot.app.screen, PaletteScreen))
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                "remove 5 tools?" in shown(screen)
                and " tokens, " in shown(screen)
                and " next, breaks " in shown(screen)
            ),
        )
        await pilot.press("y")
        await until(pilot, lambda: "no longer" in shown(screen))
        await pilot.press("i")
        await say(screen, pilot, "go on")
        await until(pilot, lambda: len(server.bodies) == 3 and not screen.state.is_running)
        names = [tool["name"] for tool in json.loads(server.bodies[-1])["tools"]]
        assert names and not any(name.startswith("mcp__") for name in names)


@pytest.mark.slow
async def test_all_that_a_projects_server_would_start_is_shown_before_it_is_allowed(tmp_path: Path) -> None:
    work, long = tmp_path / "work", "--" + "x" * 150 + "; rm"
    work.mkdir()
    server = {"command": sys.executable, "args": [str(SMALL), "stdio", long], "env": {"SHOP": "1"}}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"small": server}}))
    async with chatting(tmp_path, None, (80, 24)) as (screen, pilot):
        await until(pilot, lambda: "● ^p MCP servers: this project's need your permission (small)" in shown(screen))
        await pilot.press("escape")
        pool = screen.state.host.tools and screen.state.host.tools.servers
        assert pool is not None
        stored = data_dir(screen.state.host.config.settings.data_dir) / FILE
        for key in ("escape", "y", "y"):
            next(one for one in screen.controllers if isinstance(one, ServersController)).choose()
            await until(pilot, lambda: isinstance(pilot.app.screen, PaletteScreen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, StartServerScreen))
            asks = pilot.app.screen
            await until(pilot, lambda: "SHOP=1" in shown(pilot.app.screen))
            cells = [line.rstrip() for line in shown(asks).splitlines()]
            assert "not confined" in cells[0] and sys.executable in "".join(line[11:] for line in cells)
            assert long in "".join(line[11:] for line in cells)
            await pilot.press(key)
            await until(pilot, lambda: pilot.app.screen is screen)
            if key == "escape":
                assert pool.unallowed
                stored.mkdir()
            elif stored.is_dir():
                await until(pilot, lambda: "the permission for small cannot be stored" in shown(screen))
                assert pool.unallowed
                stored.rmdir()
                await pilot.press("escape")
        await until(pilot, lambda: "add 5 tools?" in shown(screen))


def test_no_value_is_cut_or_left_out_before_a_server_is_allowed() -> None:
    arguments = "", "漢" * 100, "a   b\x1b[8m\nc"
    rows = StartServerScreen(parse_server("small", {"command": "sh", "args": list(arguments)})).load()
    assert all(width([Span(value)]) <= 60 for _, value in rows)
    values = [value for _, value in rows]
    assert values[:4] == ["small", rows[1][1], "sh", ""] and "".join(values[4:-1]) == arguments[1]
    assert rows[-1] == ("argument", "a   b␛[8m·c")


@pytest.mark.slow
async def test_every_starting_server_is_named_in_eighty_columns(tmp_path: Path) -> None:
    names = "filesystem", "knowledge-graph", "time", "fetch"
    python, *more = warm_python()
    code = "import sys; print('loading', file=sys.stderr, flush=True); sys.stdin.read()"
    pool = pool_of(tmp_path, *(parse_server(name, {"command": python, "args": [*more, "-c", code]}) for name in names))
    host: Any = SimpleNamespace(tools=SimpleNamespace(servers=pool))
    assert plain(describe_starting_servers(host)) == "starting the MCP servers", "before any is started"
    starting = asyncio.create_task(pool.start())
    try:
        async with asyncio.timeout(30):
            while not all(pool.connection(name).last_log_line for name in names):
                await asyncio.sleep(0.01)
        text = plain(describe_starting_servers(host))
        assert text.startswith("starting MCP servers filesystem, knowledge-graph, time, fetch (")
        assert len(text.partition(" s)")[0]) < 80
        assert " s): its answer to `initialize`; filesystem: loading; " in text, "what all await is said once"
        pool.connection("time").awaited = "its list of tools"
        text = plain(describe_starting_servers(host))
        assert "`initialize` (filesystem, knowledge-graph, fetch), its list of tools (time); " in text
    finally:
        await pool.close()
        await starting


class Written:
    """A server that has written to its log."""

    def __init__(self) -> None:
        self.server = parse_server("small", {"command": "x"})
        self.state = ServerState.READY
        self.text = ""

    def log_text(self) -> str:
        return self.text


async def test_the_log_of_a_server_is_followed() -> None:
    one, app = Written(), App[None]()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=(60, 8)) as pilot:
        screen = ServerLogScreen(one, "")  # type: ignore[arg-type]
        screen.reload_seconds = 0.02  # type: ignore[misc]
        await app.push_screen(screen)

        def shown() -> str:
            return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

        await until(pilot, lambda: "small · ready" in shown() and "nothing to standard error" in shown())
        one.text = "".join(f"line {n}\n" for n in range(40))
        await until(pilot, lambda: "line 39" in shown())
        one.text += "\x1b[31mthe end\n"
        one.state = ServerState.FAILED
        await until(pilot, lambda: "the end" in shown() and "small · failed" in shown())
        await pilot.press("up")
        await until(pilot, lambda: screen.pane.cursor == 39)
        one.text += "".join(f"more {n}\n" for n in range(40))
        await until(pilot, lambda: len(screen.rows) == 81)
        assert screen.pane.cursor == 39 and "more 39" not in shown(), "who reads further up stays there"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
