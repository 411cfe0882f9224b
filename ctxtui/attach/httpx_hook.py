"""Records this process's requests by httpx, which the providers' SDKs use, without a relay."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    ExchangeEvent,
    RequestBegun,
    RequestBytes,
)
from ctxtui.attach.route import is_model_path

_LIBRARIES: Final = ("httpx2", "httpx")
LEFT: Final = "the program read no further"


class WatchedExchange:
    """One request with its answer, reported to `tell` under the name `x`.

    Exceptions in reporting are passed to `fault`, so that the program's own call goes on.
    """

    def __init__(self, tell: Callable[[ExchangeEvent], None], x: str, fault: Callable[[Exception], None]) -> None:
        self._tell = tell
        self._x = x
        self._fault = fault
        self.is_over = False

    def begin(self, request: Any, session: str, thread: str) -> None:
        """Report the request; a body that the program streams is reported as empty."""
        try:
            fields = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in request.headers.raw]
            self._tell(
                RequestBegun(
                    exchange_id=self._x,
                    at=time.time(),
                    method=request.method,
                    url=str(request.url),
                    fields=fields,
                    session=session,
                    thread=thread,
                )
            )
            body = b""
            with suppress(RuntimeError):
                # Raised for a body that the program streams.
                body = request.content
            self._tell(RequestBytes(self._x, body, last=True))
        except Exception as error:  # noqa: BLE001 - the program's call goes on, whatever becomes of its record
            self._fault(error)

    def report_head(self, response: Any) -> None:
        try:
            fields = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in response.headers.raw]
            self._tell(AnswerBegun(self._x, time.time(), response.status_code, fields))
        except Exception as error:  # noqa: BLE001 - as above
            self._fault(error)

    def report_piece(self, data: bytes) -> None:
        try:
            self._tell(AnswerBytes(self._x, time.time(), data))
        except Exception as error:  # noqa: BLE001 - as above
            self._fault(error)

    def end(self, error: str = "") -> None:
        """Report the end, once; `error` is the reason for an end before the answer is complete."""
        if not self.is_over:
            self.is_over = True
            try:
                self._tell(ExchangeEnded(self._x, time.time(), error))
            except Exception as fault:  # noqa: BLE001 - as above
                self._fault(fault)

    @contextmanager
    def reporting_failure(self) -> Iterator[None]:
        """Report an exception of the program's own call as the end, and raise it again."""
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            self.end(_error_text(error))
            raise


StartWatching = Callable[[Any], WatchedExchange | None]
"""Starts watching a request; returns None to ignore it."""


def is_model_call(request: Any) -> bool:
    return request.method == "POST" and is_model_path(request.url.path)


class Hook:
    """Replaces the clients' `send` in httpx and httpx2, from `install` to `remove`."""

    def __init__(self, start_watching: StartWatching) -> None:
        self._start_watching = start_watching
        self._originals: list[tuple[type, Any]] = []

    def install(self) -> None:
        for name in _LIBRARIES:
            if find_spec(name) is None:
                continue
            library = import_module(name)
            for kind, wrap in ((library.Client, self._wrap_sync), (library.AsyncClient, self._wrap_async)):
                original = kind.__dict__["send"]
                self._originals.append((kind, original))
                kind.send = wrap(library, original)

    def remove(self) -> None:
        for kind, original in reversed(self._originals):
            kind.send = original
        self._originals.clear()

    def _wrap_sync(self, library: Any, original: Any) -> Any:
        start_watching, stream_class = self._start_watching, _make_stream_class(library)

        def send(client: Any, request: Any, *, stream: bool = False, **more: Any) -> Any:
            exchange = start_watching(request)
            if exchange is None:
                return original(client, request, stream=stream, **more)
            with exchange.reporting_failure():
                response = original(client, request, stream=True, **more)
            _follow(response, exchange, stream_class)
            try:
                if not stream:
                    response.read()
            except BaseException:
                response.close()
                raise
            return response

        return send

    def _wrap_async(self, library: Any, original: Any) -> Any:
        start_watching, stream_class = self._start_watching, _make_async_stream_class(library)

        async def send(client: Any, request: Any, *, stream: bool = False, **more: Any) -> Any:
            exchange = start_watching(request)
            if exchange is None:
                return await original(client, request, stream=stream, **more)
            with exchange.reporting_failure():
                response = await original(client, request, stream=True, **more)
            _follow(response, exchange, stream_class)
            try:
                if not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response

        return send


def _follow(response: Any, exchange: WatchedExchange, stream_class: Any) -> None:
    exchange.report_head(response)
    if response.is_stream_consumed:
        # A hook of the program has read it.
        exchange.report_piece(response.content)
        exchange.end()
    else:
        response.stream = stream_class(response.stream, exchange)


def _make_stream_class(library: Any) -> Any:
    class WatchedStream(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, exchange: WatchedExchange) -> None:
            self._inner = inner
            self._exchange = exchange

        def __iter__(self) -> Iterator[bytes]:
            with self._exchange.reporting_failure():
                for data in self._inner:
                    self._exchange.report_piece(data)
                    yield data
            self._exchange.end()

        def close(self) -> None:
            try:
                self._inner.close()
            finally:
                self._exchange.end(LEFT)

    return WatchedStream


def _make_async_stream_class(library: Any) -> Any:
    class WatchedAsyncStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, exchange: WatchedExchange) -> None:
            self._inner = inner
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with self._exchange.reporting_failure():
                async for data in self._inner:
                    self._exchange.report_piece(data)
                    yield data
            self._exchange.end()

        async def aclose(self) -> None:
            try:
                await self._inner.aclose()
            finally:
                self._exchange.end(LEFT)

    return WatchedAsyncStream


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
