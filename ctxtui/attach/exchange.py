"""One request on its way through a relay, and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ctxtui.attach import http1
from ctxtui.attach.decoding import unpacker
from ctxtui.attach.frames import FrameReader, readers
from ctxtui.attach.gate import Verdict, Waiting
from ctxtui.attach.http1 import Body, Head
from ctxtui.attach.news import Answered, Asked, Begun, Ended, Frame, Said, Sent
from ctxtui.attach.side import PIECE, Away, Cut, Side
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import Malformed

if TYPE_CHECKING:
    from ctxtui.attach.relay import Relay

GONE: Final = "the client went away"
CUT: Final = "the provider's connection broke off"


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request on its way, and its answer."""

    relay: Relay
    client: Side
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
        except Away:
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
                raise Away
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
        """What is decided. Raises `Away` where the client goes first."""
        deciding_ = asyncio.ensure_future(deciding)
        gone = asyncio.ensure_future(self._rest())
        try:
            await asyncio.wait([deciding_, gone], return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                data = gone.result()
                self.client.held += data
                if not data and not deciding_.done():
                    raise Away
            return await deciding_
        finally:
            for task in (deciding_, gone):
                task.cancel()
            await asyncio.gather(deciding_, gone, return_exceptions=True)

    async def carry(self, side: Side) -> bool:
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
        except (Away, ConnectionError) as error:
            self.end(GONE if isinstance(error, Away) else str(error))
            side.abort()
            return False
        except Cut:
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

    async def _up(self, side: Side) -> None:
        """The request's body."""
        if self.ready is not None:
            with suppress(ConnectionError):
                await side.put(self.ready if self.replaced is None else self.replaced)
            return
        while not self.body.done:
            data = await self.client.some()
            if not data:
                raise Away
            taken, said = self.body.feed(data)
            self.client.held = data[taken:] + self.client.held
            self.relay.tell(Asked(self.x, said))
            try:
                await side.put(data[:taken])
            except ConnectionError:
                # The provider takes no more; it may have said why.
                return
        self.relay.tell(Asked(self.x, b"", last=True))

    async def _down(self, side: Side, up: asyncio.Task[None]) -> bool:
        """The answer, and those before it (``100 Continue``)."""
        while True:
            head = await side.head()
            if head is None:
                raise Cut
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
                        raise Away
                    if body.ended():
                        break
                    raise Cut
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

    async def _watch(self, side: Side, up: asyncio.Task[None]) -> None:
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
            raise Away from None

    async def _switched(self, side: Side, head: Head, up: asyncio.Task[None]) -> None:
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

    async def _way(self, from_: Side, to: Side, reader: FrameReader | None, *, by_client: bool) -> None:
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


async def _pour(from_: Side, to: Side) -> None:
    with suppress(OSError):
        while data := await from_.some():
            await to.put(data)
