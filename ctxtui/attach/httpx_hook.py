"""Records a program's requests by httpx, which every SDK uses: the exact bytes, without a relay.

`Client.send` of httpx and httpx2 is replaced while recording. The request is sent normally; each piece of the answer is
passed on as it arrives, and reported.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ctxtui.attach.news import AnswerBegun, AnswerBytes, ExchangeEnded, ExchangeEvent, RequestBegun, RequestBytes
from ctxtui.attach.route import is_model_path

_LIBRARIES: Final = ("httpx2", "httpx")
LEFT: Final = "the program read no further"


class WatchedExchange:
    """One exchange, reported to `tell` under the name `x`. Methods never raise: errors go to `fault`."""

    def __init__(self, tell: Callable[[ExchangeEvent], None], x: str, fault: Callable[[Exception], None]) -> None:
        self._tell = tell
        self._x = x
        self._fault = fault
        self.over = False
        """Whether its end was reported."""

    def begin(self, request: Any, session: str, thread: str) -> None:
        """Report the request before it is sent."""
        try:
            fields = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in request.headers.raw]
            self._tell(
                RequestBegun(
                    x=self._x,
                    at=time.time(),
                    method=request.method,
                    url=str(request.url),
                    fields=fields,
                    session=session,
                    thread=thread,
                )
            )
            self._tell(RequestBytes(self._x, bytes(getattr(request, "_content", b"")), last=True))
        except Exception as error:  # noqa: BLE001 - the program's call goes on, whatever becomes of its record
            self._fault(error)

    def answered(self, response: Any) -> None:
        """Report the head of the answer."""
        try:
            fields = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in response.headers.raw]
            self._tell(AnswerBegun(self._x, time.time(), response.status_code, fields))
        except Exception as error:  # noqa: BLE001 - as above
            self._fault(error)

    def piece(self, data: bytes) -> None:
        """Report a piece of the answer, as received."""
        try:
            self._tell(AnswerBytes(self._x, time.time(), data))
        except Exception as error:  # noqa: BLE001 - as above
            self._fault(error)

    def end(self, error: str = "") -> None:
        """Report the end."""
        if not self.over:
            self.over = True
            try:
                self._tell(ExchangeEnded(self._x, time.time(), error))
            except Exception as fault:  # noqa: BLE001 - as above
                self._fault(fault)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Report an exception of the program's own call as the end, and raise it again."""
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            self.end(_error_text(error))
            raise


Hear = Callable[[Any], WatchedExchange | None]
"""Starts watching a request; returns None to ignore it."""


def is_model_call(request: Any) -> bool:
    """Whether an httpx request is a model call."""
    return request.method == "POST" and is_model_path(request.url.path)


class Hook:
    """Replaces `send` in every installed httpx, until `off`. `hear` is called with each request."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._before: list[tuple[type, Any]] = []

    def on(self) -> None:
        """Install the hook."""
        for name in _LIBRARIES:
            if find_spec(name) is None:
                continue
            library = import_module(name)
            for kind, made in ((library.Client, self._sync), (library.AsyncClient, self._async)):
                before = kind.__dict__["send"]
                self._before.append((kind, before))
                kind.send = made(library, before)

    def off(self) -> None:
        """Restore the original methods."""
        for kind, before in reversed(self._before):
            kind.send = before
        self._before.clear()

    def _sync(self, library: Any, before: Any) -> Any:
        hear, told = self._hear, _make_stream_class(library)

        def send(client: Any, request: Any, *, stream: bool = False, **more: Any) -> Any:
            heard = hear(request)
            if heard is None:
                return before(client, request, stream=stream, **more)
            with heard.failing():
                response = before(client, request, stream=True, **more)
            _follow(response, heard, told)
            try:
                if not stream:
                    response.read()
            except BaseException:
                response.close()
                raise
            return response

        return send

    def _async(self, library: Any, before: Any) -> Any:
        hear, told = self._hear, _make_async_stream_class(library)

        async def send(client: Any, request: Any, *, stream: bool = False, **more: Any) -> Any:
            heard = hear(request)
            if heard is None:
                return await before(client, request, stream=stream, **more)
            with heard.failing():
                response = await before(client, request, stream=True, **more)
            _follow(response, heard, told)
            try:
                if not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response

        return send


def _follow(response: Any, heard: WatchedExchange, told: Any) -> None:
    """Watch the answer from its head on."""
    heard.answered(response)
    if response.is_stream_consumed:
        # A hook of the program has read it.
        heard.piece(response.content)
        heard.end()
    else:
        response.stream = told(response.stream, heard)


def _make_stream_class(library: Any) -> Any:
    """Make a stream class that reports its data."""

    class ToldStream(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, heard: WatchedExchange) -> None:
            self._inner = inner
            self._heard = heard

        def __iter__(self) -> Iterator[bytes]:
            with self._heard.failing():
                for data in self._inner:
                    self._heard.piece(data)
                    yield data
            self._heard.end()

        def close(self) -> None:
            try:
                self._inner.close()
            finally:
                self._heard.end(LEFT)

    return ToldStream


def _make_async_stream_class(library: Any) -> Any:
    """Like `_make_stream_class`, for async streams."""

    class ToldAsyncStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, heard: WatchedExchange) -> None:
            self._inner = inner
            self._heard = heard

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with self._heard.failing():
                async for data in self._inner:
                    self._heard.piece(data)
                    yield data
            self._heard.end()

        async def aclose(self) -> None:
            try:
                await self._inner.aclose()
            finally:
                self._heard.end(LEFT)

    return ToldAsyncStream


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
