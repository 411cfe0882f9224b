"""Writes sessions: an import replaces its session's rows, a live session is appended to.

Blocks are shared: existing ones are never written again. A *run* is a stored chain of blocks (`sessions.runs`). Several
processes may append to one session. Runs only grow, so each process's copy of a run remains a prefix of it. If another
process appended to a run first, the new blocks become a run of their own, and each context keeps its content.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import count

from msgspec.structs import replace

from ctxtui.core.block import Place
from ctxtui.core.call import Call, count_calls
from ctxtui.core.session import MAIN, Described, Happened, Session, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.store.block_codec import Packer
from ctxtui.store.host_process import HostProcess
from ctxtui.store.leases import refuse_in_use
from ctxtui.store.rows import Price, Priced, Progress, SourceInfo, sql_text
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions import call_rows
from ctxtui.store.sessions.call_rows import ListPosition
from ctxtui.store.sessions.content_rows import (
    BlockRow,
    Skeletons,
    delete_unreferenced,
    pack_blocks,
    place_keys,
    put_blocks,
)
from ctxtui.store.sessions.identity import Identity, identify
from ctxtui.store.sessions.in_flight import SLOTS, Event, group_events
from ctxtui.store.sessions.read import nodes_by_run
from ctxtui.store.sessions.runs import RunLayout, encode_items

_LISTS = {"skipped": 4, "happenings": 7, "outcomes": 4}
"""Tables with one row per list entry, and their number of columns."""


def write_session(
    conn: sqlite3.Connection,
    session: Session,
    source: SourceInfo,
    *,
    price: Price,
    progress: Progress | None,
    now: float,
    host: HostProcess | None = None,
) -> str:
    """Store `session`, or update its stored form; returns its id. See `Store.import_session`.

    `host` is the session's host, if that is the writer.
    """
    tips = [thread.tip for thread in session.threads.values()]
    heads = [head for call in session.calls.values() for head in (call.raw_head, call.sent_head, call.response_head)]
    layout = RunLayout(session.tree)
    for head in (*heads, *tips):
        layout.add(head)
    digests = dict.fromkeys(session.tree[node].block.digest for run in layout.runs for node in run.nodes)
    packer = Packer(conn)
    # Packed before taking the lock, as this takes the most time.
    packed = pack_blocks(conn, packer, [session.tree.blocks[digest] for digest in digests], progress)
    costs = {id_: price(call) for id_, call in session.calls.items()}
    with writing(conn):
        identity = identify(conn, session, source)
        if identity.keep:
            return identity.id
        refuse_in_use(conn, identity.id, host)
        key = _put_session(conn, identity, session, source, now)
        old_blocks = [block for (block,) in conn.execute("SELECT block FROM session_blocks WHERE session = ?", (key,))]
        for table in ("calls", "threads", "runs", "session_blocks"):
            conn.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        appender = Appender(conn, key, session.tree, packer, packed=packed)
        appender.store_contexts(heads)
        where: dict[str, tuple[int, int, str]] = {}
        for thread in session.threads.values():
            appender.put_thread(ThreadSeen(thread.id, thread.label, thread.parent))
            row = appender.set_tip(thread.id, thread.tip)
            where |= {id_: (row, n, thread.id) for n, id_ in enumerate(session.order.get(thread.id, ()), 1)}
        for nth, (id_, call) in enumerate(session.calls.items()):
            row, number, listed = where[id_]
            own = None if call.thread == listed else sql_text(call.thread)
            appender.put_call(ListPosition(key, nth, row, number, own), call, costs[id_])
        conn.execute(call_rows.SUMS, {"session": key})
        # A record may be the sum of several calls.
        values = (count_calls(session.calls.values()), sql_text(session.model), key)
        conn.execute("UPDATE sessions SET calls = ?, model = ? WHERE key = ?", values)
        delete_unreferenced(conn, old_blocks)
    return identity.id


def _put_session(conn: sqlite3.Connection, identity: Identity, session: Session, source: SourceInfo, now: float) -> int:
    """Insert or update the session's own row, its sources and its lists; user data stays."""
    about = session.about
    texts = (about.id, about.title, about.source, about.cwd, about.client, about.version)
    columns = {
        **dict(zip(("recorded_id", "title", "source", "cwd", "client", "version"), map(sql_text, texts), strict=True)),
        "window": about.window,
        "quotas": json.dumps(session.quotas, separators=(",", ":")) if session.quotas else None,
        "changed": now,
    }
    key = identity.key
    if key is None:
        blank = {"model": "", "calls": 0, "threads": 0}
        key = _insert(conn, {"id": identity.id, "imported": now, **columns, **blank})
    else:
        sets = ", ".join(f"{name} = ?" for name in columns)
        conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*columns.values(), key))
    _put_sources(conn, key, source)
    _put_lists(conn, key, session)
    return key


def _insert(conn: sqlite3.Connection, row: dict[str, object]) -> int:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    done = conn.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", tuple(row.values()))
    return int(done.lastrowid or 0)


def _put_sources(conn: sqlite3.Connection, key: int, source: SourceInfo) -> None:
    conn.execute("DELETE FROM sources WHERE session = ?", (key,))
    files = [source, *source.companions]
    rows = [
        (key, part, sql_text(file.path), file.size, file.mtime, sql_text(file.format))
        for part, file in enumerate(files)
    ]
    conn.executemany(
        "INSERT OR IGNORE INTO sources (session, part, path, size, mtime, format) VALUES (?, ?, ?, ?, ?, ?)", rows
    )


def _put_lists(conn: sqlite3.Connection, key: int, session: Session) -> None:
    rows: dict[str, Iterator[tuple[object, ...]]] = {
        "skipped": ((entry.line, sql_text(entry.reason)) for entry in session.skipped),
        "happenings": (
            (sql_text(entry.kind), sql_text(entry.text), sql_text(entry.thread), entry.at, sql_text(entry.after))
            for entry in session.happenings
        ),
        "outcomes": ((sql_text(entry.name), sql_text(entry.value)) for entry in session.outcomes),
    }
    for table, width in _LISTS.items():
        conn.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        numbered = ((key, nth, *row) for nth, row in enumerate(rows[table]))
        conn.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", numbered)


class Appender:
    """Appends to the session with row `key`, with contexts in `tree`.

    `host` is the token of the host that writes; `packed` are prepared rows of blocks. Every method runs within the
    caller's transaction. After a rollback make a new appender, as this one remembers what it wrote.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        key: int,
        tree: Tree,
        packer: Packer,
        host: str = "",
        packed: dict[str, BlockRow] | None = None,
    ) -> None:
        self.key = key
        self.host = host
        self._conn = conn
        self._tree = tree
        self._packer = packer
        self._packed = packed or {}
        self._skeletons = Skeletons(conn, packer)
        self._names: dict[str, str] = {}
        """Stored ids of the calls that were added here, by the calls' own ids."""
        self._blocks: dict[str, int] = {}
        self._places: dict[Place, int] = {}
        stored = {run: nodes for run, nodes in nodes_by_run(conn, key, tree).items() if run is not None}
        self._layout = RunLayout(tree, stored.values())
        self._runs = dict(enumerate(stored))
        """The rows of runs by their index."""
        self._pairs = {index: self._pairs_of(nodes) for index, nodes in enumerate(stored.values())}
        """The contents of their rows."""

    def add_events(self, events: Iterable[Event]) -> None:
        """Write pending events; an event of a kind in `SLOTS` replaces this host's last one."""
        into = "INSERT INTO events (session, host, thread, call, at, kind, data, parts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        for row in group_events(events):
            if row.kind in SLOTS:
                delete = "DELETE FROM events WHERE session = ? AND host = ? AND kind = ?"
                self._conn.execute(delete, (self.key, self.host, row.kind))
            names = (sql_text(row.thread), sql_text(self._names.get(row.call, row.call)))
            self._conn.execute(into, (self.key, self.host, *names, row.at, row.kind, row.data, row.parts))

    def add_call(self, call: Call, tip: int, cost: Priced | None, left: str | None = None) -> None:
        """Write a finished call; the thread's record now ends at `tip`.

        Deletes the thread's pending events, which the call contains: those that the host `left` wrote, or if `left` is
        None, this host's events except `SLOTS`.
        """
        conn = self._conn
        self._names[call.id] = self._unused_id(call)
        call = replace(call, id=self._names[call.id])
        self.store_contexts((call.raw_head, call.sent_head, call.response_head))
        thread = self.set_tip(call.thread, tip)
        ours = (self.key,)
        nth = conn.execute("SELECT coalesce(max(nth), -1) + 1 FROM calls WHERE session = ?", ours).fetchone()[0]
        number = conn.execute("SELECT coalesce(max(number), 0) + 1 FROM calls WHERE thread = ?", (thread,)).fetchone()
        self.put_call(ListPosition(self.key, nth, thread, number[0]), call, cost)
        if left is None:
            self._delete_pending(call.thread)
        else:
            delete = "DELETE FROM events WHERE session = ? AND host = ? AND thread = ?"
            conn.execute(delete, (self.key, left, sql_text(call.thread)))
        conn.execute(call_rows.SUMS, {"session": self.key})

    def put_call(self, listed: ListPosition, call: Call, cost: Priced | None) -> None:
        heads = [self._stored_position(head) for head in (call.raw_head, call.sent_head, call.response_head)]
        call_rows.put_call(self._conn, listed, call, heads, cost, self._skeletons)

    def _unused_id(self, call: Call) -> str:
        id_, find = call.id, "SELECT 1 FROM calls WHERE session = ? AND id = ? AND started IS NOT ?"
        for n in count(2):
            if not self._conn.execute(find, (self.key, sql_text(id_), call.started)).fetchone():
                break
            id_ = f"{call.id}.{n}"
        return id_

    def _delete_pending(self, thread: str) -> None:
        marks = ", ".join("?" * len(SLOTS))
        delete = f"DELETE FROM events WHERE session = ? AND host = ? AND thread = ? AND kind NOT IN ({marks})"
        self._conn.execute(delete, (self.key, self.host, sql_text(thread), *SLOTS))

    def take_over(self, left: str) -> None:
        """Take over the pending events of the host `left`."""
        update = "UPDATE events SET host = ? WHERE session = ? AND host = ?"
        self._conn.execute(update, (self.host, self.key, left))

    def update_metadata(self, about: Described) -> None:
        """Update the session's title, client and folder; empty ones stay as they were."""
        texts = {"title": about.title, "client": about.client, "cwd": about.cwd}
        columns = {name: sql_text(text) for name, text in texts.items() if text}
        if columns:
            sets = ", ".join(f"{name} = ?" for name in columns)
            self._conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*columns.values(), self.key))

    def put_thread(self, event: ThreadSeen) -> None:
        conn = self._conn
        nth = conn.execute("SELECT count(*) FROM threads WHERE session = ?", (self.key,)).fetchone()[0]
        conn.execute(
            "INSERT INTO threads (session, id, nth, label, parent, tip_run, tip_at) VALUES (?, ?, ?, ?, ?, NULL, 0)"
            " ON CONFLICT (session, id) DO UPDATE SET label = excluded.label, parent = excluded.parent",
            (self.key, sql_text(event.id), nth, sql_text(event.label), sql_text(event.parent)),
        )

    def add_happening(self, happening: Happened) -> None:
        conn = self._conn
        nth = conn.execute("SELECT coalesce(max(nth), -1) + 1 FROM happenings WHERE session = ?", (self.key,))
        kind, text, thread, after = map(sql_text, (happening.kind, happening.text, happening.thread, happening.after))
        row = (self.key, nth.fetchone()[0], kind, text, thread, happening.at, after)
        conn.execute("INSERT INTO happenings VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _find_thread(self, id_: str) -> int:
        find = "SELECT key FROM threads WHERE session = ? AND id = ?"
        row = self._conn.execute(find, (self.key, sql_text(id_))).fetchone()
        if row is None:
            self.put_thread(ThreadSeen(id_))
            row = self._conn.execute(find, (self.key, sql_text(id_))).fetchone()
        return int(row[0])

    def set_tip(self, thread: str, tip: int) -> int:
        """Set the end of a thread's record; returns the thread's row."""
        self.store_contexts((tip,))
        row = self._find_thread(thread or MAIN)
        self._conn.execute(
            "UPDATE threads SET tip_run = ?, tip_at = ? WHERE key = ?", (*self._stored_position(tip), row)
        )
        return row

    # Contexts

    def _stored_position(self, head: int) -> tuple[int | None, int]:
        at = self._layout.position_of(head)
        return None if at.run is None else self._runs[at.run], at.blocks

    def store_contexts(self, heads: Iterable[int]) -> None:
        """Write new contexts: at the end of their runs, or as new runs."""
        for head in heads:
            self._layout.add(head)
        for index in sorted(self._layout.grown & self._runs.keys()):
            self._append_to_run(index)
        for index in sorted(self._layout.grown - self._runs.keys()):
            self._insert(index)
        self._layout.grown.clear()

    def _append_to_run(self, index: int) -> None:
        """Append new blocks to a run; if another process appended to it, make a new run."""
        stored_pairs, nodes = self._pairs[index], self._layout.runs[index].nodes
        more = self._new_pairs(nodes[len(stored_pairs) :])
        row = (len(nodes), encode_items([*stored_pairs, *more]), self._runs[index], self.key, len(stored_pairs))
        update = "UPDATE runs SET length = ?, items = ? WHERE key = ? AND session = ? AND length = ?"
        if self._conn.execute(update, row).rowcount:
            stored_pairs.extend(more)
        else:
            self._layout.split(index, len(stored_pairs))

    def _insert(self, index: int) -> None:
        if index in self._runs:
            return
        run = self._layout.runs[index]
        parent = run.parent.run
        if parent is not None:
            # A run's parent must have the smaller key.
            self._insert(parent)
        pairs = self._pairs[index] = self._new_pairs(run.nodes)
        above = None if parent is None else self._runs[parent]
        row = (self.key, above, run.parent.blocks, run.depth, len(pairs), encode_items(pairs))
        done = self._conn.execute(
            "INSERT INTO runs (session, parent, offset, depth, length, items) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        self._runs[index] = int(done.lastrowid or 0)

    def _new_pairs(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """Like `_pairs_of`, for nodes that are new in the session."""
        pairs = self._pairs_of(nodes)
        rows = [(self.key, block) for _, block in pairs]
        self._conn.executemany("INSERT OR IGNORE INTO session_blocks (session, block) VALUES (?, ?)", rows)
        return pairs

    def _pairs_of(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """(place key, block key) of each node, inserting new ones."""
        tree_nodes = [self._tree[node] for node in nodes]
        missing = {node.block.digest: node.block for node in tree_nodes if node.block.digest not in self._blocks}
        if missing:
            self._blocks |= put_blocks(self._conn, self._packer, list(missing.values()), self._packed)
        new_places = {node.place for node in tree_nodes} - self._places.keys()
        if new_places:
            self._places |= place_keys(self._conn, new_places)
        return [(self._places[node.place], self._blocks[node.block.digest]) for node in tree_nodes]
