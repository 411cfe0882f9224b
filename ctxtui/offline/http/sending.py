"""How a reply goes out, at its pace, with the fault that it met: over HTTP, whole or in chunks, or by WebSocket, a
frame for each request and for each event (facts §13.3)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from aiohttp import WSMsgType, web

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import KeptResponse, Refusal, Reply, compact
from ctxtui.offline.faults import BREAKS, DISCONNECT, GARBAGE, STREAM_ERROR, Fault
from ctxtui.offline.http.exchange_log import watched
from ctxtui.offline.json_shape import members

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """What `work` returns, or raises; done in a thread of its own. Unlike the event loop's own threads this one is not
    waited for when the loop ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: Result | None = None
        failed: BaseException | None = None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - carried over to whoever waits
            failed = error
        # A loop that has ended meanwhile wants nothing any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, name="offline request", daemon=True).start()
    return await future


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


_LARGEST: Final = 64 * 1024 * 1024
_GARBAGE_FRAME: Final = "{]<html> garbage"
Answer = Callable[[bytes, dict[str, KeptResponse]], Awaitable[tuple[Reply | Refusal, Fault | None]]]
"""Serves a frame, given with what its connection holds; with the fault that it met."""

ErrorBody = Callable[[Refusal, str], Json]


def asks_for_socket(request: web.Request) -> bool:
    """Whether a WebSocket is wanted."""
    return request.headers.get("upgrade", "").lower() == "websocket"


async def talk(
    request: web.Request, answer: Answer, error: ErrorBody, headers: Mapping[str, str], pace: float
) -> web.StreamResponse:
    """Serve a WebSocket until it closes; `pace` in tokens a second (0: as fast as can be)."""
    socket = web.WebSocketResponse(max_msg_size=_LARGEST)
    socket.headers.update(headers)
    await socket.prepare(request)
    connection = _Connection(request, socket, answer, error, pace)
    async for message in socket:
        if message.type == WSMsgType.TEXT:
            await connection.take(str(message.data))
        elif message.type == WSMsgType.BINARY:
            await connection.refuse(Refusal("Binary frames are not supported.", rule="binary frame"), "")
    return socket


class _Connection:
    """Keeps the newest response of each of its lanes, to go on with."""

    def __init__(
        self, request: web.Request, socket: web.WebSocketResponse, answer: Answer, error: ErrorBody, pace: float
    ) -> None:
        self._request = request
        self._socket = socket
        self._answer = answer
        self._error = error
        self._pace = pace
        self._lanes: dict[str, dict[str, KeptResponse]] = {}

    async def take(self, text: str) -> None:
        """Answer one frame."""
        one = watched()
        if one is not None:
            one.frame(text, sent=False)
        lane = _lane(text)
        # A conversation may go on in another lane: all that the connection holds can be named.
        held = {id_: kept for lanes in self._lanes.values() for id_, kept in lanes.items()}
        known = set(held)
        got, fault = await self._answer(text.encode("utf-8", "surrogatepass"), held)
        if isinstance(got, Refusal):
            self._lanes.pop(lane, None)
            await self.refuse(got, lane)
            return
        self._lanes[lane] = {id_: kept for id_, kept in held.items() if id_ not in known}
        await self._send(got, lane, fault)

    async def refuse(self, refusal: Refusal, lane: str) -> None:
        """Say why there is no answer."""
        told = {"type": "error", "status": refusal.status, **members(self._error(refusal, ""))}
        await self._put(_spelled(told, lane))

    async def _send(self, reply: Reply, lane: str, fault: Fault | None) -> None:
        breaking = fault if fault is not None and fault.kind in BREAKS else None
        frames = [_frame(event, lane) for event in reply.events or ()]
        reply.begin()
        frames = frames if breaking is None else frames[: breaking.after]
        wait = reply.output / self._pace / max(1, len(frames)) if self._pace else 0.0
        for frame in frames:
            await self._put(frame)
            if wait:
                await asyncio.sleep(wait)
        if breaking is None:
            return
        if breaking.kind != DISCONNECT:
            await self._put(_GARBAGE_FRAME if breaking.kind == GARBAGE else _frame(reply.broken, lane))
        elif self._request.transport is not None:
            self._request.transport.abort()

    async def _put(self, text: str) -> None:
        await self._socket.send_str(text)
        one = watched()
        if one is not None:
            one.frame(text, sent=True)


def _lane(text: str) -> str:
    try:
        return str(members(json.loads(text)).get("stream_id") or "")
    except (ValueError, RecursionError):
        return ""


def _frame(event: bytes, lane: str) -> str:
    """A server-sent event as a frame: its data alone."""
    data = event.partition(b"data: ")[2].strip().decode()
    return _spelled(json.loads(data), lane) if lane else data


def _spelled(value: dict[str, Json], lane: str) -> str:
    return compact(value | ({"stream_id": lane} if lane else {})).decode()
