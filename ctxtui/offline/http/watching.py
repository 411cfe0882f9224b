"""Every request as it is answered, for the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler, Middleware

from ctxtui.offline.http.exchange_log import ExchangeLog, LoggedExchange, LoggedFrame


class WatchedExchange:
    """One exchange on its way into `log`; `now` gives Unix seconds."""

    def __init__(self, log: ExchangeLog, now: Callable[[], float], one: LoggedExchange) -> None:
        self._log = log
        self._now = now
        self._written = False
        self.one = one
        """What is known of it."""

    def sent(self, data: bytes) -> None:
        """`data` of a streamed answer left."""
        self.one.first_byte = self.one.first_byte or self._now()
        self.one.answer += data

    def frame(self, text: str, *, sent: bool) -> None:
        """A WebSocket's frame came, or was sent."""
        self.one.frames.append(LoggedFrame(sent=sent, text=text, at=self._now()))

    def ended(self, response: web.StreamResponse | web.HTTPException | None, error: str = "") -> None:
        """The answer is whole, or breaks off for the reason `error`; only the first time counts."""
        if self._written:
            return
        self._written = True
        self.one.ended = self._now()
        self.one.first_byte = self.one.first_byte or self.one.ended
        self.one.error = error
        if response is not None:
            self.one.status, self.one.told = response.status, [*response.headers.items()]
        if isinstance(response, web.Response) and not error:
            self.one.answer[:] = response.body if isinstance(response.body, bytes) else b""
        self._log.add(self.one)


_WATCHED: Final[ContextVar[WatchedExchange | None]] = ContextVar("WATCHED", default=None)


def watched() -> WatchedExchange | None:
    """The exchange of the request that is being answered; None where nothing is logged."""
    return _WATCHED.get()


def watching(log: ExchangeLog, now: Callable[[], float]) -> Middleware:
    """A middleware that writes every exchange to `log`, with times by `now` in Unix seconds."""

    @web.middleware
    async def watch(request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = [*request.headers.items()]
        one = LoggedExchange(method=request.method, url=str(request.url), asked=asked, started=now())
        one.request = await request.read()
        exchange = WatchedExchange(log, now, one)
        _WATCHED.set(exchange)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            exchange.ended(error)
            raise
        except (ConnectionError, asyncio.CancelledError) as error:
            exchange.ended(None, f"the client went away: {type(error).__name__}")
            raise
        cut = request.transport is None or request.transport.is_closing()
        if isinstance(response, web.WebSocketResponse):
            cut = response.close_code in (None, WSCloseCode.ABNORMAL_CLOSURE)
        exchange.ended(response, "the connection was cut" if cut else "")
        return response

    return watch
