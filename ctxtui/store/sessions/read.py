"""Reads a session back: equal to what was stored, except for node ids."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from ctxtui.core import canonical
from ctxtui.core.block import Block, Place
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity, Skeleton
from ctxtui.core.session import Described, Happened, Outcome, Session, Skipped, Thread
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import QuotaReport, Usage
from ctxtui.store.block_codec import Unpacker
from ctxtui.store.rows import py_text
from ctxtui.store.schema.damage import Damaged, check_rows, decodes
from ctxtui.store.schema.database_file import reading
from ctxtui.store.sessions.call_rows import USAGE
from ctxtui.store.sessions.runs import decode_items

Heads = dict[int | None, list[int]]
"""The nodes of each run, by its key; the empty context's under None."""


@decodes
def read_session(conn: sqlite3.Connection, key: int, tree: Tree | None = None) -> Session:
    """Read the session with row `key`, with the user's title if there is one, in one snapshot.

    Its contexts are in `tree` (None: a new one); contexts that `tree` has already keep their nodes.
    """
    with reading(conn):
        _check_session(conn, key)
        tree = Tree() if tree is None else tree
        heads = nodes_by_run(conn, key, tree)
        session = Session(tree, _read_metadata(conn, key))
        threads = _read_threads(conn, key, session, heads)
        _read_calls(conn, key, session, heads, threads)
        _read_lists(conn, key, session)
    return session


def _check_session(conn: sqlite3.Connection, key: int) -> None:
    """Raise `Damaged` if a value of the session with row `key` does not fit its column."""
    check_rows(conn, "sessions", "key = ?", key)
    for table in ("threads", "calls", "happenings", "skipped", "outcomes"):
        check_rows(conn, table, "session = ?", key)


def _read_metadata(conn: sqlite3.Connection, key: int) -> Described:
    columns = "recorded_id, coalesce(name, title), source, cwd, client, version, window"
    *texts, window = conn.execute(f"SELECT {columns} FROM sessions WHERE key = ?", (key,)).fetchone()
    id_, title, source, cwd, client, version = map(py_text, texts)
    return Described(id_, title, source, cwd=cwd, client=client, version=version, window=window)


def nodes_by_run(conn: sqlite3.Connection, key: int, tree: Tree) -> Heads:
    """The nodes in `tree` of every run of the session with row `key`, created if needed."""
    blocks = _read_blocks(conn, key)
    place_rows = conn.execute("SELECT key, section, role, mark FROM places")
    places = {place: Place(*map(py_text, texts)) for place, *texts in place_rows}
    heads: Heads = {None: []}
    runs = conn.execute("SELECT key, parent, offset, items FROM runs WHERE session = ? ORDER BY key", (key,))
    for run, parent, offset, items in runs:
        head = heads[parent][offset - 1] if offset else ROOT
        heads[run] = [head := tree.child(head, blocks[block], places[place]) for place, block in decode_items(items)]
    return heads


def _read_blocks(conn: sqlite3.Connection, key: int) -> dict[int, Block]:
    unpacker = Unpacker(conn)
    rows = conn.execute(
        "SELECT b.key, b.digest, b.kind, b.codec, b.body FROM session_blocks s JOIN blocks b ON b.key = s.block"
        " WHERE s.session = ?",
        (key,),
    )
    return {key: unpacker.block(digest, kind, codec, body) for key, digest, kind, codec, body in rows}


def _node_of(heads: Heads, run: int | None, at: int) -> int:
    if at < 0:
        raise Damaged(f"a context of {at} blocks")
    return heads[run][at - 1] if at else ROOT


def _read_threads(conn: sqlite3.Connection, key: int, session: Session, heads: Heads) -> dict[int, str]:
    ids: dict[int, str] = {}
    columns = "key, tip_run, tip_at, id, label, parent"
    for row, run, at, *texts in conn.execute(f"SELECT {columns} FROM threads WHERE session = ? ORDER BY nth", (key,)):
        id_, label, parent = map(py_text, texts)
        thread = Thread(id_, label, parent, _node_of(heads, run, at))
        session.threads[thread.id] = thread
        ids[row] = thread.id
    return ids


def _read_calls(conn: sqlite3.Connection, key: int, session: Session, heads: Heads, threads: dict[int, str]) -> None:
    skeletons = _read_skeletons(conn, key)
    cursor = conn.cursor()
    cursor.row_factory = sqlite3.Row
    numbers: dict[str, list[tuple[int, str]]] = {}
    for row in cursor.execute("SELECT * FROM calls WHERE session = ? ORDER BY nth", (key,)):
        listed = threads[row["thread"]]
        call = decode_call(row, listed, heads, skeletons)
        if call.thread not in session.threads:
            raise Damaged(f"call {call.id} belongs to the thread {call.thread!r}, which does not exist")
        session.calls[call.id] = call
        numbers.setdefault(listed, []).append((row["number"], call.id))
    session.order = {thread: [id_ for _, id_ in sorted(pairs)] for thread, pairs in numbers.items()}


def decode_call(row: Any, listed: str, heads: Heads, skeletons: Mapping[int, Skeleton]) -> Call:
    """Decode a row of ``calls``, listed in the thread `listed`."""
    start = EpochStart(row["epoch_start"])
    return Call(
        id=py_text(row["id"]),
        thread=listed if row["own_thread"] is None else py_text(row["own_thread"]),
        raw_head=_node_of(heads, row["raw_run"], row["raw_at"]),
        sent_head=_node_of(heads, row["sent_run"], row["sent_at"]),
        response_head=_node_of(heads, row["response_run"], row["response_at"]),
        provider=py_text(row["provider"]),
        model=py_text(row["model"]),
        started=row["started"],
        first_byte=row["first_byte"],
        ended=row["ended"],
        fidelity=Fidelity(row["fidelity"]),
        epoch=Epoch(row["epoch"], start, py_text(row["epoch_detail"])),
        usage=_make_usage(row),
        stop_reason=py_text(row["stop_reason"]),
        error=py_text(row["error"]),
        skeleton=skeletons.get(row["skeleton"]),
        line=row["line"],
        bytes_=(row["byte_start"], row["byte_end"]),
        extra=dict(canonical.loads(row["extra"])) if row["extra"] is not None else {},
    )


def _make_usage(row: Any) -> Usage | None:
    if row["fresh"] is None:
        return None
    if any(row[name] is None for name in USAGE):
        raise Damaged(f"the usage of call {row['id']} lacks figures")
    flags = {name: bool(row[name]) for name in ("output_final", "has_cache")}
    return Usage(**{name: row[name] for name in USAGE}, **flags, cost=row["reported_cost"])


def _read_skeletons(conn: sqlite3.Connection, key: int) -> dict[int, Skeleton]:
    unpacker = Unpacker(conn)
    rows = conn.execute(
        "SELECT key, dialect, codec, body FROM skeletons WHERE key IN (SELECT skeleton FROM calls WHERE session = ?)",
        (key,),
    )
    return {
        row: Skeleton(py_text(dialect), canonical.loads(unpacker.unpack(codec, body, f"skeleton {row}")))
        for row, dialect, codec, body in rows
    }


def _read_lists(conn: sqlite3.Connection, key: int, session: Session) -> None:
    def rows(table: str, columns: str) -> sqlite3.Cursor:
        return conn.execute(f"SELECT {columns} FROM {table} WHERE session = ? ORDER BY nth", (key,))

    session.skipped = [Skipped(line, py_text(reason)) for line, reason in rows("skipped", "line, reason")]
    session.happenings = [
        Happened(py_text(kind), py_text(text), py_text(thread), at, py_text(after))
        for kind, text, thread, at, after in rows("happenings", "kind, text, thread, at, after")
    ]
    (quotas,) = conn.execute("SELECT quotas FROM sessions WHERE key = ?", (key,)).fetchone()
    session.quotas = [QuotaReport(*fields) for fields in json.loads(quotas or "[]")]
    session.outcomes = [Outcome(py_text(name), py_text(value)) for name, value in rows("outcomes", "name, value")]
