"""What a live session had in flight when it was last written: what its calls do not hold yet.

A row is a stretch of events: those of one call, thread and kind that were written together, what they say joined. An
answer comes in thousands of pieces, and a row for each would take four times as long to write as the answer.
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
from ctxtui.store.errors import explained
from ctxtui.store.host_process import HostProcess
from ctxtui.store.leases import living
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.damage import decodes
from ctxtui.store.sessions.listing import find


class InFlightEvent(Struct, frozen=True):
    """One event as the writer took it: text, or the raw bytes of an answer; `host` is the token of who wrote it,
    `thread` the line of context that it is of."""

    call: str
    at: float
    kind: str
    data: str | bytes
    host: str = ""
    thread: str = MAIN


Event = tuple[str, float, str, str | bytes, str]
"""The call, the time, the kind, what it says, and the thread."""
Row = tuple[str | bytes, float, str, str | bytes, str, str | bytes, str | None]
"""`COLUMNS` of a row."""

SLOTS: Final = ("queue", "draft")
"""Kinds of events of which only the last counts, and which no call ends."""
MOST: Final = 4096
"""Events of a row."""
COLUMNS: Final = "call, at, kind, data, host, thread, parts"
"""What `events_of` reads of a row."""
_LINE: Final = itemgetter(0, 2, 4)
_DATA: Final = itemgetter(1)
_PARTS: Final = msgspec.json.Decoder(list[tuple[float, int]])


class Stretch(NamedTuple):
    """Events of one call, kind and thread as a row holds them: the time of the first, what they say, joined, and of
    several, as JSON, the time of each and how many characters (bytes where `data` is bytes) are its own."""

    call: str
    kind: str
    thread: str
    at: float
    data: str | bytes
    parts: str | None


def stretches(events: Iterable[Event]) -> Iterator[Stretch]:
    """The rows of `events`, in their order."""
    for (call, kind, thread), together in groupby(events, _LINE):
        told = [(at, _stored(data)) for _, at, _, data, _ in together]
        if kind in SLOTS:
            del told[:-1]
        for first in range(0, len(told), MOST):
            for whole, same in groupby(told[first : first + MOST], lambda one: type(one[1])):
                pieces = list(same)
                at, data = pieces[0]
                if len(pieces) == 1:
                    yield Stretch(call, kind, thread, at, data, None)
                    continue
                parts = msgspec.json.encode([(at, len(piece)) for at, piece in pieces]).decode()
                yield Stretch(call, kind, thread, at, whole().join(map(_DATA, pieces)), parts)


def _stored(data: str | bytes) -> str | bytes:
    return data if isinstance(data, bytes) or data.isascii() else sql_text(data)


@decodes
def events_of(rows: Iterable[Row]) -> list[InFlightEvent]:
    """The events of `rows`, in their order."""
    found = []
    for call, at, kind, data, host, thread, parts in rows:
        first = 0
        for when, size in ((at, len(data)),) if parts is None else _PARTS.decode(parts):
            piece = data[first : first + size]
            found.append(InFlightEvent(py_text(call), when, kind, piece, host, py_text(thread)))
            first += size
    return found


def in_flight(path: Path, session_id: str) -> list[InFlightEvent]:
    """The events that no call of a session in the database `path` holds, in the order in which they happened."""
    with explained(path), closing(connect(path, readonly=True)) as conn:
        return _events(conn, find(conn, session_id)[0], ())


def left_over(path: Path, session_id: str, host: HostProcess | None = None) -> list[InFlightEvent]:
    """As `in_flight`, without what hosts other than `host` have in flight that live: nobody else may take that up."""
    with explained(path), closing(connect(path, readonly=True)) as conn:
        key, id_ = find(conn, session_id)
        return _events(conn, key, [one.token for one in living(conn, id_, host)])


def _events(conn: sqlite3.Connection, key: int, but: Sequence[str]) -> list[InFlightEvent]:
    marks = ", ".join("?" * len(but))
    query = f"SELECT {COLUMNS} FROM events WHERE session = ? AND host NOT IN ({marks}) ORDER BY key"
    return events_of(conn.execute(query, (key, *but)))
