"""Identity of recordings: importing one twice stores it once.

A session is named by the recording's own id, else by its path. An equal id alone does not prove identity: a subagent's
file carries its parent's id, an older copy lacks calls, a log may be overwritten by another run. So the calls decide.
"""

from __future__ import annotations

import re
import sqlite3
from enum import Enum, auto
from itertools import count
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.session import Session
from ctxtui.store.rows import SourceInfo, sql_text

_SPEAKABLE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,127}\Z")
"""An id that a person can type, so that it can be the session's name."""


class Verdict(Enum):
    """Relation of a recording to a stored session of the same name."""

    SAME = auto()
    """The same recording, or a longer version of it: it replaces the stored session."""
    OLDER = auto()
    """It lacks calls of the stored session, which stays as it is."""
    OTHER = auto()
    """A different recording, which gets a name of its own."""


class Identity(NamedTuple):
    """The name of a recording in the store.

    `key` is the session's row (None: it is new). `keep`: the stored session holds more than the recording and must
    stay.
    """

    id: str
    key: int | None = None
    keep: bool = False


def identify(conn: sqlite3.Connection, session: Session, source: SourceInfo) -> Identity:
    """Find the stored session that is the same recording as `session`, or a new name for it."""
    first = own_id(session, source)
    for attempt in count():
        id_ = first if not attempt else f"{first}-{_short_digest(source.path, *list(session.calls)[:1], attempt)}"
        row = conn.execute("SELECT key FROM sessions WHERE id = ?", (id_,)).fetchone()
        if row is None:
            return Identity(id_)
        verdict = _compare_calls(conn, row[0], session, source)
        if verdict is not Verdict.OTHER:
            return Identity(id_, row[0], keep=verdict is Verdict.OLDER)
    raise AssertionError("unreachable: count() never ends")


def _compare_calls(conn: sqlite3.Connection, key: int, session: Session, source: SourceInfo) -> Verdict:
    stored = {id_ for (id_,) in conn.execute("SELECT id FROM calls WHERE session = ?", (key,))}
    new = {sql_text(id_) for id_ in session.calls}
    if stored <= new:
        return Verdict.SAME
    if new < stored and not (new and _has_grown(conn, key, source)):
        return Verdict.OLDER
    if _has_grown(conn, key, source) and (session.about.id or stored & new):
        # The same file, now longer: a call whose id was derived may have another id now.
        return Verdict.SAME
    return Verdict.OTHER


def _has_grown(conn: sqlite3.Connection, key: int, source: SourceInfo) -> bool:
    """Whether the stored session was read from the same file, when that was not longer than now."""
    where = "session = ? AND part = 0 AND path = ? AND size <= ?"
    values = (key, sql_text(source.path), source.size)
    return bool(source.path and conn.execute(f"SELECT 1 FROM sources WHERE {where}", values).fetchone())


def own_id(session: Session, source: SourceInfo) -> str:
    """The name of a recording unless it is taken: its own id if it can be typed, else a digest.

    The digest is that of its id, else of its path, else (standard input) of its content.
    """
    own = session.about.id
    if _SPEAKABLE.match(own):
        return own
    if own:
        return _short_digest(session.about.source, own)
    if source.path:
        return _short_digest(session.about.source, source.path)
    # Standard input has no name: equal bytes are the same session.
    tree, tips = session.tree, [thread.tip for thread in session.threads.values()]
    return _short_digest(
        session.about.source, *session.calls, *(block.digest for tip in tips for block, _ in tree.items(tip))
    )


def _short_digest(*values: object) -> str:
    return canonical.digest(canonical.dumps([str(word) for word in values]))[:12]
