"""Writing sessions: what is new is written, what is there stays, whether a recording is imported or a chat goes on.

Several processes may append to one session. Runs only ever grow, so what one of them knows of a run stays its
beginning: where another one was faster, what is new becomes a run of its own, and each context stays what it was.
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
from ctxtui.store.sessions.call_rows import Listed
from ctxtui.store.sessions.content_rows import BlockRow, Skeletons, collect, packed_blocks, place_keys, put_blocks
from ctxtui.store.sessions.identity import Identity, identify
from ctxtui.store.sessions.in_flight import SLOTS, Event, stretches
from ctxtui.store.sessions.read import nodes_by_run
from ctxtui.store.sessions.runs import RunLayout, items_text

_LISTS = {"skipped": 4, "happenings": 7, "outcomes": 4}
"""Tables with one row per list entry, and how many columns they have."""


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
    """Store `session`, or bring its stored form up to date; its id in the store. See `Store.import_session`. `host` is
    the one who hosts it, if that writes it."""
    tips = [thread.tip for thread in session.threads.values()]
    heads = [head for call in session.calls.values() for head in (call.raw_head, call.sent_head, call.response_head)]
    layout = RunLayout(session.tree)
    for head in (*heads, *tips):
        layout.add(head)
    digests = dict.fromkeys(session.tree[node].block.digest for run in layout.runs for node in run.nodes)
    packer = Packer(conn)
    # Before the lock is taken: it takes the most time.
    packed = packed_blocks(conn, packer, [session.tree.blocks[digest] for digest in digests], progress)
    costs = {id_: price(call) for id_, call in session.calls.items()}
    with writing(conn):
        identity = identify(conn, session, source)
        if identity.keep:
            return identity.id
        refuse_in_use(conn, identity.id, host)
        key = put_session(conn, identity, session, source, now)
        held = [block for (block,) in conn.execute("SELECT block FROM session_blocks WHERE session = ?", (key,))]
        for table in ("calls", "threads", "runs", "session_blocks"):
            conn.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        to = Appender(conn, key, session.tree, packer, packed=packed)
        to.hold(heads)
        where: dict[str, tuple[int, int, str]] = {}
        for thread in session.threads.values():
            to.thread(ThreadSeen(thread.id, thread.label, thread.parent))
            row = to.tip(thread.id, thread.tip)
            where |= {id_: (row, n, thread.id) for n, id_ in enumerate(session.order.get(thread.id, ()), 1)}
        for nth, (id_, call) in enumerate(session.calls.items()):
            row, number, listed = where[id_]
            own = None if call.thread == listed else sql_text(call.thread)
            to.put(Listed(key, nth, row, number, own), call, costs[id_])
        conn.execute(call_rows.SUMS, {"session": key})
        # A record may be the sum of several calls.
        made = (count_calls(session.calls.values()), sql_text(session.model), key)
        conn.execute("UPDATE sessions SET calls = ?, model = ? WHERE key = ?", made)
        collect(conn, held)
    return identity.id


def put_session(conn: sqlite3.Connection, identity: Identity, session: Session, source: SourceInfo, now: float) -> int:
    """Insert or update the session's own row, its sources and its lists; the row's key. What the user gave it stays."""
    about = session.about
    texts = (about.id, about.title, about.source, about.cwd, about.client, about.version)
    known = {
        **dict(zip(("recorded_id", "title", "source", "cwd", "client", "version"), map(sql_text, texts), strict=True)),
        "window": about.window,
        "quotas": json.dumps(session.quotas, separators=(",", ":")) if session.quotas else None,
        "changed": now,
    }
    key = identity.key
    if key is None:
        blank = {"model": "", "calls": 0, "threads": 0}
        key = _insert(conn, {"id": identity.id, "imported": now, **known, **blank})
    else:
        sets = ", ".join(f"{name} = ?" for name in known)
        conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*known.values(), key))
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
        "skipped": ((one.line, sql_text(one.reason)) for one in session.skipped),
        "happenings": (
            (sql_text(one.kind), sql_text(one.text), sql_text(one.thread), one.at, sql_text(one.after))
            for one in session.happenings
        ),
        "outcomes": ((sql_text(one.name), sql_text(one.value)) for one in session.outcomes),
    }
    for table, width in _LISTS.items():
        conn.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        numbered = ((key, nth, *row) for nth, row in enumerate(rows[table]))
        conn.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", numbered)


class Appender:
    """Appends to the session with row `key`, whose contexts are in `tree`, as the host with the token `host`; every
    method within the caller's own transaction. After a rollback it must be made anew: it remembers what it wrote.
    `packed` are rows of blocks that were made before."""

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
        """Calls by their own ids that have another one here."""
        self._blocks: dict[str, int] = {}
        self._places: dict[Place, int] = {}
        stored = {run: nodes for run, nodes in nodes_by_run(conn, key, tree).items() if run is not None}
        self._layout = RunLayout(tree, stored.values())
        self._runs = dict(enumerate(stored))
        """The rows of runs by their index."""
        self._pairs = {index: self._pairs_of(nodes) for index, nodes in enumerate(stored.values())}
        """What their rows hold."""

    def event(self, call: str, at: float, kind: str, data: str | bytes, thread: str = MAIN) -> None:
        """Keep something that is in flight in `thread`."""
        self.events([(call, at, kind, data, thread)])

    def events(self, events: Iterable[Event]) -> None:
        """The same of many, in their order."""
        into = "INSERT INTO events (session, host, thread, call, at, kind, data, parts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        for one in stretches(events):
            if one.kind in SLOTS:
                gone = "DELETE FROM events WHERE session = ? AND host = ? AND kind = ?"
                self._conn.execute(gone, (self.key, self.host, one.kind))
            names = (sql_text(one.thread), sql_text(self._names.get(one.call, one.call)))
            self._conn.execute(into, (self.key, self.host, *names, one.at, one.kind, one.data, one.parts))

    def call(self, call: Call, tip: int, cost: Priced | None, left: str | None = None) -> None:
        """Write a call that ended; the thread's record now ends at `tip`. What was in flight in the thread until here
        is in it, or all that the host `left` had in flight there."""
        conn = self._conn
        self._names[call.id] = self._free(call)
        call = replace(call, id=self._names[call.id])
        self.hold((call.raw_head, call.sent_head, call.response_head))
        thread = self.tip(call.thread, tip)
        ours = (self.key,)
        nth = conn.execute("SELECT coalesce(max(nth), -1) + 1 FROM calls WHERE session = ?", ours).fetchone()[0]
        number = conn.execute("SELECT coalesce(max(number), 0) + 1 FROM calls WHERE thread = ?", (thread,)).fetchone()
        self.put(Listed(self.key, nth, thread, number[0]), call, cost)
        if left is None:
            self.landed(call.thread)
        else:
            gone = "DELETE FROM events WHERE session = ? AND host = ? AND thread = ?"
            conn.execute(gone, (self.key, left, sql_text(call.thread)))
        conn.execute(call_rows.SUMS, {"session": self.key})

    def put(self, listed: Listed, call: Call, cost: Priced | None) -> None:
        """Write the row of a call whose contexts are held."""
        heads = [self._at(head) for head in (call.raw_head, call.sent_head, call.response_head)]
        call_rows.put(self._conn, listed, call, heads, cost, self._skeletons)

    def _free(self, call: Call) -> str:
        """The id of `call`, or one made of it where another process has given it to a call of its own: that one began
        at another time."""
        id_, find = call.id, "SELECT 1 FROM calls WHERE session = ? AND id = ? AND started IS NOT ?"
        for n in count(2):
            if not self._conn.execute(find, (self.key, sql_text(id_), call.started)).fetchone():
                break
            id_ = f"{call.id}.{n}"
        return id_

    def landed(self, thread: str = MAIN) -> None:
        """What this host had in flight in `thread` is in the record now."""
        marks = ", ".join("?" * len(SLOTS))
        gone = f"DELETE FROM events WHERE session = ? AND host = ? AND thread = ? AND kind NOT IN ({marks})"
        self._conn.execute(gone, (self.key, self.host, sql_text(thread), *SLOTS))

    def take_up(self, left: str) -> None:
        """What the host `left` had in flight is this one's now."""
        mine = "UPDATE events SET host = ? WHERE session = ? AND host = ?"
        self._conn.execute(mine, (self.host, self.key, left))

    def described(self, about: Described) -> None:
        """More is known of the session."""
        texts = {"title": about.title, "client": about.client, "cwd": about.cwd}
        known = {name: sql_text(text) for name, text in texts.items() if text}
        if known:
            sets = ", ".join(f"{name} = ?" for name in known)
            self._conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*known.values(), self.key))

    def thread(self, seen: ThreadSeen) -> None:
        """A further line of context."""
        conn = self._conn
        nth = conn.execute("SELECT count(*) FROM threads WHERE session = ?", (self.key,)).fetchone()[0]
        conn.execute(
            "INSERT INTO threads (session, id, nth, label, parent, tip_run, tip_at) VALUES (?, ?, ?, ?, ?, NULL, 0)"
            " ON CONFLICT (session, id) DO UPDATE SET label = excluded.label, parent = excluded.parent",
            (self.key, sql_text(seen.id), nth, sql_text(seen.label), sql_text(seen.parent)),
        )

    def happened(self, one: Happened) -> None:
        """A mark."""
        conn = self._conn
        nth = conn.execute("SELECT coalesce(max(nth), -1) + 1 FROM happenings WHERE session = ?", (self.key,))
        words = (sql_text(one.kind), sql_text(one.text), sql_text(one.thread), one.at, sql_text(one.after))
        conn.execute("INSERT INTO happenings VALUES (?, ?, ?, ?, ?, ?, ?)", (self.key, nth.fetchone()[0], *words))

    def _thread(self, id_: str) -> int:
        find = "SELECT key FROM threads WHERE session = ? AND id = ?"
        row = self._conn.execute(find, (self.key, sql_text(id_))).fetchone()
        if row is None:
            self.thread(ThreadSeen(id_))
            row = self._conn.execute(find, (self.key, sql_text(id_))).fetchone()
        return int(row[0])

    def tip(self, thread: str, tip: int) -> int:
        """The record of a thread ends at `tip` now; the thread's row."""
        self.hold((tip,))
        row = self._thread(thread or MAIN)
        self._conn.execute("UPDATE threads SET tip_run = ?, tip_at = ? WHERE key = ?", (*self._at(tip), row))
        return row

    # Contexts

    def _at(self, head: int) -> tuple[int | None, int]:
        at = self._layout.at(head)
        return None if at.run is None else self._runs[at.run], at.blocks

    def hold(self, heads: Iterable[int]) -> None:
        """Write the contexts that are new: at the end of their runs, or as runs of their own."""
        for head in heads:
            self._layout.add(head)
        for index in sorted(self._layout.grown & self._runs.keys()):
            self._grow(index)
        for index in sorted(self._layout.grown - self._runs.keys()):
            self._insert(index)
        self._layout.grown.clear()

    def _grow(self, index: int) -> None:
        """Put what is new at the end of a run; where another process has put something there, make it a run."""
        known, nodes = self._pairs[index], self._layout.runs[index].nodes
        more = self._written(nodes[len(known) :])
        row = (len(nodes), items_text([*known, *more]), self._runs[index], self.key, len(known))
        update = "UPDATE runs SET length = ?, items = ? WHERE key = ? AND session = ? AND length = ?"
        if self._conn.execute(update, row).rowcount:
            known.extend(more)
        else:
            self._layout.part(index, len(known))

    def _insert(self, index: int) -> None:
        if index in self._runs:
            return
        run = self._layout.runs[index]
        parent = run.parent.run
        if parent is not None:
            # A run's parent has the smaller key.
            self._insert(parent)
        pairs = self._pairs[index] = self._written(run.nodes)
        above = None if parent is None else self._runs[parent]
        row = (self.key, above, run.parent.blocks, run.depth, len(pairs), items_text(pairs))
        done = self._conn.execute(
            "INSERT INTO runs (session, parent, offset, depth, length, items) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        self._runs[index] = int(done.lastrowid or 0)

    def _written(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """As `_pairs_of`, of nodes that the session has from now on."""
        pairs = self._pairs_of(nodes)
        held = [(self.key, block) for _, block in pairs]
        self._conn.executemany("INSERT OR IGNORE INTO session_blocks (session, block) VALUES (?, ?)", held)
        return pairs

    def _pairs_of(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """(place key, block key) of each node, written where it is new."""
        held = [self._tree[node] for node in nodes]
        missing = {node.block.digest: node.block for node in held if node.block.digest not in self._blocks}
        if missing:
            self._blocks |= put_blocks(self._conn, self._packer, list(missing.values()), self._packed)
        unknown = {node.place for node in held} - self._places.keys()
        if unknown:
            self._places |= place_keys(self._conn, unknown)
        return [(self._places[node.place], self._blocks[node.block.digest]) for node in held]
