"""Pending events of a live session: what happened since its last written call.

A row holds several events: those of one call, thread and kind that were written together, with their data joined. An
answer comes in thousands of pieces: a row for each would take four times as long to write as the answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from ctxtui.core.session import MAIN
from ctxtui.store.errors import explain_errors
from ctxtui.store.host_process import HostProcess
from ctxtui.store.leases import living_hosts
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.damage import decodes
from ctxtui.store.sessions.listing import find


class InFlightEvent(Struct, frozen=True):
    """One event as passed to the writer: text, or the raw bytes of an answer.

    `host` is the token of its writer, `thread` its line of context.
    """

    call: str
    at: float
    kind: str
    data: str | bytes
    host: str = ""
    thread: str = MAIN


Event = tuple[str, float, str, str | bytes, str]
"""The call, the time, the kind, the data, and the thread."""
Row = tuple[str | bytes, float, str, str | bytes, str, str | bytes, str | None]
"""The `COLUMNS` of a row."""

SLOTS: Final = ("queue", "draft")
"""Kinds of events of which only the last one counts, and which stay pending when a call is written."""
_ANSWER_PIECE: Final = "heard"
"""The kind of events with raw bytes; in others a BLOB is a text with a lone surrogate."""
MAX_ROW_EVENTS: Final = 4096
COLUMNS: Final = "call, at, kind, data, host, thread, parts"
# Getters of an event's call, kind and thread, and of the data in a pair of time and data.
_LINE: Final = itemgetter(0, 2, 4)
_DATA: Final = itemgetter(1)
_PARTS: Final = msgspec.json.Decoder(list[tuple[float, int]])


class EventRow(NamedTuple):
    """Events of one call, kind and thread as a row holds them.

    - `at`: the time of the first.
    - `data`: their joined data.
    - `parts`: for several events, as JSON, the time of each and its length in characters (bytes if `data` is bytes);
      None for one.
    """

    call: str
    kind: str
    thread: str
    at: float
    data: str | bytes
    parts: str | None


def group_events(events: Iterable[Event]) -> Iterator[EventRow]:
    """Group consecutive `events` of one call, kind and thread into rows.

    Of the kinds in `SLOTS`, only the last event is kept.
    """
    for (call, kind, thread), together in groupby(events, _LINE):
        timed_data = [(at, _sql_value(data)) for _, at, _, data, _ in together]
        if kind in SLOTS:
            del timed_data[:-1]
        for first in range(0, len(timed_data), MAX_ROW_EVENTS):
            for whole, same in groupby(
                timed_data[first : first + MAX_ROW_EVENTS], lambda timed_event: type(timed_event[1])
            ):
                pieces = list(same)
                at, data = pieces[0]
                if len(pieces) == 1:
                    yield EventRow(call, kind, thread, at, data, None)
                    continue
                parts = msgspec.json.encode([(at, len(piece)) for at, piece in pieces]).decode()
                yield EventRow(call, kind, thread, at, whole().join(map(_DATA, pieces)), parts)


def _sql_value(data: str | bytes) -> str | bytes:
    return data if isinstance(data, bytes) or data.isascii() else sql_text(data)


@decodes
def decode_events(rows: Iterable[Row]) -> list[InFlightEvent]:
    """Decode rows of ``events``, each of one or several events."""
    events = []
    for call, at, kind, data, host, thread, parts in rows:
        first = 0
        for when, size in ((at, len(data)),) if parts is None else _PARTS.decode(parts):
            piece = data[first : first + size]
            value = piece if kind == _ANSWER_PIECE else py_text(piece)
            events.append(InFlightEvent(py_text(call), when, kind, value, host, py_text(thread)))
            first += size
    return events


def pending_events(path: Path, session_id: str) -> list[InFlightEvent]:
    """The events of a session in the database `path` that no call contains, in order."""
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        return _read_events(conn, find(conn, session_id)[0], ())


def abandoned_events(path: Path, session_id: str, host: HostProcess | None = None) -> list[InFlightEvent]:
    """Like `pending_events`, without the events of living hosts other than `host`."""
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        key, id_ = find(conn, session_id)
        return _read_events(conn, key, [living_host.token for living_host in living_hosts(conn, id_, host)])


def _read_events(conn: sqlite3.Connection, key: int, but: Sequence[str]) -> list[InFlightEvent]:
    marks = ", ".join("?" * len(but))
    query = f"SELECT {COLUMNS} FROM events WHERE session = ? AND host NOT IN ({marks}) ORDER BY key"
    return decode_events(conn.execute(query, (key, *but)))
