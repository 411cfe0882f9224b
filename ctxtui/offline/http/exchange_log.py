"""Logs the offline provider's exchanges to a HAR file, which ctxtui and browsers open."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Callable
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
from ctxtui.wire.key_mask import MASKED, mask_url

_SECRET_HEADERS: Final = frozenset(
    "authorization proxy-authorization x-api-key api-key x-goog-api-key cookie set-cookie".split()
)
_TAIL: Final = b"\n]}}\n"
"""The end of the file, which the next exchange overwrites."""


class ExchangeLog:
    """A HAR file in a user's folder, complete after each exchange.

    Keys in headers and URLs are masked.
    """

    def __init__(self, folder: Path, now: float) -> None:
        """Create a new file in `folder`, created if missing; `now` in Unix seconds is in its name.

        Raises `BadConfig` if it cannot be written.
        """
        begun = datetime.fromtimestamp(now, UTC)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path, self._file = _new_file(folder, f"offline-{begun:%Y%m%dT%H%M%SZ}")
        except OSError as error:
            raise BadConfig(f"{folder}: {error.strerror}", way_out="name another folder with --log") from error
        creator = {"name": "ctxtui offline", "version": __version__}
        head = json.dumps({"log": {"version": "1.2", "creator": creator, "entries": []}})
        self._file.write(head.removesuffix("]}}").encode() + _TAIL)
        self._end = self._file.tell() - len(_TAIL)
        self._comma = b""

    def add(self, entry: Json) -> None:
        """Write one exchange in one go, so that readers find a complete file."""
        text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        data = self._comma + b"\n" + text.encode("utf-8", "backslashreplace")
        self._file.seek(self._end)
        self._file.write(data + _TAIL)
        self._end += len(data)
        self._comma = b","

    def close(self) -> None:
        self._file.close()


def _new_file(folder: Path, name: str) -> tuple[Path, IO[bytes]]:
    """Create a file for its user alone: `name`, or with a number appended."""
    for n in count(1):
        path = folder / (f"{name}.har" if n == 1 else f"{name}-{n}.har")
        with suppress(FileExistsError):
            return path, open(path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
    raise AssertionError


class LoggedExchange(Struct, kw_only=True):
    """An exchange that is being logged to `log`.

    - `now`: gives the time in Unix seconds.
    - `started`, `first_byte`: Unix seconds; 0: not yet.
    - `answer`: the sent part of a stream; of another answer, its body once it has ended.
    - `frames`: frames of a WebSocket.
    - `written`: the exchange is in the file.
    """

    log: ExchangeLog
    now: Callable[[], float]
    request: web.Request
    body: bytes
    started: float
    first_byte: float = 0.0
    answer: bytearray = field(default_factory=bytearray)
    frames: list[Json] = field(default_factory=list)
    written: bool = False

    def add_sent(self, data: bytes) -> None:
        self.first_byte = self.first_byte or self.now()
        self.answer += data

    def add_frame(self, text: str, *, sent: bool) -> None:
        # A HAR file names the direction from the client's side.
        self.frames.append({"type": "receive" if sent else "send", "time": self.now(), "opcode": 1, "data": text})

    def finish(self, response: web.StreamResponse | web.HTTPException | None, error: str = "") -> None:
        """Write the exchange; only the first call counts.

        `error` is the reason if it was broken off.
        """
        if self.written:
            return
        self.written = True
        if isinstance(response, web.Response) and not error:
            self.answer[:] = response.body if isinstance(response.body, bytes) else b""
        self.log.add(self._make_entry(response, error))

    def _make_entry(self, response: web.StreamResponse | web.HTTPException | None, error: str) -> dict[str, Json]:
        ended = self.now()
        total_ms = max(0.0, ended - self.started) * 1000
        waited = max(0.0, (self.first_byte or ended) - self.started) * 1000
        request, response_headers = self.request, [*response.headers.items()] if response is not None else []
        return {
            "startedDateTime": datetime.fromtimestamp(self.started, UTC).isoformat(timespec="milliseconds"),
            "time": total_ms,
            "request": {
                "method": request.method,
                "url": mask_url(str(request.url)),
                **_message_entry([*request.headers.items()], self.body),
                "queryString": [],
                **({"postData": _content_entry([*request.headers.items()], self.body)} if self.body else {}),
            },
            "response": {
                "status": response.status if response is not None else 0,
                "statusText": "",
                **_message_entry(response_headers, self.answer),
                "content": {"size": len(self.answer), **_content_entry(response_headers, bytes(self.answer))},
                "redirectURL": "",
                **({"_error": error} if error else {}),
            },
            "cache": {},
            "timings": {"send": 0, "wait": waited, "receive": max(0.0, total_ms - waited)},
            **({"_resourceType": "websocket", "_webSocketMessages": self.frames} if self.frames else {}),
        }


Headers = list[tuple[str, str]]


def _message_entry(headers: Headers, body: bytes | bytearray) -> dict[str, Json]:
    shown = [{"name": name, "value": MASKED if name.lower() in _SECRET_HEADERS else value} for name, value in headers]
    return {"httpVersion": "HTTP/1.1", "headers": shown, "cookies": [], "headersSize": -1, "bodySize": len(body)}


def _content_entry(headers: Headers, body: bytes) -> dict[str, Json]:
    """A body in HAR form: text, or base64 if it is none."""
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    try:
        return {"mimeType": kind, "text": body.decode()}
    except UnicodeDecodeError:
        return {"mimeType": kind, "text": base64.b64encode(body).decode(), "encoding": "base64"}


_LOGGED: Final[ContextVar[LoggedExchange | None]] = ContextVar("LOGGED", default=None)


def current_exchange() -> LoggedExchange | None:
    """The current request's exchange; None without a log."""
    return _LOGGED.get()


def logging_to(log: ExchangeLog, now: Callable[[], float]) -> Middleware:
    """Middleware that writes every exchange to `log`, with times by `now` in Unix seconds.

    A body that is too large (413) is left out. To log all exchanges, it must come before middleware that answers.
    """

    @web.middleware
    async def write(request: web.Request, handler: Handler) -> web.StreamResponse:
        exchange = LoggedExchange(log=log, now=now, request=request, body=b"", started=now())
        _LOGGED.set(exchange)
        try:
            exchange.body = await request.read()
            response = await handler(request)
        except web.HTTPException as error:
            exchange.finish(error)
            raise
        except (ConnectionError, asyncio.CancelledError) as error:
            exchange.finish(None, f"the client went away: {type(error).__name__}")
            raise
        except Exception:
            exchange.finish(web.Response(status=500))  # aiohttp answers so, with a text of its own
            raise
        cut = request.transport is None or request.transport.is_closing()
        if isinstance(response, web.WebSocketResponse):
            cut = response.close_code in (None, WSCloseCode.ABNORMAL_CLOSURE)
        exchange.finish(response, "the connection was cut" if cut else "")
        return response

    return write
