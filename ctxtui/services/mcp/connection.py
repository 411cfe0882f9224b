"""One MCP server while it is talked to: started, asked, cancelled, ended. What goes wrong in it stays in it."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.providers.bounded_answers import bind
from ctxtui.providers.endpoint import is_loopback, is_plain
from ctxtui.services.config.environment import passed_variables
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.mcp.offered import (
    OfferedText,
    OfferedTool,
    contents_of,
    prompts_of,
    resources_of,
    tools_of,
)
from ctxtui.wire.bounds import MAX_MCP_MESSAGE

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from mcp import Client
    from mcp.types import CallToolResult

PATIENCE: Final = 20.0
"""Seconds in which a server must have said what it offers, where its own `timeout` is not longer."""
_CLOSED: Final = -32000
_TIMED_OUT: Final = -32001
_PAGES: Final = 100
_QUIET: Final = 86_400.0
"""Seconds that a server over SSE may say nothing."""
_SIGN_IN: Final = (
    "it wants a sign-in ({status}), and OAuth is not spoken: give its token in headers (Authorization = "
    '"Bearer ${{TOKEN}}"), or let a program sign in: command = "npx", args = ["-y", "mcp-remote", "{url}"]'
)
_LOG: Final = 200_000
"""Bytes of a server's log that are shown."""


class _BoundedLines(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
    """UTF-8 of which a line that is too long is cut and ended: the SDK keeps a line until it is whole."""

    _size = 0

    def decode(self, data: Any, final: bool = False) -> str:
        """The text of `data`."""
        line, end, rest = data.rpartition(b"\n")
        cut = self._size > MAX_MCP_MESSAGE
        self._size = len(rest) + (0 if end else self._size)
        if cut:
            data = line.partition(b"\n")[2] + end + rest if end else b""
        elif self._size > MAX_MCP_MESSAGE:
            self.reset()
            data = b"\n"
        return str(super().decode(data, final))


_BOUNDED: Final = "ctxtui_bounded_utf_8"
_utf_8 = codecs.lookup("utf-8")
codecs.register(
    lambda name: (
        codecs.CodecInfo(_utf_8.encode, _utf_8.decode, incrementaldecoder=_BoundedLines, name=name)
        if name == _BOUNDED
        else None
    )
)


class ServerState(StrEnum):
    """How a server is doing."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class ServerFailed(CtxtuiError):
    """A server did not start, broke off or did not answer."""


class ServerConnection:
    """The way to `server`. Its standard error goes to the file `log`; `changed` is called when its `state` changes. Its
    headers go over plain http to another machine only with `key_over_http`. For one event loop; who waits for a call
    and is cancelled has the server told so."""

    def __init__(
        self,
        server: McpServer,
        log: Path,
        changed: Callable[[], object] = lambda: None,
        *,
        key_over_http: bool = False,
    ) -> None:
        self.server = server
        self.state = ServerState.STOPPED
        self.why = ""
        """Why it failed."""
        self.tools: tuple[OfferedTool, ...] = ()
        self.resources: tuple[OfferedText, ...] = ()
        self.prompts: tuple[OfferedText, ...] = ()
        self._log = log
        self._locked = ""
        self._changed = changed
        self._key_over_http = key_over_http
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._settled = asyncio.Event()

    async def start(self) -> None:
        """Start it, unless it runs, and wait until it says what it offers. What goes wrong is its `state`."""
        if self.state == ServerState.READY:
            return
        if self._task is not None and self._end.is_set():
            # What broke off is cleared away first.
            await asyncio.gather(self._task, return_exceptions=True)
        if self._task is None or self._task.done():
            self._end, self._settled = asyncio.Event(), asyncio.Event()
            self._turn(ServerState.STARTING)
            self._task = asyncio.create_task(self._run())
        await self._settled.wait()

    async def stop(self) -> None:
        """End it, and wait until it is gone."""
        self._end.set()
        if self._task is not None:
            if self.state == ServerState.STARTING:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._turn(ServerState.STOPPED)
        with suppress(OSError):
            self._log.unlink()

    async def call(self, tool: str, given: Json) -> CallToolResult:
        """What the tool `tool` brings. A server that is gone is started again, once. Raises `ServerFailed`."""
        client = await self._at_hand()
        arguments = given if isinstance(given, dict) else {}
        asking = client.call_tool(tool, arguments, read_timeout_seconds=self.server.timeout)
        found: CallToolResult = await self._asked(asking)
        return found

    async def resource(self, uri: str) -> str:
        """The text of a resource. Raises `ServerFailed`."""
        client = await self._at_hand()
        return contents_of((await self._asked(client.read_resource(uri))).contents)

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of a prompt, filled in. Raises `ServerFailed`."""
        client = await self._at_hand()
        found = await self._asked(client.get_prompt(name, arguments))
        return "\n\n".join(str(getattr(one.content, "text", "")) for one in found.messages)

    def log_text(self) -> str:
        """The end of what it wrote to standard error."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    async def _at_hand(self) -> Client:
        if self._client is None:
            await self.start()
        if self._client is None:
            raise ServerFailed(f"the MCP server {self.server.name} is not running: {self.why}")
        return self._client

    async def _asked(self, asking: Any) -> Any:
        from mcp import MCPError

        name = self.server.name
        try:
            return await asking
        except MCPError as error:
            if error.error.code == _TIMED_OUT:
                raise ServerFailed(f"the MCP server {name} did not answer in {self.server.timeout:g} seconds") from None
            if error.error.code == _CLOSED:
                self._client = None
                self._end.set()
                self._turn(ServerState.FAILED, f"it ended{self._last_words()}")
                raise ServerFailed(f"the MCP server {name} ended{self._last_words()}") from None
            raise ServerFailed(f"{name}: {error.error.message}") from None
        except (OSError, ValueError, RuntimeError) as error:
            raise ServerFailed(f"the MCP server {name}: {type(error).__name__}: {error}") from None

    def _last_words(self) -> str:
        """The last line of its standard error."""
        line = next((line for line in reversed(self.log_text().splitlines()) if line.strip()), "")
        return f": {line.strip()[:300]}" if line else ""

    def _turn(self, state: ServerState, why: str = "") -> None:
        if (state, why) != (self.state, self.why):
            self.state, self.why = state, why
            self._changed()

    async def _run(self) -> None:
        """The life of the server: a client is entered and left in the same task."""
        failed, patience = "", max(PATIENCE, self.server.timeout)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(patience):
                    client = await stack.enter_async_context(await self._opened(stack))
                    await self._list(client)
                self._client = client
                self._turn(ServerState.READY)
                self._settled.set()
                await self._end.wait()
        except TimeoutError:
            failed = f"it did not say what it offers in {patience:g} seconds{self._last_words()}"
        except Exception as error:  # noqa: BLE001 - the boundary of a server: whatever breaks in it is its state
            failed = self._locked or f"{_reason(error)}{self._last_words()}"
        finally:
            self._client = None
            if failed and self.state != ServerState.FAILED:
                self._turn(ServerState.FAILED, failed)
            self._settled.set()

    async def _opened(self, stack: AsyncExitStack) -> Client:
        """A client that is not entered yet. What it brings along is imported now: most chats have no server."""
        await asyncio.to_thread(import_module, "mcp")  # takes most of a second
        from mcp import Client

        server = self.server.expand_variables(os.environ)
        if server.headers and is_plain(server.url, key_over_http=self._key_over_http):
            raise BadConfig(
                "its headers would go over plain http to another machine",
                way_out="use https, or set key_over_http = true in your own configuration",
            )
        if server.sse:
            from mcp.client.sse import sse_client

            return Client(
                sse_client(
                    server.url,
                    headers=dict(server.headers),
                    sse_read_timeout=_QUIET,
                    httpx_client_factory=self._http_client,
                )
            )
        if server.url:
            from mcp.client.streamable_http import streamable_http_client

            client = self._http_client(headers=dict(server.headers))
            http = await stack.enter_async_context(client)
            return Client(streamable_http_client(server.url, http_client=http))
        from mcp.client.stdio import StdioServerParameters, stdio_client

        errors = stack.enter_context(self._log_end())
        told = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env={**passed_variables(os.environ), **server.env},
            cwd=server.cwd or None,
            encoding=_BOUNDED,
        )
        return Client(stdio_client(told, errlog=errors))

    def _http_client(self, headers: dict[str, Any] | None = None, timeout: Any = None, auth: Any = None) -> AsyncClient:
        import httpx2

        hooks = {"response": [self._answered]}
        # A proxy of the environment has no business between two programs of this machine.
        environment = not is_loopback(self.server.expand_variables(os.environ).url)
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks, trust_env=environment)

    async def _answered(self, response: Response) -> None:
        """Of an answer over HTTP, whether it wants a sign-in: what is raised later does not say so."""
        self._locked = _sign_in(response)
        # A stream may go on for ever, and the SDK bounds its events.
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            await bind(response)

    async def _list(self, client: Client) -> None:
        """Ask for everything that it offers."""
        offers = client.server_capabilities
        tools: list[Any] = []
        cursor = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        self.tools = tools_of(self.server.name, tools)
        # The tools are of use without these; what a server says of them and cannot keep stands in its log.
        if offers.resources is not None:
            try:
                self.resources = resources_of((await client.list_resources()).resources)
            except Exception as error:  # noqa: BLE001 - the boundary of a server
                self._note(f"its resources cannot be listed: {_reason(error)}")
        if offers.prompts is not None:
            try:
                self.prompts = prompts_of((await client.list_prompts()).prompts)
            except Exception as error:  # noqa: BLE001 - the boundary of a server
                self._note(f"its prompts cannot be listed: {_reason(error)}")

    def _note(self, words: str) -> None:
        """A line of ours in the server's log."""
        with self._log_end() as log:
            log.write(f"ctxtui: {words}\n")

    def _log_end(self) -> TextIO:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(handle, "w", encoding="utf-8", errors="replace")


def _reason(error: BaseException) -> str:
    """What went wrong, without the groups that it is wrapped in."""
    if isinstance(error, FileNotFoundError):
        return f"there is no command {error.filename}"
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return _sign_in(getattr(error, "response", None)) or str(error) or type(error).__name__


def _sign_in(response: Response | None) -> str:
    """What to do where a server wants a sign-in; "" where it does not."""
    if response is None or response.status_code not in (401, 403):
        return ""
    return _SIGN_IN.format(status=response.status_code, url=response.url)
