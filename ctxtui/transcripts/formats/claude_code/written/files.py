"""Readers for the files of ``OTEL_LOG_RAW_API_BODIES=file:DIR`` (facts §13.1).

Each file is read as a companion of a transcript; without one, a whole folder is read as one stream.
"""

from __future__ import annotations

from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_str
from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code.written.bodies import REQUEST, IndexLine
from ctxtui.transcripts.formats.claude_code.written.exchanges import WrittenExchanges
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import parse_timestamp
from ctxtui.transcripts.kit.records import Piece, RawRecord, RecordStream
from ctxtui.transcripts.reader import Reader

_INDEX: Final = "index.jsonl"
_FOLDER: Final = "claude_code_bodies"
"""Member of the first line of a stream that is a folder of bodies."""
_FILE: Final = "claude_code_body"
"""Member of a stream's line that names a body's file; the line's ``text`` is the body."""

_NAMES: Final = frozenset({"session_id", "query_source", "message_uuid", "request_file", "response_file"})
_MIN_INDEX_MEMBERS: Final = 3


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_records(head)), None)
    if first is None:
        return 0.0
    if _FOLDER in first or _FILE in first:
        return 0.99
    return 0.99 if len(_NAMES & first.keys()) >= _MIN_INDEX_MEMBERS and "response_file" in first else 0.0


def _parse_line(value: dict[str, Json]) -> IndexLine:
    timestamp = value.get("timestamp")
    return IndexLine(
        at=parse_timestamp(timestamp) if isinstance(timestamp, str) else None,
        session=as_str(value.get("session_id")),
        source=as_str(value.get("query_source")),
        model=as_str(value.get("model")),
        request_id=as_str(value.get("request_id")),
        message_id=as_str(value.get("message_id")),
        request=as_str(value.get("request_file")),
        response=as_str(value.get("response_file")),
    )


def _add_body(exchanges: WrittenExchanges, name: str, data: bytes) -> str:
    """Add the body in the file `name`; returns what is wrong with it, "" for nothing."""
    problem = _read_body(exchanges, name, data)
    (exchanges.bodies.damaged.add if problem else exchanges.bodies.damaged.discard)(name)
    return problem


def _read_body(exchanges: WrittenExchanges, name: str, data: bytes) -> str:
    if not data.strip():
        return "empty"
    try:
        if name.endswith(REQUEST):
            why = exchanges.add_request(name, data).withheld
            return f"the client withheld the body: {why}" if why else ""
        value = canonical.loads(data)
        if not isinstance(value, dict):
            return "not an answer"
        exchanges.bodies.add_response(name, value)
    except (Malformed, ValueError, RecursionError) as error:
        is_complete = data.rstrip().endswith(b"}")
        return f"the body cannot be read: {error}" if is_complete else f"cut off after {len(data):,} bytes"
    return ""


class _BodyFileReader(Reader):
    """Reads one body file; its events are emitted when the transcript's reader settles."""

    def __init__(self, exchanges: WrittenExchanges, name: str) -> None:
        self._exchanges, self._name = exchanges, name
        self._data = bytearray()
        self._settled_bytes = -1
        self._problem = ""

    @property
    def tail(self) -> Skipped | None:
        return Skipped(1, f"{self._name}: {self._problem}") if self._problem else None

    def feed(self, data: bytes) -> list[Event]:
        self._data += data
        return []

    def settle(self) -> list[Event]:
        if len(self._data) != self._settled_bytes:
            self._settled_bytes = len(self._data)
            self._problem = _add_body(self._exchanges, self._name, bytes(self._data))
        return []


class _BodyLinesReader(Reader):
    """Reads the index next to a transcript, or (`alone`) a folder of bodies as one stream.

    A stream has the lines of the index, and a line for each file. `tail` also names files that are missing.
    """

    def __init__(self, exchanges: WrittenExchanges, *, alone: bool = False) -> None:
        self._exchanges, self._alone = exchanges, alone
        self._name = "" if alone else f"{_INDEX}: "
        self._stream = RecordStream()

    @property
    def tail(self) -> Skipped | None:
        cut = self._stream.tail
        if cut is not None:
            return Skipped(cut.line, self._name + cut.reason)
        return self._exchanges.report_missing() or (self._exchanges.report_redacted() if self._alone else None)

    @property
    def rereads(self) -> bool:
        # A body may move the call that the index named before it to another thread.
        return self._alone

    def feed(self, data: bytes) -> list[Event]:
        return [event for piece in self._stream.feed(data) for event in self._handle_piece(piece)]

    def settle(self) -> list[Event]:
        events = [event for piece in self._stream.settle() for event in self._handle_piece(piece)]
        return [*events, *self._exchanges.settle()] if self._alone else events

    def _handle_piece(self, piece: Piece) -> list[Event]:
        if not isinstance(piece, RawRecord):
            return [Skipped(piece.line, self._name + piece.reason)]
        try:
            value = canonical.loads(piece.raw)
        except RecursionError:
            return [Skipped(piece.line, f"{self._name}nested too deeply to be read")]
        name, text = value.get(_FILE), value.get("text")
        if isinstance(name, str) and isinstance(text, str):
            problem = _add_body(self._exchanges, name, text.encode("utf-8", "surrogateescape"))
            return [Skipped(piece.line, f"{name}: {problem}")] if problem else []
        if _FOLDER not in value:
            self._exchanges.add_line(_parse_line(value))
        return []


def body_reader(exchanges: WrittenExchanges, name: str) -> Reader:
    """Make the reader of the file `name` next to a transcript."""
    return _BodyLinesReader(exchanges) if name == _INDEX else _BodyFileReader(exchanges, name)


def reader(tree: Tree) -> Reader:
    return _BodyLinesReader(WrittenExchanges(tree), alone=True)
