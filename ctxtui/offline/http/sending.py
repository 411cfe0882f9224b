"""How a reply goes out over HTTP: whole or in chunks, at its pace, with the fault that it met."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Reply, compact
from ctxtui.offline.faults import BREAKS, DISCONNECT, GARBAGE, STREAM_ERROR, Fault
from ctxtui.offline.http.watching import watched

_GARBAGE: Final = b"\xff\xfe{]<html>\x00 garbage\r\n"
_AT_ONCE: Final = 64


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """`value` as a response."""
    told = {**(headers or {}), "content-type": "application/json"}
    return web.Response(body=compact(value), status=status, headers=told)


async def send(
    request: web.Request, reply: Reply, headers: Mapping[str, str], fault: Fault | None, pace: float
) -> web.StreamResponse:
    """Send `reply` at `pace` tokens a second (0: as fast as can be)."""
    seconds = reply.output / pace if pace else 0.0
    breaking = fault if fault is not None and fault.kind in BREAKS else None
    if reply.events is None:
        await asyncio.sleep(seconds)
        return _whole(request, reply, headers, breaking)
    response = web.StreamResponse(headers={**headers, "content-type": reply.kind, "cache-control": "no-cache"})
    await response.prepare(request)
    reply.begin()
    await _write(response, reply.events if breaking is None else reply.events[: breaking.after], seconds)
    if breaking is not None and breaking.kind == DISCONNECT:
        _drop(request)
        return response
    if breaking is not None:
        await _put(response, reply.broken if breaking.kind == STREAM_ERROR else _GARBAGE)
    one = watched()
    if one is not None:
        # In front of the end, so that whoever has the answer finds it in the log.
        one.ended(response)
    await response.write_eof()
    return response


def _whole(
    request: web.Request, reply: Reply, headers: Mapping[str, str], breaking: Fault | None
) -> web.StreamResponse:
    if breaking is not None and breaking.kind == DISCONNECT:
        _drop(request)
    elif breaking is not None and breaking.kind == GARBAGE:
        return web.Response(body=_GARBAGE, headers={**headers, "content-type": "application/json"})
    reply.begin()
    return json_response(reply.body, reply.status, headers)


async def _put(response: web.StreamResponse, data: bytes) -> None:
    await response.write(data)
    one = watched()
    if one is not None:
        one.sent(data)


async def _write(response: web.StreamResponse, chunks: tuple[bytes, ...], seconds: float) -> None:
    """Chunks evenly over `seconds`; without a pace, a good many at once."""
    if not seconds:
        for n in range(0, len(chunks), _AT_ONCE):
            await _put(response, b"".join(chunks[n : n + _AT_ONCE]))
        return
    loop = asyncio.get_running_loop()
    start = loop.time()
    for n, chunk in enumerate(chunks):
        await _put(response, chunk)
        ahead = start + seconds * (n + 1) / len(chunks) - loop.time()
        if ahead > 0:
            await asyncio.sleep(ahead)


def _drop(request: web.Request) -> None:
    """Cut the connection, with nothing said."""
    if request.transport is not None:
        request.transport.abort()
