"""Responses by WebSocket: a frame for each request, a frame for each event that comes back (facts §13.3)."""

from __future__ import annotations

from typing import Final

from ctxtui.transcripts.kit.fields import at, obj, word
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value

_LAST: Final = ("response.completed", "response.failed", "response.incomplete", "error")
"""The event that ends an answer."""


class SocketTalk:
    """What goes over one WebSocket, as exchanges: each request with the events that came back, as a stream."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._asked = ""
        self._started: float | None = None
        self._first: float | None = None
        self._events: list[str] = []

    def frame(self, text: str, sent: bool, time: float | None) -> Exchange | None:
        """Take a frame, `sent` by the client or come from the server at `time`; the exchange that it completes."""
        kind = word(obj(value(text.encode("utf-8", "surrogatepass"))).get("type"))
        if sent:
            if kind != "response.create":
                return None
            done = self.close()
            self._asked, self._started, self._first, self._events = text, time, None, []
            return done
        if not self._asked:
            return None
        self._first = self._first or time
        self._events.append(text)
        return self.close(time) if kind in _LAST else None

    def left(self, time: float) -> None:
        """The request that is open left at `time`: until then it was held."""
        self._started = time

    @property
    def asked(self) -> Exchange | None:
        """The request that is open, as far as it is asked; None where none is."""
        if not self._asked:
            return None
        return Exchange(self._asked.encode("utf-8", "surrogatepass"), url=self._url, started=self._started)

    def came(self, after: int) -> bytes:
        """What came back to the request that is open, from event number `after` on, as a stream."""
        return "".join(f"data: {event}\n\n" for event in self._events[after:]).encode("utf-8", "surrogatepass")

    @property
    def events(self) -> int:
        """How many events came back to it."""
        return len(self._events) if self._asked else 0

    def close(self, time: float | None = None) -> Exchange | None:
        """What is open, ended at `time`; None where nothing is."""
        if not self._asked:
            return None
        body, self._asked = self._asked.encode("utf-8", "surrogatepass"), ""
        stream = "".join(f"data: {event}\n\n" for event in self._events).encode("utf-8", "surrogatepass")
        return Exchange(body, stream, self._url, status=200, started=self._started, first_byte=self._first, ended=time)


def warm_up(exchange: Exchange) -> str:
    """The id of a response that only prepares a WebSocket: nothing was said and no model was asked; else ""."""
    asked = obj(value(exchange.request))
    if asked.get("type") != "response.create" or asked.get("generate") is not False or asked.get("input"):
        return ""
    events = (obj(value(line[6:])) for line in exchange.response.splitlines() if line.startswith(b"data: "))
    return next((word(at(event, "response", "id")) for event in events if "response" in event), "")
