"""A stored session that grows call by call: what is new is written, what is there stays.

Several processes may append to one session. Runs only ever grow, so what one of them knows of a run stays its
beginning: where another one was faster, what is new becomes a run of its own, and each context stays what it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import count

from msgspec.structs import replace

from ctxtui.core.block import Place
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, Described, Happened, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.store.block_codec import Packer
from ctxtui.store.rows import Priced, sql_text
from ctxtui.store.sessions import call_rows, write
from ctxtui.store.sessions.in_flight import SLOTS, Event, stretches
from ctxtui.store.sessions.read import nodes_by_run
from ctxtui.store.sessions.runs import items_text
from ctxtui.store.sessions.write import put_blocks


class Appender:
    """Appends to the session with row `key`, whose contexts are in `tree`, as the host with the token `host`; every
    method within the caller's own transaction. After a rollback it must be made anew: it remembers what it wrote."""

    def __init__(self, conn: sqlite3.Connection, key: int, tree: Tree, packer: Packer, host: str = "") -> None:
        self.key = key
        self.host = host
        self._conn = conn
        self._tree = tree
        self._packer = packer
        self._at: dict[int, tuple[int | None, int]] = {ROOT: (None, 0)}
        self._pairs: dict[int, list[tuple[int, int]]] = {}
        self._names: dict[str, str] = {}
        """Calls by their own ids that have another one here."""
        self._blocks: dict[str, int] = {}
        self._places: dict[Place, int] = {}
        for run, nodes in nodes_by_run(conn, key, tree).items():
            if run is not None:
                self._at.update((node, (run, at)) for at, node in enumerate(nodes, 1))
                self._pairs[run] = self._pairs_of(nodes)

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
        heads = [self._hold(head) for head in (call.raw_head, call.sent_head, call.response_head)]
        self._tip(call.thread, tip)
        thread = self._thread(call.thread)
        ours = (self.key,)
        nth = conn.execute("SELECT coalesce(max(nth), -1) + 1 FROM calls WHERE session = ?", ours).fetchone()[0]
        number = conn.execute("SELECT coalesce(max(number), 0) + 1 FROM calls WHERE thread = ?", (thread,)).fetchone()
        call_rows.add(conn, (self.key, nth, thread, number[0]), call, heads, cost, self._packer)
        if left is None:
            self.landed(call.thread)
        else:
            gone = "DELETE FROM events WHERE session = ? AND host = ? AND thread = ?"
            conn.execute(gone, (self.key, left, sql_text(call.thread)))
        conn.execute(call_rows.SUMS, {"session": self.key})

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

    def _tip(self, thread: str, tip: int) -> None:
        run, at = self._hold(tip)
        where = (run, at, self._thread(thread or MAIN))
        self._conn.execute("UPDATE threads SET tip_run = ?, tip_at = ? WHERE key = ?", where)

    # Contexts

    def _hold(self, head: int) -> tuple[int | None, int]:
        """Where the context `head` is, written where it is new: at the end of its run, or as a run of its own."""
        fresh: list[int] = []
        node = head
        while node not in self._at:
            fresh.append(node)
            node = self._tree[node].parent
        if fresh:
            fresh.reverse()
            self._write(self._at[node], fresh)
        return self._at[head]

    def _write(self, base: tuple[int | None, int], nodes: list[int]) -> None:
        pairs = self._pairs_of(nodes)
        held = [(self.key, block) for _, block in pairs]
        self._conn.executemany("INSERT OR IGNORE INTO session_blocks (session, block) VALUES (?, ?)", held)
        run, at = base
        if run is None or at < len(self._pairs[run]) or not self._grown(run, pairs):
            depth = self._tree[nodes[0]].depth - 1
            row = (self.key, run, at, depth, len(pairs), items_text(pairs))
            run = self._conn.execute(
                "INSERT INTO runs (session, parent, offset, depth, length, items) VALUES (?, ?, ?, ?, ?, ?)", row
            ).lastrowid
            assert run is not None
            at, self._pairs[run] = 0, pairs
        for further, node in enumerate(nodes, at + 1):
            self._at[node] = (run, further)

    def _grown(self, run: int, pairs: list[tuple[int, int]]) -> bool:
        """Put `pairs` at the end of `run`; False where another process has put something there meanwhile."""
        known = self._pairs[run]
        row = (len(known) + len(pairs), items_text([*known, *pairs]), run, self.key, len(known))
        update = "UPDATE runs SET length = ?, items = ? WHERE key = ? AND session = ? AND length = ?"
        if not self._conn.execute(update, row).rowcount:
            return False
        known.extend(pairs)
        return True

    def _pairs_of(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """(place key, block key) of each node, written where it is new."""
        held = [self._tree[node] for node in nodes]
        missing = {node.block.digest: node.block for node in held if node.block.digest not in self._blocks}
        if missing:
            self._blocks |= put_blocks(self._conn, self._packer, list(missing.values()), {})
        unknown = {node.place for node in held} - self._places.keys()
        if unknown:
            self._places |= write.place_keys(self._conn, unknown)
        return [(self._places[node.place], self._blocks[node.block.digest]) for node in held]
