"""Readers of JSON lines, database rows, and files that are parsed whole at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import Event, Happened, Outcome, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.records import BOM, Piece, RawRecord, RecordStream, decode_text
from ctxtui.transcripts.reader import Reader
from ctxtui.wire.codec import spans

_EmittedOnce = Skipped | Happened | Outcome
"""Events that a later one does not replace, so they are emitted once, however often the file is read."""


class RecordHandler(Protocol):
    """Handles the records of one format, in order."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterable[Event]:
        """Return the events of one record; `source` is its position in the file."""

    def state_events(self) -> Iterable[Event]:
        """Return the events of the current state, such as description and tips, at each settle."""


class LinesReader(Reader):
    """Reads JSON lines for a `RecordHandler`; `rereads` as in `Reader`."""

    def __init__(self, handler: RecordHandler, *, rereads: bool = False) -> None:
        self._handler, self._rereads = handler, rereads
        self._stream = RecordStream()
        self._emitted: list[Event] = []
        """State events as last emitted."""

    @property
    def tail(self) -> Skipped | None:
        return self._stream.tail

    @property
    def rereads(self) -> bool:
        return self._rereads

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        for piece in self._stream.feed(data):
            events += self._events(piece)
        return events

    def settle(self) -> list[Event]:
        events: list[Event] = []
        for piece in self._stream.settle():
            events += self._events(piece)
        state_events = list(self._handler.state_events())
        if state_events != self._emitted:
            events += [e for e in state_events if not isinstance(e, _EmittedOnce) or e not in self._emitted]
            self._emitted = state_events
        return events

    def _events(self, piece: Piece) -> list[Event]:
        if not isinstance(piece, RawRecord):
            return [Skipped(piece.line, piece.reason)]
        try:
            events = self._handler.record(canonical.loads(piece.raw), piece)
            return [*([Skipped(piece.line, piece.note)] if piece.note else ()), *events]
        except RecursionError:
            why = "nested too deeply to be read"
            return [Skipped(piece.line, f"{piece.note}; {why}" if piece.note else why)]


def lines_reader(make: Callable[[Tree], RecordHandler], *, rereads: bool = False) -> Callable[[Tree], LinesReader]:
    """Make the `open` of a format of JSON lines."""
    return lambda tree: LinesReader(make(tree), rereads=rereads)


ReadValue = Callable[[Json, Tree], Iterable[Event]]
"""Returns the events of a format's JSON value, adding its nodes to the tree."""

Parse = Callable[[bytes, Tree], tuple[list[Event], Skipped | None]]
"""Returns the events of a whole file, and the incomplete record at its end (None: there is none)."""


class WholeReader(Reader):
    """Collects the bytes of a file and parses them on `settle`."""

    def __init__(self, tree: Tree, parse: Parse) -> None:
        self._tree = tree
        self._parse = parse
        self._data = bytearray()
        self._read = 0
        """Number of bytes at the last `settle`."""
        self._emitted: set[_EmittedOnce] = set()
        self._tail: Skipped | None = None

    @property
    def tail(self) -> Skipped | None:
        return self._tail

    @property
    def rereads(self) -> bool:
        return True

    def feed(self, data: bytes) -> list[Event]:
        self._data += data
        return []

    def settle(self) -> list[Event]:
        if len(self._data) == self._read:
            return []
        self._read = len(self._data)
        try:
            events, self._tail = self._parse(bytes(self._data), self._tree)
        except RecursionError:
            events, self._tail = [], Skipped(1, "nested too deeply to be read")
        news = [e for e in events if not isinstance(e, _EmittedOnce) or e not in self._emitted]
        self._emitted.update(e for e in news if isinstance(e, _EmittedOnce))
        return news


def whole_reader(parse: Parse) -> Callable[[Tree], WholeReader]:
    """Make the `open` of a format that is one text."""
    return lambda tree: WholeReader(tree, parse)


def json_reader(read_value: ReadValue) -> Callable[[Tree], WholeReader]:
    """Make the `open` of a format that is one JSON value."""

    def parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
        value, tail = parse_json(data)
        return list(read_value(value, tree)) if value is not None else [], tail

    return whole_reader(parse)


def parse_json(data: bytes) -> tuple[Json, Skipped | None]:
    """Parse a JSON value, of a cut one its complete parts; also returns the error, if any."""
    text = decode_text(data.removeprefix(BOM))
    start = spans.skip(text, 0)
    if start == len(text):
        return None, None
    try:
        value = spans.read(text, start)
    except Malformed as error:
        return _repair_cut(text, start, error)
    text_after = text[value.end :].strip(" \t\r\n\0")
    if not text_after:
        return value.value, None
    line = text.count("\n", 0, value.end) + 1
    return value.value, Skipped(line, f"{len(text_after):,} characters after the end of the JSON value")


def _repair_cut(text: str, start: int, error: Malformed) -> tuple[Json, Skipped]:
    end = _find_error_offset(text, start)
    line = text.count("\n", 0, end) + 1
    # The error is at the end of a cut text, or at the opening quote of a cut string.
    cut = not text[end:].strip() or text[end : end + 1] == '"'
    reason = "cut off: a JSON value has no end" if cut else error.message
    value = None if "nested" in error.message else file_head.repair_json(text[start:end])
    rest = f" (the last {len(text) - end:,} characters were not read)" if end < len(text) else ""
    return value, Skipped(line, reason + rest)


def _find_error_offset(text: str, start: int) -> int:
    try:
        canonical.raw_decode(text, start)
    except ValueError as error:
        return max(start, int(getattr(error, "pos", start)))
    except RecursionError:
        return start
    return len(text)


Row = dict[str, Json]
Tables = dict[str, list[Row]]
TABLES_KEY: Final = "rows_of"
"""Member of a database's first line that lists its tables. Further lines are ``{"table": ..., "row": {...}}``."""
JOB: Final = "files of a job folder"
"""First entry of the list that the IO layer makes of a job folder, or of a folder of turn logs."""
LOGS: Final = "logs of requests"
"""First entry of the list that the IO layer makes of a folder of request logs."""


def tables_in(head: bytes) -> frozenset[str]:
    """Return the names of the tables that a file of rows declares."""
    if TABLES_KEY.encode() not in head[:200]:
        return frozenset()
    first = next(iter(file_head.parse_values(head)), None)
    return frozenset(map(as_str, as_list(as_dict(first).get(TABLES_KEY))))


def parse_rows(data: bytes) -> Tables:
    tables: Tables = {}
    for line in data.splitlines():
        _add_row(tables, as_dict(canonical.loads(line)))
    return tables


def _add_row(tables: Tables, record: dict[str, Json]) -> None:
    if isinstance(row := record.get("row"), dict):
        tables.setdefault(as_str(record.get("table")), []).append(row)


def decode_column(value: Json) -> Json:
    """Decode a column that holds JSON as text; other text is returned as is."""
    if not isinstance(value, str):
        return value
    try:
        return canonical.loads(value)
    except (ValueError, RecursionError):
        return value


class _RowsHandler:
    """Collects the rows of a database, and converts all of them at each settle."""

    def __init__(self, tree: Tree, read_tables: Callable[[Tables, Tree], Iterator[Event]]) -> None:
        self._tree, self._read_tables = tree, read_tables
        self._tables: Tables = {}

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        _add_row(self._tables, value)
        return iter(())

    def state_events(self) -> Iterator[Event]:
        return self._read_tables(self._tables, self._tree)


def rows_reader(read_tables: Callable[[Tables, Tree], Iterator[Event]]) -> Callable[[Tree], LinesReader]:
    """Make the `open` of a format of rows; `read_tables` must be deterministic."""
    return lambda tree: LinesReader(_RowsHandler(tree, read_tables))
