"""What was asked and answered, written as it was into a HAR file, which ctxtui and browsers open."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import IO, Final

from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler, Middleware
from msgspec import Struct, field

from ctxtui import __version__
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig

MASKED: Final = "<masked>"
_SECRET: Final = frozenset(
    "authorization proxy-authorization x-api-key api-key x-goog-api-key cookie set-cookie".split()
)
_TAIL: Final = b"\n]}}\n"

Headers = Iterable[tuple[str, str]]


class LoggedFrame(Struct, frozen=True, kw_only=True):
    """One text frame of a WebSocket: whether it was `sent` to the client, its text, when (Unix seconds)."""

    sent: bool
    text: str
    at: float


class LoggedExchange(Struct, kw_only=True):
    """One request with its answer, bodies as bytes, times in Unix seconds (0: never). `error` says why an answer broke
    off, `frames` are those of a WebSocket."""

    method: str
    url: str
    asked: list[tuple[str, str]]
    request: bytes = b""
    started: float
    status: int = 0
    told: list[tuple[str, str]] = field(default_factory=list)
    answer: bytearray = field(default_factory=bytearray)
    first_byte: float = 0.0
    ended: float = 0.0
    error: str = ""
    frames: list[LoggedFrame] = field(default_factory=list)


class ExchangeLog:
    """A HAR file in a folder of the user's, whole after each exchange. The keys in headers are masked."""

    def __init__(self, folder: Path, now: float) -> None:
        """A new file of its own in `folder`, which is made where it is missing; `now` in Unix seconds names it. Raises
        `BadConfig` where that cannot be written."""
        begun = datetime.fromtimestamp(now, UTC)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path, self._file = _opened(folder, f"offline-{begun:%Y%m%dT%H%M%SZ}")
        except OSError as error:
            raise BadConfig(f"{folder}: {error.strerror}", way_out="name another folder with --log") from error
        creator = {"name": "ctxtui offline", "version": __version__}
        head = json.dumps({"log": {"version": "1.2", "creator": creator, "entries": []}})
        self._file.write(head.removesuffix("]}}").encode() + _TAIL)
        self._end = self._file.tell() - len(_TAIL)
        self._first = True

    def add(self, one: LoggedExchange) -> None:
        """Write one exchange."""
        entry = json.dumps(_entry(one), ensure_ascii=False, separators=(",", ":"))
        data = (b"\n" if self._first else b",\n") + entry.encode("utf-8", "backslashreplace")
        self._file.seek(self._end)
        # In one go, so that whoever reads finds a whole file.
        self._file.write(data + _TAIL)
        self._end += len(data)
        self._first = False

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()


def _opened(folder: Path, name: str) -> tuple[Path, IO[bytes]]:
    """A new file for its user alone: `name`, or with a number behind it."""
    for n in count(1):
        path = folder / (f"{name}.har" if n == 1 else f"{name}-{n}.har")
        with suppress(FileExistsError):
            return path, open(path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
    raise AssertionError


def _entry(one: LoggedExchange) -> dict[str, Json]:
    whole = max(0.0, (one.ended or one.started) - one.started) * 1000
    waited = max(0.0, (one.first_byte or one.ended or one.started) - one.started) * 1000
    kind = next((value for name, value in one.asked if name.lower() == "content-type"), "")
    entry: dict[str, Json] = {
        "startedDateTime": datetime.fromtimestamp(one.started, UTC).isoformat(timespec="milliseconds"),
        "time": whole,
        "request": {
            "method": one.method,
            "url": one.url,
            "httpVersion": "HTTP/1.1",
            "headers": _headers(one.asked),
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": len(one.request),
        },
        "response": _response(one),
        "cache": {},
        "timings": {"send": 0, "wait": waited, "receive": max(0.0, whole - waited)},
    }
    if one.request:
        entry["request"]["postData"] = {"mimeType": kind, **_body(one.request)}
    if one.frames:
        entry["_resourceType"] = "websocket"
        entry["_webSocketMessages"] = [
            {"type": "receive" if frame.sent else "send", "time": frame.at, "opcode": 1, "data": frame.text}
            for frame in one.frames
        ]
    return entry


def _response(one: LoggedExchange) -> dict[str, Json]:
    kind = next((value for name, value in one.told if name.lower() == "content-type"), "")
    answer: dict[str, Json] = {
        "status": one.status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "headers": _headers(one.told),
        "cookies": [],
        "content": {"size": len(one.answer), "mimeType": kind, **_body(bytes(one.answer))},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(one.answer),
    }
    return answer | ({"_error": one.error} if one.error else {})


def _headers(pairs: Headers) -> list[Json]:
    return [{"name": name, "value": MASKED if name.lower() in _SECRET else value} for name, value in pairs]


def _body(data: bytes) -> dict[str, Json]:
    """A body as HAR has it: its text, or in base64 where it is none."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(data).decode(), "encoding": "base64"}


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
