"""Parse server-sent events from bytes, independent of how the bytes are chunked (law 2)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json


class ServerEvent(NamedTuple):
    """One event of a stream.

    `name` is "" if the stream gives none, `data` are its data lines joined by newlines. `id` is the last one given so
    far, "" for an event that is one line of JSON.
    """

    name: str
    data: str
    id: str = ""

    def value(self) -> Json:
        """Parse the data as JSON; None if it is not JSON (``[DONE]``, plain text)."""
        try:
            return canonical.loads(self.data)
        except (ValueError, RecursionError):
            return None


class EventParser:
    """Parses an event stream as the HTML standard defines it.

    Any line ends, comments, a BOM, multi-line data. Unlike a browser it returns the last event even without its final
    blank line (`close`). It treats a line that is a JSON object, meaningless in the standard, as an event: Ollama
    streams that way.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._scanned = 0
        """Bytes at the start of `_rest` that hold no line end."""
        self._first = True
        """Whether the next line is the first, which may begin with a BOM."""
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Add bytes and return the events that they complete."""
        self._rest += data
        events: list[ServerEvent] = []
        for line in self._take_lines():
            # Fast path for nearly all lines; `_handle_line` handles the others.
            if line.startswith("data:") and not self._first:
                self._data.append(line[6:] if line.startswith(" ", 5) else line[5:])
            elif (event := self._handle_line(line)) is not None:
                events.append(event)
        return events

    def close(self) -> list[ServerEvent]:
        """End the stream and return the event left in the buffer, if any."""
        line = bytes(self._rest).removesuffix(b"\r").decode("utf-8", "replace")
        self._rest.clear()
        self._scanned = 0
        events = [self._handle_line(line)] if line else []
        return [event for event in (*events, self._make_event()) if event is not None]

    def _take_lines(self) -> list[str]:
        """Take the complete lines out of the buffer.

        No character spans a line end, not even a broken one, so that all lines are decoded in one call.
        """
        unfinished = self._rest
        # A carriage return at the very end may be half of a line end; the next bytes decide.
        length = len(unfinished) - unfinished.endswith(b"\r")
        end = 1 + max(unfinished.rfind(b"\n", self._scanned, length), unfinished.rfind(b"\r", self._scanned, length))
        if not end:
            self._scanned = length
            return []
        text = unfinished[:end].decode("utf-8", "replace")
        del unfinished[:end]
        self._scanned = length - end
        lines = text.split("\n") if "\r" not in text else _LINE_END.split(text)
        lines.pop()
        return lines

    def _handle_line(self, line: str) -> ServerEvent | None:
        if self._first:
            line = line.removeprefix("\ufeff")
            self._first = False
        if not line:
            return self._make_event()
        if line.startswith("{") and line.rstrip(_SPACES).endswith("}"):
            return ServerEvent("", line)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value
        return None

    def _make_event(self) -> ServerEvent | None:
        event = ServerEvent(self._name, "\n".join(self._data), self._id) if self._data else None
        self._name = ""
        self._data = []
        return event


_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_SPACES: Final = " \t\n\r\x0b\x0c"


def parse_stream(data: bytes) -> list[ServerEvent]:
    """Parse a whole recorded stream."""
    parser = EventParser()
    return [*parser.feed(data), *parser.close()]


def is_stream(text: str) -> bool:
    """Whether `text` looks like a recorded event stream."""
    head = text[:256].lstrip("\ufeff\r\n ")
    return head.startswith(("data:", "event:", ": ", ":\n", "id:", "retry:"))
