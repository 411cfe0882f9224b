"""The connection to one MCP server: start, call, cancel, stop; errors become its state."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.providers.bounded_answers import limit_response
from ctxtui.providers.endpoint import is_loopback, must_withhold_key
from ctxtui.services.config.environment import passed_variables
from ctxtui.services.config.extras import import_extra
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.mcp.offered import (
    OfferedText,
    OfferedTool,
    convert_part,
    convert_prompts,
    convert_resources,
    convert_tools,
    resource_text,
)
from ctxtui.wire.bounds import MAX_MCP_MESSAGE_BYTES
from ctxtui.wire.key_mask import mask_url

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from mcp import Client
    from mcp.types import CallToolResult

START_TIMEOUT: Final = 60.0
"""Seconds without output after which a starting server is given up, unless its own `timeout` is longer."""
MAX_START: Final = 600.0
"""Seconds after which a starting server is given up, even if it still writes output."""
_CHECK_SECONDS: Final = 0.5
_CLOSED: Final = -32000
"""JSON-RPC error code of the SDK for a connection that was closed."""
_TIMED_OUT: Final = -32001
"""JSON-RPC error code of the SDK for a request without an answer in time."""
_MAX_PAGES: Final = 100
_SSE_READ_TIMEOUT: Final = 86_400.0
"""Seconds without an event after which a connection over SSE is given up."""
_SIGN_IN_HINT: Final = (
    "it requires sign-in ({status}); OAuth is not supported: give its token in headers (Authorization = "
    '"Bearer ${{TOKEN}}"), or let a program sign in: command = "npx", args = ["-y", "mcp-remote", "{url}"]'
)
_MAX_LOG_BYTES: Final = 200_000


class _BoundedLines(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
    """UTF-8 decoder that cuts overlong lines.

    The SDK buffers lines, so that a server could fill the memory with one.
    """

    _size = 0

    def decode(self, data: Any, final: bool = False) -> str:
        line, end, unfinished = data.rpartition(b"\n")
        cut = self._size > MAX_MCP_MESSAGE_BYTES
        self._size = len(unfinished) + (0 if end else self._size)
        if cut:
            data = line.partition(b"\n")[2] + end + unfinished if end else b""
        elif self._size > MAX_MCP_MESSAGE_BYTES:
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
    """The state of a connection; `FAILED`: it did not start, or ended by itself."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class ServerFailed(CtxtuiError):
    """Raised when a server did not start, ended or did not answer."""


class ServerConnection:
    """The connection to `server`, for one event loop.

    `log` is the file for the server's standard error. Cancelling a waiting call cancels it on the server too.
    """

    def __init__(self, server: McpServer, log: Path, *, key_over_http: bool = False) -> None:
        self.server = server
        self.state = ServerState.STOPPED
        self.error = ""
        """The reason of a failure."""
        self.tools: tuple[OfferedTool, ...] = ()
        self.resources: tuple[OfferedText, ...] = ()
        self.prompts: tuple[OfferedText, ...] = ()
        self.awaited = ""
        """The next thing that is expected of a starting server, such as "its list of tools"."""
        self._started = 0.0
        self._log = log
        self._sign_in_error = ""
        self._key_over_http = key_over_http
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._settled = asyncio.Event()

    async def start(self) -> None:
        """Start the server unless it runs, and wait until it is ready or failed (`state`, `error`)."""
        if self.state == ServerState.READY:
            return
        if self._task is not None and self._end.is_set():
            # Clean up the previous run first.
            await asyncio.gather(self._task, return_exceptions=True)
        if self._task is None or self._task.done():
            self._end, self._settled = asyncio.Event(), asyncio.Event()
            self._started, self.awaited = time.monotonic(), "its process"
            self._set_state(ServerState.STARTING)
            self._task = asyncio.create_task(self._run_server())
        await self._settled.wait()

    @property
    def progress(self) -> str:
        """A starting server's step, its time so far, and its last line of output.

        "" for any other.
        """
        if self.state != ServerState.STARTING:
            return ""
        return f"{self.awaited}, {self.seconds_since_start:.0f} s{self._log_suffix()}"

    @property
    def seconds_since_start(self) -> float:
        """Seconds since its last start; 0.0 before the first."""
        return time.monotonic() - self._started if self._started else 0.0

    async def stop(self) -> None:
        """Stop the server, wait until it has ended, and delete its log."""
        self._end.set()
        if self._task is not None:
            if self.state == ServerState.STARTING:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._set_state(ServerState.STOPPED)
        with suppress(OSError):
            self._log.unlink()

    async def call_tool(self, tool: str, tool_input: Json) -> CallToolResult:
        """Call `tool` and return its result, starting the server if need be. Raises `ServerFailed`."""
        client = await self._ready_client()
        arguments = tool_input if isinstance(tool_input, dict) else {}
        request = client.call_tool(tool, arguments, read_timeout_seconds=self.server.timeout)
        result: CallToolResult = await self._await_answer(request)
        return result

    async def read_resource(self, uri: str) -> str:
        """Read the text of a resource. Raises `ServerFailed`."""
        client = await self._ready_client()
        return resource_text((await self._await_answer(client.read_resource(uri))).contents)

    async def read_prompt(self, name: str, arguments: dict[str, str]) -> str:
        """Read the text of a prompt with its arguments filled in. Raises `ServerFailed`."""
        client = await self._ready_client()
        prompt = await self._await_answer(client.get_prompt(name, arguments))
        return "\n\n".join(convert_part(message.content) for message in prompt.messages)

    def log_text(self) -> str:
        """Read the end of the server's log: its standard error, and lines of ctxtui's own."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_LOG_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    async def _ready_client(self) -> Client:
        if self._client is None:
            await self.start()
        if self._client is None:
            raise ServerFailed(f"the MCP server {self.server.name} is not running: {self.error}")
        return self._client

    async def _await_answer(self, request: Any) -> Any:
        from mcp import MCPError

        name = self.server.name
        try:
            return await request
        except MCPError as error:
            if error.error.code == _TIMED_OUT:
                raise ServerFailed(f"the MCP server {name} did not answer in {self.server.timeout:g} seconds") from None
            if error.error.code == _CLOSED:
                self._client = None
                self._end.set()
                self._set_state(ServerState.FAILED, f"it ended{self._log_suffix()}")
                raise ServerFailed(f"the MCP server {name} ended{self._log_suffix()}") from None
            raise ServerFailed(f"{name}: {error.error.message}") from None
        except (OSError, ValueError, RuntimeError) as error:
            raise ServerFailed(f"the MCP server {name}: {type(error).__name__}: {error}") from None

    @property
    def last_log_line(self) -> str:
        """The last line of its log that is not blank; "" if there is none."""
        line = next((line for line in reversed(self.log_text().splitlines()) if line.strip()), "")
        return line.strip()[:300]

    def _log_suffix(self) -> str:
        line = self.last_log_line
        return f": {line}" if line else ""

    def _set_state(self, state: ServerState, why: str = "") -> None:
        self.state, self.error = state, why

    async def _run_server(self) -> None:
        """Start the server; stop it on `_end`. The SDK's client must be entered and left in the same task."""
        failure, timeout = "", min(max(START_TIMEOUT, self.server.timeout), MAX_START)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(timeout) as limit:
                    listening = asyncio.create_task(self._extend(limit, timeout))
                    stack.callback(listening.cancel)
                    client = await self._create_client(stack)
                    self.awaited = "its answer to `initialize`"
                    client = await stack.enter_async_context(client)
                    self.awaited = "its list of tools"
                    await self._list_offers(client)
                    listening.cancel()
                self._client = client
                self._set_state(ServerState.READY)
                self._settled.set()
                await self._end.wait()
        except TimeoutError:
            failure = f"{self.awaited} did not come in {self.seconds_since_start:.0f} seconds{self._log_suffix()}"
        except Exception as error:  # noqa: BLE001 - the boundary of a server: whatever breaks in it is its state
            failure = self._sign_in_error or f"{_error_message(error)}{self._log_suffix()}"
        finally:
            self._client = None
            if failure and self.state != ServerState.FAILED:
                self._set_state(ServerState.FAILED, failure)
            self._settled.set()

    async def _extend(self, limit: asyncio.Timeout, timeout: float) -> None:
        """Extend the limit of a start while the server writes output.

        The limit is `timeout` seconds after the last output, and at most `MAX_START` after the start.
        """
        loop, size = asyncio.get_running_loop(), self._log_size()
        last = loop.time() + MAX_START - timeout
        while not limit.expired():
            await asyncio.sleep(_CHECK_SECONDS)
            if not limit.expired() and (new := self._log_size()) > size:
                size = new
                limit.reschedule(min(loop.time(), last) + timeout)

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    async def _create_client(self, stack: AsyncExitStack) -> Client:
        # The SDK is imported here: most chats use no server.
        await asyncio.to_thread(import_extra, "mcp")
        from mcp import Client

        server = self.server.expand_variables(os.environ)
        if server.headers and must_withhold_key(server.url, key_over_http=self._key_over_http):
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
                    sse_read_timeout=_SSE_READ_TIMEOUT,
                    httpx_client_factory=self._http_client,
                )
            )
        if server.url:
            from mcp.client.streamable_http import streamable_http_client

            http = await stack.enter_async_context(self._http_client(headers=dict(server.headers)))
            return Client(streamable_http_client(server.url, http_client=http))
        from mcp.client.stdio import StdioServerParameters, stdio_client

        errors = stack.enter_context(self._open_log())
        parameters = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env={**passed_variables(os.environ), **server.env},
            cwd=server.cwd or None,
            encoding=_BOUNDED,
        )
        return Client(stdio_client(parameters, errlog=errors))

    def _http_client(self, headers: dict[str, Any] | None = None, timeout: Any = None, auth: Any = None) -> AsyncClient:
        import httpx2

        hooks = {"response": [self._check_response]}
        # The environment's proxy must not be used between two programs of this machine.
        environment = not is_loopback(self.server.expand_variables(os.environ).url)
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks, trust_env=environment)

    async def _check_response(self, response: Response) -> None:
        """Note whether an HTTP response asks for a sign-in; the error raised later does not tell."""
        self._sign_in_error = _sign_in_hint(response)
        # A stream may be endless; the SDK limits its events.
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            await limit_response(response)

    async def _list_offers(self, client: Client) -> None:
        offers = client.server_capabilities
        if offers.tools is not None or (offers.resources is None and offers.prompts is None):
            self.tools = convert_tools(self.server.name, await _list_all(client.list_tools, "tools"))
        # The tools work without resources and prompts, so errors only go into the log.
        if offers.resources is not None:
            try:
                self.resources = convert_resources(await _list_all(client.list_resources, "resources"))
            except Exception as error:  # noqa: BLE001 - the boundary of a server
                self._write_log(f"its resources cannot be listed: {_error_message(error)}")
        if offers.prompts is not None:
            try:
                self.prompts = convert_prompts(await _list_all(client.list_prompts, "prompts"))
            except Exception as error:  # noqa: BLE001 - the boundary of a server
                self._write_log(f"its prompts cannot be listed: {_error_message(error)}")

    def _write_log(self, line: str) -> None:
        with self._open_log() as log:
            log.write(f"ctxtui: {line}\n")

    def _open_log(self) -> TextIO:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(handle, "w", encoding="utf-8", errors="replace")


async def _list_all(list_page: Callable[..., Awaitable[Any]], name: str) -> list[Any]:
    items: list[Any] = []
    cursor = None
    for _ in range(_MAX_PAGES):
        page = await list_page(cursor=cursor)
        items += getattr(page, name)
        cursor = page.next_cursor
        if not cursor:
            break
    return items


def _error_message(error: BaseException) -> str:
    """The message of `error`, unwrapped from exception groups."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} does not exist"
    return _sign_in_hint(getattr(error, "response", None)) or mask_url(str(error)) or type(error).__name__


def _sign_in_hint(response: Response | None) -> str:
    """A hint for the user if the server asks for a sign-in, else ""."""
    if response is None or response.status_code not in (401, 403):
        return ""
    return _SIGN_IN_HINT.format(status=response.status_code, url=mask_url(str(response.url)))
