"""All MCP servers of a chat: permissions, running servers, offered tools and calls to them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.tool import PlannedCall
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.services.config.file_writing import replace_file
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.mcp.connection import ServerConnection, ServerFailed, ServerState
from ctxtui.services.mcp.offered import OfferedTool, convert_result

FILE: Final = "mcp-allowed.json"
"""Maps the digest of a server to its name and file. Arguments are left out: they may hold keys."""
REPORT_PERIOD: Final = 5.0
"""Seconds between two reports on servers that start."""


class ServerPermissions:
    """Servers that the user allowed to start, by `McpServer.digest`.

    They are stored in the folder `data`.
    """

    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def is_allowed(self, server: McpServer) -> bool:
        """True if `server` may start: it is the user's own, or was allowed and has not changed."""
        return not server.project or server.digest in self._read_permissions()

    def allow(self, server: McpServer) -> None:
        """Allow `server` to start. Raises `Unreadable` if the permission cannot be written."""
        record = {"name": server.name, "place": server.place}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                allowed = {**self._read_permissions(), server.digest: record}
                replace_file(self._path, json.dumps(allowed, indent=1).encode())
        except OSError as error:
            raise Unreadable(
                f"the permission for {server.name} cannot be stored: {error.strerror}", place=str(self._path)
            ) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file: of two processes that read and write at once, one would lose its change."""
        with open(os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _read_permissions(self) -> dict[str, object]:
        try:
            allowed = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # a missing or unreadable file allows nothing
        return allowed if isinstance(allowed, dict) else {}


class ServerPool:
    """The configured `servers` of a chat, for one event loop.

    `logs` is the folder of their logs. `requested` are names or patterns, separated by spaces, of the servers to start
    ("": all enabled ones). Raises `NotFound` for one that matches no server.
    """

    def __init__(
        self,
        servers: Iterable[McpServer],
        permissions: ServerPermissions,
        logs: Path,
        requested: str = "",
        *,
        key_over_http: bool = False,
    ) -> None:
        self.permissions = permissions
        self.connections = {
            server.name: ServerConnection(
                server, logs / f"{_safe_file_name(server.name)}-{os.getpid()}.log", key_over_http=key_over_http
            )
            for server in servers
        }
        self._wanted = requested.split()
        for pattern in self._wanted:
            if not any(fnmatchcase(name, pattern) for name in self.connections):
                self.connection(pattern)
        self.sees = True
        """Whether images in results are sent to the model."""
        self.offered: set[str] = set()
        """The servers whose tools are offered to the model."""

    async def start(self) -> None:
        """Start all servers that are wanted and allowed, and offer their tools."""
        names = [
            name
            for name, connection in self.connections.items()
            if self._should_start(connection.server) and self.permissions.is_allowed(connection.server)
        ]
        await asyncio.gather(*(self.connections[name].start() for name in names))
        self.offered |= {name for name in names if self.connections[name].state == ServerState.READY}

    def _should_start(self, server: McpServer) -> bool:
        return any(fnmatchcase(server.name, pattern) for pattern in self._wanted) if self._wanted else server.enabled

    async def turn_on(self, name: str) -> None:
        """Allow the server `name` if it is a project's, start it, and offer its tools.

        Raises `NotFound`, `Unreadable`, `ServerFailed`.
        """
        connection = self.connection(name)
        if connection.server.project:
            self.permissions.allow(connection.server)
        await connection.start()
        if connection.state != ServerState.READY:
            raise ServerFailed(f"the MCP server {name} does not start: {connection.error}")
        self.offered.add(name)

    def turn_off(self, name: str) -> None:
        """Stop offering the tools of `name`; the server keeps running."""
        self.offered.discard(self.connection(name).server.name)

    def connection(self, name: str) -> ServerConnection:
        """The connection to the server `name`. Raises `NotFound`."""
        if name not in self.connections:
            names = ", ".join(self.connections) or "none"
            raise NotFound(f"no MCP server {name!r}", way_out=f"there are {names} (docs/mcp.md)")
        return self.connections[name]

    @property
    def unallowed(self) -> list[McpServer]:
        """The project's servers that need permission; only wanted ones if some were named."""
        servers = [
            connection.server
            for connection in self.connections.values()
            if not self._wanted or self._should_start(connection.server)
        ]
        return [server for server in servers if not self.permissions.is_allowed(server)]

    @property
    def failed(self) -> list[ServerConnection]:
        return [connection for connection in self.connections.values() if connection.state == ServerState.FAILED]

    async def report_starting(self, say: Callable[[str], object]) -> None:
        """Report every few seconds on the servers that are starting, until cancelled."""
        while True:
            await asyncio.sleep(REPORT_PERIOD)
            for connection in self.starting:
                say(f"waiting for the MCP server {connection.server.name}: {connection.progress}")

    @property
    def starting(self) -> list[ServerConnection]:
        return [connection for connection in self.connections.values() if connection.state == ServerState.STARTING]

    def definitions(self, names: Collection[str]) -> list[Json]:
        return [
            tool.definition
            for name, connection in self.connections.items()
            if name in names
            for tool in connection.tools
        ]

    def has_tool(self, name: str) -> bool:
        """True if `name` is a tool of a server that runs or ran, whether offered now or not."""
        return any(tool.name == name for connection in self.connections.values() for tool in connection.tools)

    def needs_permission(self, name: str) -> bool:
        """True unless the configuration allows the tool.

        A server's claim that it is read-only is ignored.
        """
        tool = self._find_tool(name)
        allowed = self.connections[tool.server].server.allow
        return not any(fnmatchcase(tool.own, pattern) for pattern in allowed)

    def plan(self, call: ToolCall) -> PlannedCall:
        """Describe `call` of a server's tool to ask for permission."""
        tool = self._find_tool(call.name)
        server = self.connections[tool.server].server
        return PlannedCall(f"{tool.own} of the MCP server {tool.server}", f"runs as {server.description}", call.input)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run `call` on its server, which is started if need be; failures are error results."""
        tool = self._find_tool(call.name)
        try:
            result = await self.connections[tool.server].call_tool(tool.own, call.input)
        except ServerFailed as error:
            return ToolResult(call.id, str(error), is_error=True)
        text, images = convert_result(result, sees=self.sees)
        return ToolResult(call.id, text, is_error=bool(result.is_error), images=images)

    def _find_tool(self, name: str) -> OfferedTool:
        return next(tool for connection in self.connections.values() for tool in connection.tools if tool.name == name)

    async def close(self) -> None:
        await asyncio.gather(*(connection.stop() for connection in self.connections.values()))


def _safe_file_name(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in name)[:60]
