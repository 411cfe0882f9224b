"""Parse server-sent events from bytes, independent of how the bytes are chunked."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json


class ServerEvent(NamedTuple):
    """One event: its name or "", its data lines joined by newlines, the last id so far.

    A line of JSON without a field name, as Ollama sends it, is an event without name and id.
    """

    name: str
    data: str
    id: str = ""

    def value(self) -> Json:
        """The data as JSON; None if it is not JSON (``[DONE]``, plain text)."""
        try:
            return canonical.loads(self.data)
        except (ValueError, RecursionError):
            return None


class EventParser:
    """Parses an event stream as the HTML standard defines it.

    Unlike a browser it returns the last event even without its final blank line (`close`), and takes a line that is a
    JSON object for an event, as Ollama streams that way.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._scanned = 0
        """Bytes of `_rest` that hold no line end."""
        self._first = True
        """Whether the next line is the first, which may begin with a BOM."""
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that `data` completes."""
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
        """End the stream; return the event left in the buffer, if any."""
        line = bytes(self._rest).removesuffix(b"\r").decode("utf-8", "replace")
        self._rest.clear()
        self._scanned = 0
        events = [self._handle_line(line)] if line else []
        return [event for event in (*events, self._make_event()) if event is not None]

    def _take_lines(self) -> list[str]:
        """Take the complete lines out of the buffer.

        They can be decoded alone: no character, not even a broken one, spans a line end.
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
