"""Sends the offline provider's replies over HTTP or a WebSocket.

Replies have a pace and may have a simulated fault. A WebSocket carries one frame for each request and for each event
(facts §13.3). A *lane* is a sequence of responses on one WebSocket, named by ``stream_id``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Final, TypeVar

from aiohttp import WSMsgType, web
from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.offline.exchange import Refusal, Reply, StoredResponse, compact
from ctxtui.offline.faults import BREAKS, DISCONNECT, GARBAGE, STREAM_ERROR, Fault
from ctxtui.offline.http.exchange_log import current_exchange

_GARBAGE: Final = b"\xff\xfe{]<html>\x00 garbage\r\n"
_GARBAGE_FRAME: Final = "{]<html> garbage"
_CHUNKS_PER_WRITE: Final = 64
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread of its own; return or raise its result.

    Unlike the event loop's own threads, it is not waited for when the loop ends.
    """
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - carried over to whoever waits
            future.set_exception(error)

    threading.Thread(target=run, name="offline request", daemon=True).start()
    return await asyncio.wrap_future(future)


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    all_headers = {**(headers or {}), "content-type": "application/json"}
    return web.Response(body=compact(value), status=status, headers=all_headers)


async def send(
    request: web.Request, reply: Reply, headers: Mapping[str, str], fault: Fault | None, pace: float
) -> web.StreamResponse:
    """Send `reply` at `pace` tokens a second (0: as fast as possible).

    A `fault` of `BREAKS` breaks it off; an error in the middle of a stream does nothing to an answer that is no stream.
    """
    seconds = reply.output_tokens / pace if pace else 0.0
    breaking = fault if fault is not None and fault.kind in BREAKS else None
    broken = breaking.kind if breaking is not None else ""
    if reply.events is None:
        await asyncio.sleep(seconds)
        if broken == DISCONNECT:
            _cut_connection(request)
        elif broken == GARBAGE:
            return web.Response(body=_GARBAGE, headers={**headers, "content-type": "application/json"})
        reply.begin()
        return json_response(reply.body, reply.status, headers)
    response = web.StreamResponse(headers={**headers, "content-type": reply.media_type, "cache-control": "no-cache"})
    await response.prepare(request)
    reply.begin()
    chunks = reply.events if breaking is None else reply.events[: breaking.after]
    # Evenly over the time; without a pace, in large groups.
    step = 1 if seconds else _CHUNKS_PER_WRITE
    loop = asyncio.get_running_loop()
    start = loop.time()
    for n in range(0, len(chunks), step):
        await _write(response, b"".join(chunks[n : n + step]))
        delay = start + seconds * (n + 1) / len(chunks) - loop.time()
        if delay > 0:
            await asyncio.sleep(delay)
    if broken == DISCONNECT:
        _cut_connection(request)
        return response
    if broken:
        await _write(response, reply.failure_event if broken == STREAM_ERROR else _GARBAGE)
    exchange = current_exchange()
    if exchange is not None:
        # Before the end, so that clients with the answer find it in the log.
        exchange.finish(response)
    await response.write_eof()
    return response


async def _write(response: web.StreamResponse, data: bytes) -> None:
    await response.write(data)
    exchange = current_exchange()
    if exchange is not None:
        exchange.add_sent(data)


def _cut_connection(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


Answer = Callable[[bytes, dict[str, StoredResponse]], Awaitable[tuple[Reply | Refusal, Fault | None]]]
"""Serves a frame with its connection's state; also returns its fault."""
ErrorBody = Callable[[Refusal, str], Json]


class Connection(Struct):
    """A WebSocket, served at `pace` tokens a second (0: as fast as possible).

    The newest response of each lane is kept, so that a later request can continue it.
    """

    request: web.Request
    socket: web.WebSocketResponse
    answer: Answer
    format_error: ErrorBody
    pace: float
    lanes: dict[str, dict[str, StoredResponse]] = field(default_factory=dict)

    async def serve(self) -> web.StreamResponse:
        await self.socket.prepare(self.request)
        async for message in self.socket:
            if message.type == WSMsgType.TEXT:
                await self._serve_frame(str(message.data))
            elif message.type == WSMsgType.BINARY:
                await self._refuse(Refusal("Binary frames are not supported.", rule="binary frame"), "")
        return self.socket

    async def _serve_frame(self, text: str) -> None:
        exchange = current_exchange()
        if exchange is not None:
            exchange.add_frame(text, sent=False)
        lane = _lane_of(text)
        # A conversation may continue in another lane, so all responses of the connection are passed.
        responses = {id_: response for lane in self.lanes.values() for id_, response in lane.items()}
        earlier_ids = set(responses)
        reply, fault = await self.answer(text.encode("utf-8", "surrogatepass"), responses)
        if isinstance(reply, Refusal):
            self.lanes.pop(lane, None)
            await self._refuse(reply, lane)
            return
        self.lanes[lane] = {id_: response for id_, response in responses.items() if id_ not in earlier_ids}
        breaking = fault if fault is not None and fault.kind in BREAKS else None
        frames = [_event_frame(event, lane) for event in reply.events or ()]
        reply.begin()
        frames = frames if breaking is None else frames[: breaking.after]
        for frame in frames:
            await self._write(frame)
            if self.pace:
                await asyncio.sleep(reply.output_tokens / self.pace / len(frames))
        if breaking is not None and breaking.kind == DISCONNECT:
            _cut_connection(self.request)
        elif breaking is not None:
            await self._write(_GARBAGE_FRAME if breaking.kind == GARBAGE else _event_frame(reply.failure_event, lane))

    async def _refuse(self, refusal: Refusal, lane: str) -> None:
        await self._write(
            _encode_frame({"type": "error", "status": refusal.status, **as_dict(self.format_error(refusal, ""))}, lane)
        )

    async def _write(self, text: str) -> None:
        await self.socket.send_str(text)
        exchange = current_exchange()
        if exchange is not None:
            exchange.add_frame(text, sent=True)


def _lane_of(text: str) -> str:
    try:
        return str(as_dict(json.loads(text)).get("stream_id") or "")
    except (ValueError, RecursionError):
        return ""


def _event_frame(event: bytes, lane: str) -> str:
    """A server-sent event as a frame: its data only."""
    data = event.partition(b"data: ")[2].strip().decode()
    return _encode_frame(json.loads(data), lane) if lane else data


def _encode_frame(value: dict[str, Json], lane: str) -> str:
    return compact(value | ({"stream_id": lane} if lane else {})).decode()
