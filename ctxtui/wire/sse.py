"""Server-sent events: bytes in, events out, however the bytes are cut (law 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json


class ServerEvent(NamedTuple):
    """One event: its name ("" where the stream gives none), its data lines joined by newlines, its id."""

    name: str
    data: str
    id: str = ""

    def value(self) -> Json:
        """The data as JSON; None where it is none (``[DONE]``, plain words)."""
        try:
            return canonical.loads(self.data)
        except (ValueError, RecursionError):
            return None


class EventParser:
    """Reads an event stream as the HTML standard defines it: any line ends, comments, a byte order mark, data over
    several lines. Unlike a browser it gives the last event also when its blank line is missing (`close`), and a line
    that is a JSON object, which the standard has no use for, is an event by itself: so Ollama streams."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._scanned = 0
        self._first = True
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that `data` completes."""
        self._rest += data
        return [event for line in self._lines() if (event := self._line(line)) is not None]

    def close(self) -> list[ServerEvent]:
        """The stream has ended: what is left of it, as far as it makes an event."""
        line = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        self._scanned = 0
        found = [self._line(line)] if line else []
        return [event for event in (*found, self._dispatch()) if event is not None]

    def _lines(self) -> Iterator[bytes]:
        start = 0
        rest = self._rest
        while True:
            end = _line_end(rest, max(start, self._scanned))
            # A carriage return at the very end may be half of a line end: the next bytes tell.
            if end < 0 or (rest[end] == 13 and end + 1 == len(rest)):
                break
            yield bytes(rest[start:end])
            start = end + (2 if rest[end : end + 2] == b"\r\n" else 1)
        self._scanned = max(0, len(rest) - start - 1)
        del rest[:start]

    def _line(self, line: bytes) -> ServerEvent | None:
        if self._first:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        if not line:
            return self._dispatch()
        if line.startswith(b"{") and line.rstrip().endswith(b"}"):
            return ServerEvent("", line.decode("utf-8", "replace"))
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        made = ServerEvent(self._name, "\n".join(self._data), self._id) if self._data else None
        self._name = ""
        self._data = []
        return made


def _line_end(data: bytearray, start: int) -> int:
    """The first carriage return or line feed from `start` on; -1 if there is none."""
    feed = data.find(b"\n", start)
    back = data.find(b"\r", start, feed if feed >= 0 else len(data))
    return back if back >= 0 else feed


def parse(data: bytes) -> list[ServerEvent]:
    """All events of a whole recorded stream."""
    parser = EventParser()
    return [*parser.feed(data), *parser.close()]


def is_stream(text: str) -> bool:
    """Whether `text` looks like a recorded event stream."""
    head = text[:256].lstrip("\ufeff\r\n ")
    return head.startswith(("data:", "event:", ": ", ":\n", "id:", "retry:"))
