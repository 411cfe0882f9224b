"""The Responses API by WebSocket: one connection, a frame for each request, a frame for each event (facts §13.3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import WSMsgType, web

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import KeptResponse, Refusal, Reply, compact
from ctxtui.offline.faults import BREAKS, DISCONNECT, GARBAGE, Fault
from ctxtui.offline.http.watching import watched
from ctxtui.offline.json_shape import members

_LARGEST: Final = 64 * 1024 * 1024
_GARBAGE: Final = "{]<html> garbage"
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
            await self._put(_GARBAGE if breaking.kind == GARBAGE else _frame(reply.broken, lane))
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
