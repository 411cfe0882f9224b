"""All MCP servers of a chat: which of them run, whose tools the model is offered, calls to them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.planned_write import PlannedCall
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.mcp.connection import ServerConnection, ServerFailed, ServerState
from ctxtui.services.mcp.offered import OfferedTool, content_of
from ctxtui.services.mcp.server_leave import ServerLeave


class ServerPool:
    """The `servers` that are configured; their logs go into the folder `logs`. `wanted` are names or patterns of those
    that start by themselves, with blanks between ("": those that are enabled). `changed` is called when one of them
    starts, is ready or fails; `key_over_http` is the setting. For one event loop. Raises `NotFound` for a wanted name
    that no server has."""

    def __init__(
        self,
        servers: Iterable[McpServer],
        leave: ServerLeave,
        logs: Path,
        changed: Callable[[], object] = lambda: None,
        wanted: str = "",
        *,
        key_over_http: bool = False,
    ) -> None:
        self.leave = leave
        self.known = {
            server.name: ServerConnection(
                server, logs / f"{_plain(server.name)}-{os.getpid()}.log", changed, key_over_http=key_over_http
            )
            for server in servers
        }
        self._wanted = wanted.split()
        for pattern in self._wanted:
            if not any(fnmatchcase(name, pattern) for name in self.known):
                self.of(pattern)
        self.sees = True
        """Whether images in results are passed on to the model."""
        self.offered: set[str] = set()
        """The servers whose tools the model is offered."""

    async def start(self) -> None:
        """Start what is wanted and allowed, all at once; its tools are offered."""
        wanted = [name for name, one in self.known.items() if self._starts(one.server) and self.leave.given(one.server)]
        await asyncio.gather(*(self.known[name].start() for name in wanted))
        self.offered |= {name for name in wanted if self.known[name].state == ServerState.READY}

    def _starts(self, server: McpServer) -> bool:
        return any(fnmatchcase(server.name, one) for one in self._wanted) if self._wanted else server.enabled

    async def on(self, name: str) -> None:
        """Start the server `name`, which the user has allowed, and offer its tools. Raises `ServerFailed`."""
        one = self.of(name)
        self.leave.give(one.server) if one.server.project else None
        await one.start()
        if one.state != ServerState.READY:
            raise ServerFailed(f"the MCP server {name} does not start: {one.why}")
        self.offered.add(name)

    def off(self, name: str) -> None:
        """Offer the tools of `name` no longer. It goes on running: it may be wanted again."""
        self.offered.discard(self.of(name).server.name)

    def of(self, name: str) -> ServerConnection:
        """The server `name`. Raises `NotFound`."""
        if name not in self.known:
            names = ", ".join(self.known) or "none"
            raise NotFound(f"no MCP server {name!r}", way_out=f"there are {names} (docs/mcp.md)")
        return self.known[name]

    @property
    def waiting(self) -> list[McpServer]:
        """Those of the project that nobody has allowed yet; where some servers are wanted, only these."""
        there = [one.server for one in self.known.values() if not self._wanted or self._starts(one.server)]
        return [server for server in there if not self.leave.given(server)]

    @property
    def failed(self) -> list[ServerConnection]:
        """Those that do not run though they should."""
        return [one for one in self.known.values() if one.state == ServerState.FAILED]

    def definitions_of(self, names: Collection[str]) -> list[Json]:
        """The tools of these servers as a request offers them (Anthropic's form)."""
        return [tool.definition for name, one in self.known.items() if name in names for tool in one.tools]

    def holds(self, name: str) -> bool:
        """Whether `name` is a tool of a server that runs or ran, offered now or before."""
        return any(tool.name == name for one in self.known.values() for tool in one.tools)

    def asks(self, name: str) -> bool:
        """Whether the user is asked before the tool `name` runs: unless the user's configuration allows it. That a tool
        only reads is its server's word, which allows nothing."""
        tool = self._tool(name)
        allowed = self.known[tool.server].server.allow
        return not any(fnmatchcase(tool.own, one) for one in allowed)

    def plan(self, call: ToolCall) -> PlannedCall:
        """What the user is asked."""
        tool = self._tool(call.name)
        server = self.known[tool.server].server
        return PlannedCall(f"{tool.own} of the MCP server {tool.server}", f"runs as {server.told}", call.input)

    async def run(self, call: ToolCall) -> ToolResult:
        """Do `call`. What goes wrong is the result."""
        tool = self._tool(call.name)
        try:
            found = await self.known[tool.server].call(tool.own, call.input)
        except ServerFailed as error:
            return ToolResult(call.id, str(error), is_error=True)
        text, images = content_of(found, sees=self.sees)
        return ToolResult(call.id, text, is_error=bool(found.is_error), images=images)

    def _tool(self, name: str) -> OfferedTool:
        return next(tool for one in self.known.values() for tool in one.tools if tool.name == name)

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(one.stop() for one in self.known.values()))


def _plain(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in name)[:60]
