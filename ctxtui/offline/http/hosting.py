"""Starts and stops the offline provider: in an event loop, a thread or a child process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Final

from aiohttp import web
from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.offline.anthropic.models import OFFLINE
from ctxtui.offline.http.server import Server, is_loopback
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import text_counter

HOST: Final = "127.0.0.1"


class RunningProvider(Struct, frozen=True):
    """A running offline provider; `url` is its root, as ``base_url`` of the Anthropic SDK."""

    url: str
    server: Server

    @property
    def openai_url(self) -> str:
        """The ``base_url`` for the OpenAI SDK."""
        return f"{self.url}/v1"


@asynccontextmanager
async def serving(server: Server | None = None, *, port: int = 0, host: str = HOST) -> AsyncIterator[RunningProvider]:
    """Serve within the running event loop. `port` 0 takes a free one.

    Raises `BadConfig` if the port cannot be opened. On a loopback `host` only requests to a loopback name (127.0.0.1,
    localhost) are accepted; on another one all are.
    """
    server = server or Server()
    app = server.app(anyone=not is_loopback(host))
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise BadConfig(f"port {port} cannot be opened: {error.strerror}", way_out="name another --port") from error
        bound_port = runner.addresses[0][1]
        yield RunningProvider(f"http://{host}:{bound_port}", server)
    finally:
        await runner.cleanup()


@contextmanager
def offline(server: Server | None = None, *, port: int = 0) -> Iterator[RunningProvider]:
    """Serve from a thread of its own, for code without an event loop: tests, scripts.

    Raises `BadConfig` if the port cannot be opened.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ctxtui offline", daemon=True)
    thread.start()
    stack = AsyncExitStack()
    try:
        started = stack.enter_async_context(serving(server, port=port))
        yield asyncio.run_coroutine_threadsafe(started, loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def starter() -> Callable[[float], str]:
    """The entry point of a child process, so that the screen does not wait for a tokenizer.

    Given a pace in tokens a second, it serves at that pace until the process ends, and returns its address.
    """
    stack = ExitStack()

    def start(pace: float) -> str:
        # With a seed two chats would have calls with the same ids, and statistics would count them once.
        running = stack.enter_context(offline(Server(Provider(seed=None), pace=pace)))
        # The tokenizer loads while the user is still typing.
        threading.Thread(target=text_counter(OFFLINE), args=("",), daemon=True).start()
        return running.url

    return start
