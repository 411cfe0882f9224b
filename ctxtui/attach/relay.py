"""Passes a client's bytes on to its provider and the answer's back, as they come, and tells a recorder.

One connection of the client is one to the provider. Of a request's head the host changes, which has to be the
provider's, and in a relay of several providers the name in front of the path; everything else is passed on as the bytes
that came.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from ctxtui.attach import http1
from ctxtui.attach.decoding import unpacker
from ctxtui.attach.frames import FrameReader, readers
from ctxtui.attach.gate import Gate, Verdict, Waiting
from ctxtui.attach.http1 import Body, Head
from ctxtui.attach.recorder import Answered, Asked, Begun, Ended, Frame, News, Said, Sent
from ctxtui.attach.upstream import Upstream
from ctxtui.attach.visitors import stranger
from ctxtui.core.errors import BadConfig, Malformed

HOST: Final = "127.0.0.1"
PIECE: Final = 1 << 16
_CONNECT: Final = 30.0
"""Seconds for a connection to a provider."""
GONE: Final = "the client went away"
CUT: Final = "the provider's connection broke off"


class _Away(Exception):
    """The client's connection is at its end."""


class _Cut(Exception):
    """The provider's connection is at its end, in the middle of something."""


@dataclass(slots=True)
class _Side:
    """One end of a connection; `held` was read and belongs to what comes next."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    held: bytes = b""

    async def some(self) -> bytes:
        """What has come, b"" at the end."""
        if self.held:
            data, self.held = self.held, b""
            return data
        return await self.reader.read(PIECE)

    async def head(self) -> Head | None:
        """The next head; None where the connection ends before one. Raises `Malformed`."""
        known = b""
        while http1.END not in known:
            data = await self.some()
            if not data:
                if known.strip():
                    raise Malformed("a head that breaks off")
                return None
            known += data
            if len(known) > http1.MOST_HEAD:
                raise Malformed("a head that is too long")
            known = known.lstrip(b"\r\n")
        raw, end, self.held = known.partition(http1.END)
        return http1.read_head(raw + end)

    async def put(self, data: bytes) -> None:
        """Pass bytes on; waits while the other end is slow."""
        self.writer.write(data)
        transport = self.writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > PIECE:
            await self.writer.drain()

    def close(self) -> None:
        """Nothing more goes this way."""
        self.writer.close()

    def abort(self) -> None:
        """End it at once."""
        self.writer.transport.abort()


@dataclass(slots=True)
class Relay:
    """Serves on loopback. `tell` hears of everything that goes by (it must not wait or raise), each exchange under a
    `name` of its own. With `named` the first step of a path names the provider, else there is one."""

    upstreams: Sequence[Upstream]
    tell: Callable[[News], None]
    name: Callable[[], str]
    _: KW_ONLY
    named: bool = False
    gate: Gate | None = None
    clock: Callable[[], float] = time.time
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> None:
        """Begin to serve. Raises `BadConfig` where the port is taken."""
        try:
            self._server = await asyncio.start_server(self._connected, HOST, port, limit=PIECE)
        except OSError as error:
            raise BadConfig(f"port {port} cannot be opened: {error.strerror}", way_out="name another --port") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End at once, with what is open."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def base_url(self, upstream: Upstream) -> str:
        """What a client is given in place of the provider's own base URL."""
        name = f"/{upstream.name}" if self.named else ""
        return f"http://{HOST}:{self.port}{name}{upstream.path}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await _Connection(self, _Side(reader, writer)).serve()
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)


class _Connection:
    """A client's connection, with those to providers that it leads to."""

    def __init__(self, relay: Relay, client: _Side) -> None:
        self._relay = relay
        self._client = client
        self._sides: dict[str, _Side] = {}

    async def serve(self) -> None:
        """Pass on one exchange after the other until either end closes."""
        try:
            while await self._next():
                pass
        except _Away:
            pass
        except Malformed as error:
            await self._refuse(400, str(error))
        finally:
            for side in self._sides.values():
                side.close()
            self._client.close()

    async def _next(self) -> bool:
        """One exchange; whether another one may follow."""
        head = await self._head()
        if head is None:
            return False
        asked = http1.asked(head)
        why = stranger(head)
        if why:
            told = f"only programs of this machine are served, under its own name; this came with {why!r}"
            await self._refuse(403, told)
            return False
        found = self._upstream(asked.target)
        if found is None:
            names = ", ".join(f"/{one.name}/" for one in self._relay.upstreams)
            await self._refuse(404, f"{asked.target[:80]!r} leads to no provider; paths begin with {names}")
            return False
        upstream, target = found
        body = http1.request_body(head)
        exchange = _Exchange(
            relay=self._relay, client=self._client, upstream=upstream, head=head, target=target, body=body
        )
        exchange.begin(asked.method)
        if not await exchange.passes_gate():
            return False
        try:
            side = await self._side(upstream)
        except (OSError, TimeoutError) as error:
            why = f"{upstream.origin} cannot be reached: {_words(error)}"
            exchange.end(why)
            await self._refuse(502, why)
            return False
        return await exchange.carry(side)

    async def _head(self) -> Head | None:
        """The client's next request; None where it, or the provider, ends the connection first."""
        idle = [asyncio.ensure_future(self._end_of(side)) for side in self._sides.values()]
        mine = asyncio.ensure_future(self._client.head())
        try:
            await asyncio.wait([mine, *idle], return_when=asyncio.FIRST_COMPLETED)
            if not mine.done():
                # As the client would see it from the provider itself.
                return None
            return mine.result()
        finally:
            for task in (mine, *idle):
                task.cancel()
            await asyncio.gather(mine, *idle, return_exceptions=True)

    @staticmethod
    async def _end_of(side: _Side) -> None:
        while data := await side.reader.read(PIECE):
            side.held += data

    def _upstream(self, target: str) -> tuple[Upstream, str] | None:
        """The provider that a request's target leads to, and the target as it is told; None where none is meant."""
        if not target.startswith("/"):
            return None
        if not self._relay.named:
            return self._relay.upstreams[0], target
        name, slash, rest = target[1:].partition("/")
        if not slash:
            name, question, query = name.partition("?")
            rest = question + query
        found = next((one for one in self._relay.upstreams if one.name == name), None)
        return (found, f"/{rest}") if found is not None else None

    async def _side(self, upstream: Upstream) -> _Side:
        known = self._sides.get(upstream.name)
        if known is not None:
            return known
        server = upstream.host if upstream.tls else None
        opening = asyncio.open_connection(
            upstream.host, upstream.port, ssl=upstream.context, server_hostname=server, limit=PIECE
        )
        async with asyncio.timeout(_CONNECT):
            reader, writer = await opening
        side = self._sides[upstream.name] = _Side(reader, writer)
        return side

    async def _refuse(self, status: int, why: str) -> None:
        """An answer of ctxtui's own, where none can come from a provider."""
        with suppress(OSError):
            await self._client.put(refusal(status, why))


_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 502: "Bad Gateway"}


def refusal(status: int, why: str) -> bytes:
    """An answer that ctxtui gives itself, in the shape that the SDKs show; the connection ends with it."""
    error = {"type": "error", "error": {"type": "ctxtui_relay", "message": f"ctxtui: {why}"}}
    body = json.dumps(error).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One request on its way, and its answer."""

    relay: Relay
    client: _Side
    upstream: Upstream
    head: Head
    target: str
    body: Body
    x: str = ""
    method: str = ""
    ended: bool = False
    """Whether its end has been told."""
    ready: bytes | None = None
    """The whole body as it came, where it had to be whole before it leaves."""
    replaced: bytes | None = None
    """What leaves in its place."""
    away: bool = False
    """Whether the client has gone while it was answered."""

    def begin(self, method: str) -> None:
        """Tell of the request's head."""
        self.x, self.method = self.relay.name(), method
        url = f"{self.upstream.origin}{self.target}"
        self.relay.tell(Begun(x=self.x, at=self.relay.clock(), method=method, url=url, fields=self.head.fields))

    def end(self, error: str = "") -> None:
        """Tell that it is over."""
        if not self.ended:
            self.ended = True
            self.relay.tell(Ended(self.x, self.relay.clock(), error))

    async def passes_gate(self) -> bool:
        """Ask the gate, where there is one that wants to be asked; whether the request is to leave."""
        gate, url = self.relay.gate, f"{self.upstream.origin}{self.target}"
        try:
            if gate is None or self.body.done or self.head.get("expect") or not gate.wants(self.head, url):
                return True
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop a request
            self._passed(error)
            return True
        try:
            self.ready, said = await self._whole()
            waiting = Waiting(x=self.x, url=url, head=self.head, body=said)
            verdict = await self._unless_gone(gate.decide(waiting))
        except _Away:
            self.end(GONE)
            return False
        except Exception as error:  # noqa: BLE001 - as above
            self._passed(error)
            return True
        if verdict.told or verdict.body is not None:
            self.relay.tell(Sent(self.x, self.relay.clock(), verdict.body, verdict.told))
        self.replaced = verdict.body
        if verdict.answer is None:
            return True
        await self._answer(verdict.answer)
        return False

    async def _answer(self, answer: bytes) -> None:
        """Give an answer of ctxtui's own: the request never leaves. It is recorded as any other."""
        with suppress(OSError):
            await self.client.put(answer)
        raw, end, said = answer.partition(http1.END)
        head = http1.read_head(raw + end)
        now = self.relay.clock()
        self.relay.tell(Answered(self.x, now, http1.status_of(head), head.fields))
        self.relay.tell(Said(self.x, now, said))
        self.end()

    def _passed(self, error: Exception) -> None:
        why = f"a fault in ctxtui: {type(error).__name__}: {error}"
        self.relay.tell(Sent(self.x, self.relay.clock(), None, {"refused": {"": why}}))

    async def _whole(self) -> tuple[bytes, bytes]:
        """The body: the bytes as they came, and what they say, unpacked."""
        raw: list[bytes] = []
        said: list[bytes] = []
        while not self.body.done:
            data = await self.client.some()
            if not data:
                raise _Away
            taken, piece = self.body.feed(data)
            self.client.held = data[taken:] + self.client.held
            raw.append(data[:taken])
            said.append(piece)
            self.relay.tell(Asked(self.x, piece))
        self.relay.tell(Asked(self.x, b"", last=True))
        try:
            return b"".join(raw), unpacker(self.head.get("content-encoding")).feed(b"".join(said))
        except Malformed:
            # Nothing is known of it, so nothing is changed in it.
            return b"".join(raw), b""

    async def _unless_gone(self, deciding: Coroutine[Any, Any, Verdict]) -> Verdict:
        """What is decided. Raises `_Away` where the client goes first."""
        deciding_ = asyncio.ensure_future(deciding)
        gone = asyncio.ensure_future(self._rest())
        try:
            await asyncio.wait([deciding_, gone], return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                data = gone.result()
                self.client.held += data
                if not data and not deciding_.done():
                    raise _Away
            return await deciding_
        finally:
            for task in (deciding_, gone):
                task.cancel()
            await asyncio.gather(deciding_, gone, return_exceptions=True)

    async def carry(self, side: _Side) -> bool:
        """Pass the request on and the answer back; whether the connection goes on."""
        head = http1.with_field(self.head, "host", self.upstream.host_header)
        if self.relay.named:
            head = http1.with_target(head, http1.asked(self.head).target, self.target)
        if self.replaced is not None:
            head = http1.with_length(head, len(self.replaced))
        try:
            await side.put(head)
        except OSError:
            self.end(CUT)
            return False
        up = asyncio.ensure_future(self._up(side))
        down = asyncio.ensure_future(self._down(side, up))
        try:
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            if not down.done():
                up.result()
            goes_on = await down
            # Answered before it was asked to the end: what is left of it cannot be told from what follows.
            return goes_on and self.body.done
        except (_Away, ConnectionError) as error:
            self.end(GONE if isinstance(error, _Away) else str(error))
            side.abort()
            return False
        except _Cut:
            self.end(CUT)
            return False
        except Malformed as error:
            # The answer cannot be followed any further: what comes is passed on to its end.
            self.end(f"not recorded from here on: {error}")
            await _pour(side, self.client)
            return False
        finally:
            self.end("ctxtui ended")
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _up(self, side: _Side) -> None:
        """The request's body."""
        if self.ready is not None:
            with suppress(ConnectionError):
                await side.put(self.ready if self.replaced is None else self.replaced)
            return
        while not self.body.done:
            data = await self.client.some()
            if not data:
                raise _Away
            taken, said = self.body.feed(data)
            self.client.held = data[taken:] + self.client.held
            self.relay.tell(Asked(self.x, said))
            try:
                await side.put(data[:taken])
            except ConnectionError:
                # The provider takes no more; it may have said why.
                return
        self.relay.tell(Asked(self.x, b"", last=True))

    async def _down(self, side: _Side, up: asyncio.Task[None]) -> bool:
        """The answer, and those before it (``100 Continue``)."""
        while True:
            head = await side.head()
            if head is None:
                raise _Cut
            at = self.relay.clock()
            status = http1.status_of(head)
            await self._back(head.raw)
            if status == 101:
                self.relay.tell(Answered(self.x, at, status, head.fields))
                await self._switched(side, head, up)
                return False
            if status >= 200:
                break
        self.relay.tell(Answered(self.x, at, status, head.fields))
        watch = asyncio.ensure_future(self._watch(side, up))
        body = http1.answer_body(head, self.method)
        try:
            while not body.done:
                data = await side.some()
                if not data:
                    if self.away:
                        raise _Away
                    if body.ended():
                        break
                    raise _Cut
                taken, said = body.feed(data)
                side.held = data[taken:] + side.held
                await self._back(data[:taken])
                if said:
                    self.relay.tell(Said(self.x, self.relay.clock(), said))
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        self.end()
        return body.length is not None and http1.keeps_open(head) and http1.keeps_open(self.head)

    async def _watch(self, side: _Side, up: asyncio.Task[None]) -> None:
        """Until the client's connection ends: then nobody waits for the answer. What it says meanwhile belongs to its
        next request."""
        await asyncio.wait([up])
        while len(self.client.held) < http1.MOST_HEAD and (data := await self._rest()):
            self.client.held += data
        if not self.client.held:
            self.away = True
            side.abort()

    async def _rest(self) -> bytes:
        try:
            return await self.client.reader.read(PIECE)
        except ConnectionError:
            return b""

    async def _back(self, data: bytes) -> None:
        try:
            await self.client.put(data)
        except ConnectionError:
            raise _Away from None

    async def _switched(self, side: _Side, head: Head, up: asyncio.Task[None]) -> None:
        """Another protocol from here on: passed on both ways, read where it is a WebSocket."""
        await asyncio.wait([up])
        is_socket = head.get("upgrade").lower() == "websocket"
        asked, told = readers(head.get("sec-websocket-extensions")) if is_socket else (None, None)
        ways = [
            asyncio.ensure_future(self._way(self.client, side, asked, by_client=True)),
            asyncio.ensure_future(self._way(side, self.client, told, by_client=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            # The other end answers the close, or is gone as well.
            await asyncio.wait(ways, timeout=2.0)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        self.end()

    async def _way(self, from_: _Side, to: _Side, reader: FrameReader | None, *, by_client: bool) -> None:
        while data := await from_.some():
            await to.put(data)
            if reader is not None:
                try:
                    for text in reader.feed(data):
                        self.relay.tell(Frame(self.x, self.relay.clock(), by_client, text))
                except Malformed:
                    # Passed on all the same.
                    reader = None
        if to.writer.can_write_eof():
            with suppress(OSError):
                to.writer.write_eof()


async def _pour(from_: _Side, to: _Side) -> None:
    with suppress(OSError):
        while data := await from_.some():
            await to.put(data)


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {_CONNECT:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
