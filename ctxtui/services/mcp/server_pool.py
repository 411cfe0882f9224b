"""All MCP servers of a chat: which may be started, which run, whose tools the model is offered, calls to them."""

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
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.mcp.connection import ServerConnection, ServerFailed, ServerState
from ctxtui.services.mcp.offered import OfferedTool, content_of

FILE: Final = "mcp-allowed.json"
"""In the user's data folder: digest of a server -> its name and file, not what it is given: that may hold keys."""


class ServerLeave:
    """What the user allowed, in the folder `data`. Another command, argument, variable or folder is another server, and
    is asked for again."""

    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def given(self, server: McpServer) -> bool:
        """Whether `server` may be started: the user's own may, a project's where that was said of it as it is now."""
        return not server.project or server.digest in self._known()

    def give(self, server: McpServer) -> None:
        """The user says that `server` may be started. Raises `Unreadable` where that cannot be written."""
        told = {"name": server.name, "place": server.place}
        beside = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                known = {**self._known(), server.digest: told}
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                    json.dump(known, file, indent=1)
                os.replace(beside, self._path)
        except OSError as error:
            raise Unreadable(
                f"leave for {server.name} cannot be kept: {error.strerror}", place=str(self._path)
            ) from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time: of two that read and write at once, the first one's leave would be lost."""
        with open(os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def _known(self) -> dict[str, object]:
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # nothing is there, or what cannot be read allows nothing
        return known if isinstance(known, dict) else {}


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
        return PlannedCall(f"{tool.own} of the MCP server {tool.server}", f"runs as {server.description}", call.input)

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
