"""OpenAI Responses over WebSocket: a frame for each request and each event (facts §13.3)."""

from __future__ import annotations

from typing import Final

from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.kit.fields import get_path
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body

_LAST: Final = ("response.completed", "response.failed", "response.incomplete", "error")
"""Events that end an answer."""


class SocketExchanges:
    """Converts the frames of one WebSocket to exchanges: a request, and its events as a stream."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open_text = ""
        self._started: float | None = None
        self._first: float | None = None
        self._events: list[str] = []

    def add_frame(self, text: str, sent: bool, time: float | None) -> Exchange | None:
        """Add a frame, `sent` by the client or received; return the exchange it completes."""
        kind = as_str(as_dict(parse_body(text.encode("utf-8", "surrogatepass"))).get("type"))
        if sent:
            if kind != "response.create":
                return None
            done = self.close()
            self._open_text, self._started, self._first, self._events = text, time, None, []
            return done
        if not self._open_text:
            return None
        self._first = self._first or time
        self._events.append(text)
        return self.close(time) if kind in _LAST else None

    def mark_sent(self, time: float) -> None:
        """Set the time at which the open request was sent on, after it was held."""
        self._started = time

    @property
    def open_request(self) -> Exchange | None:
        if not self._open_text:
            return None
        return Exchange(self._open_text.encode("utf-8", "surrogatepass"), url=self._url, started=self._started)

    def received_events(self, after: int) -> bytes:
        """Return the events of the open request from number `after` on, as a stream."""
        return "".join(f"data: {event}\n\n" for event in self._events[after:]).encode("utf-8", "surrogatepass")

    @property
    def event_count(self) -> int:
        return len(self._events) if self._open_text else 0

    def close(self, time: float | None = None) -> Exchange | None:
        if not self._open_text:
            return None
        body, self._open_text = self._open_text.encode("utf-8", "surrogatepass"), ""
        events = self.received_events(0)
        return Exchange(body, events, self._url, status=200, started=self._started, first_byte=self._first, ended=time)


def warm_up_id(exchange: Exchange) -> str:
    """Return the id of a response that only prepares a WebSocket, without a model; else ""."""
    request = as_dict(parse_body(exchange.request))
    if request.get("type") != "response.create" or request.get("generate") is not False:
        return ""
    events = (as_dict(parse_body(line[6:])) for line in exchange.response.splitlines() if line.startswith(b"data: "))
    return next((as_str(get_path(event, "response", "id")) for event in events if "response" in event), "")
