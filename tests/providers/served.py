"""A small HTTP server on loopback: answers what a test tells it, and keeps what it was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Served:
    """What was posted to the server."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.root = ""


@asynccontextmanager
async def served(routes: Mapping[str, Any]) -> AsyncIterator[Served]:
    """A server whose `routes` give JSON by path, or are handlers."""
    kept = Served()

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            kept.bodies.append(await request.read())
            kept.headers.append(request.headers)
        what = routes.get(request.path)
        if what is None:
            raise web.HTTPNotFound
        if callable(what):
            answer: web.StreamResponse = await what(request)
            return answer
        return web.json_response(what)

    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kept.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield kept
    finally:
        await runner.cleanup()


def streaming(*pieces: bytes, headers: Mapping[str, str] | None = None, breaks: bool = False) -> Answer:
    """A handler that streams `pieces`, and drops the connection after them where it `breaks`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **(headers or {})})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        if breaks:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write_eof()
        return response

    return answer


def failing(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """A handler that refuses."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=dict(headers or {}))

    return answer
