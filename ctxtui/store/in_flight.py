"""What a live session had in flight when it was last written: what its calls do not hold yet."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ctxtui.store.connect import connect
from ctxtui.store.errors import explained
from ctxtui.store.listing import find
from ctxtui.store.rows import py_text


@dataclass(frozen=True, slots=True)
class InFlightEvent:
    """One event as the writer took it: text, or the raw bytes of an answer."""

    call: str
    at: float
    kind: str
    data: str | bytes


def in_flight(path: Path, session_id: str) -> list[InFlightEvent]:
    """The events that no call of a session in the database `path` holds, in the order in which they happened."""
    with explained(path), closing(connect(path, readonly=True)) as conn:
        key = find(conn, session_id)[0]
        rows = conn.execute("SELECT call, at, kind, data FROM events WHERE session = ? ORDER BY key", (key,))
        return [InFlightEvent(py_text(call), at, kind, data) for call, at, kind, data in rows]
