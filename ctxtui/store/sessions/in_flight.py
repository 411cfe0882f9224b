"""What a live session had in flight when it was last written: what its calls do not hold yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ctxtui.core.session import MAIN
from ctxtui.dataclasses import dataclass
from ctxtui.store.errors import explained
from ctxtui.store.host_process import HostProcess
from ctxtui.store.leases import living
from ctxtui.store.rows import py_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.listing import find


@dataclass(frozen=True, slots=True)
class InFlightEvent:
    """One event as the writer took it: text, or the raw bytes of an answer; `host` is the token of who wrote it,
    `thread` the line of context that it is of."""

    call: str
    at: float
    kind: str
    data: str | bytes
    host: str = ""
    thread: str = MAIN


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
    columns = "call, at, kind, data, host, thread"
    query = f"SELECT {columns} FROM events WHERE session = ? AND host NOT IN ({marks}) ORDER BY key"
    return [InFlightEvent(py_text(call), *rest) for call, *rest in conn.execute(query, (key, *but))]
