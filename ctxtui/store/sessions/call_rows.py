"""Threads and calls as rows, and the sums over them that a list of sessions shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from ctxtui.core import canonical
from ctxtui.core.call import Call, Skeleton, count_calls
from ctxtui.core.session import Session
from ctxtui.store.block_codec import Packer
from ctxtui.store.rows import Price, Priced, sql_text
from ctxtui.store.sessions.runs import RunLayout

USAGE = ("fresh", "cache_read", "write_5m", "write_1h", "write_30m", "write_12h", "output", "reasoning")
"""The whole-number columns of a usage, named as its fields."""

COLUMNS = (
    "session", "id", "nth", "thread", "number", "own_thread", "raw_run", "raw_at", "sent_run", "sent_at",
    "response_run", "response_at", "provider", "model", "started", "first_byte", "ended", "fidelity", "epoch",
    "epoch_start", "epoch_detail", *USAGE, "output_final", "has_cache", "reported_cost", "cost", "price_version",
    "stop_reason", "error", "skeleton", "line", "byte_start", "byte_end", "extra",
)  # fmt: skip

_UPSERT = (
    f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
    f" ON CONFLICT (id, session) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS[2:])}"
)

_GONE = -1
"""`nth` of rows of an earlier import until this one has written its own."""


def put(
    conn: sqlite3.Connection,
    key: int,
    session: Session,
    layout: RunLayout,
    runs: list[int],
    packer: Packer,
    price: Price,
) -> None:
    """Insert or update every thread and call of the session with row `key`; rows of calls that are gone are deleted.
    `runs` are the keys of `layout.runs`."""
    for table in ("threads", "calls"):
        conn.execute(f"UPDATE {table} SET nth = ? WHERE session = ?", (_GONE, key))
    threads = _put_threads(conn, key, session, layout, runs)
    costs = {id_: price(call) for id_, call in session.calls.items()}
    skeletons = _Skeletons(conn, packer)
    where = {id_: (thread, n) for thread, ids in session.order.items() for n, id_ in enumerate(ids, 1)}
    rows = []
    for nth, (id_, call) in enumerate(session.calls.items()):
        thread, number = where[id_]
        own = None if call.thread == thread else sql_text(call.thread)
        heads = _heads(layout, runs, call.raw_head, call.sent_head, call.response_head)
        listed = (key, sql_text(id_), nth, threads[thread], number, own)
        rows.append((*listed, *heads, *_facts(call, costs[id_], skeletons)))
    conn.executemany(_UPSERT, rows)
    for table in ("calls", "threads"):
        conn.execute(f"DELETE FROM {table} WHERE session = ? AND nth = ?", (key, _GONE))
    _put_sums(conn, key, session, costs)


def add(
    conn: sqlite3.Connection,
    listed: tuple[int, int, int, int],
    call: Call,
    heads: list[tuple[int | None, int]],
    cost: Priced | None,
    packer: Packer,
) -> None:
    """Insert one call, or update it. `listed` is (session, order in it, thread, order in that), `heads` where its raw,
    sent and response contexts are."""
    session, nth, thread, number = listed
    found = conn.execute("SELECT nth, number FROM calls WHERE session = ? AND id = ?", (session, sql_text(call.id)))
    nth, number = found.fetchone() or (nth, number)
    places = [part for head in heads for part in head]
    facts = _facts(call, cost, _Skeletons(conn, packer))
    conn.execute(_UPSERT, (session, sql_text(call.id), nth, thread, number, None, *places, *facts))


_TOTAL = "fresh + cache_read + write_5m + write_1h + write_30m + write_12h"
_OF = "FROM calls WHERE session = :session"
SUMS = f"""
UPDATE sessions SET
  model = coalesce((SELECT model {_OF} AND model != '' GROUP BY model ORDER BY count(*) DESC, max(nth) DESC), ''),
  calls = (SELECT count(*) {_OF}),
  threads = (SELECT count(*) FROM threads WHERE session = :session),
  started = (SELECT min(coalesce(started, ended)) {_OF}),
  ended = (SELECT max(coalesce(ended, started)) {_OF}),
  peak = (SELECT max({_TOTAL}) {_OF}),
  input = (SELECT sum({_TOTAL}) {_OF}),
  cache_read = (SELECT sum(cache_read) {_OF}),
  output = (SELECT sum(output) {_OF}),
  cost = (SELECT sum(cost) {_OF})
WHERE key = :session"""
"""Sums up the calls of a session in its row."""


def _put_threads(
    conn: sqlite3.Connection, key: int, session: Session, layout: RunLayout, runs: list[int]
) -> dict[str, int]:
    rows = []
    for nth, thread in enumerate(session.threads.values()):
        texts = map(sql_text, (thread.label, thread.parent))
        rows.append((key, sql_text(thread.id), nth, *texts, *_heads(layout, runs, thread.tip)))
    conn.executemany(
        "INSERT INTO threads (session, id, nth, label, parent, tip_run, tip_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session, id) DO UPDATE SET nth = excluded.nth, label = excluded.label,"
        " parent = excluded.parent, tip_run = excluded.tip_run, tip_at = excluded.tip_at",
        rows,
    )
    order = conn.execute("SELECT key FROM threads WHERE session = ? AND nth >= 0 ORDER BY nth", (key,))
    return dict(zip(session.threads, (thread_key for (thread_key,) in order), strict=True))


def _heads(layout: RunLayout, runs: list[int], *heads: int) -> Iterator[int | None]:
    for head in heads:
        at = layout.at(head)
        yield None if at.run is None else runs[at.run]
        yield at.blocks


def _facts(call: Call, cost: Priced | None, skeletons: _Skeletons) -> Iterator[object]:
    """The columns from `provider` on."""
    yield from (sql_text(call.provider), sql_text(call.model), call.started, call.first_byte, call.ended)
    epoch = call.epoch
    yield from (call.fidelity.value, epoch.number, epoch.start.value, sql_text(epoch.detail))
    usage = call.usage
    if usage is None:
        yield from (None,) * (len(USAGE) + 3)
    else:
        yield from (getattr(usage, name) for name in USAGE)
        yield from (usage.output_final, usage.has_cache, usage.cost)
    yield from (None, None) if cost is None else (cost.usd, sql_text(cost.version))
    yield from (sql_text(call.stop_reason), sql_text(call.error), skeletons.key_of(call.skeleton))
    yield from (call.line, *call.bytes_, canonical.dumps(call.extra).decode() if call.extra else None)


class _Skeletons:
    """Skeletons by content: requests of one client often share theirs."""

    def __init__(self, conn: sqlite3.Connection, packer: Packer) -> None:
        self._conn = conn
        self._packer = packer

    def key_of(self, skeleton: Skeleton | None) -> int | None:
        """The key of the skeleton's row, made if it is new."""
        if skeleton is None:
            return None
        body = canonical.dumps(skeleton.parts)
        digest = bytes.fromhex(canonical.digest(skeleton.dialect.encode("utf-8", "surrogatepass") + b"\0" + body))
        row = self._conn.execute("SELECT key FROM skeletons WHERE digest = ?", (digest,)).fetchone()
        if row is not None:
            return int(row[0])
        values = (digest, sql_text(skeleton.dialect), len(body), *self._packer.pack(body))
        done = self._conn.execute(
            "INSERT INTO skeletons (digest, dialect, size, codec, body) VALUES (?, ?, ?, ?, ?)", values
        )
        return int(done.lastrowid or 0)


def _put_sums(conn: sqlite3.Connection, key: int, session: Session, costs: dict[str, Priced | None]) -> None:
    calls = session.calls.values()
    usages = [call.usage for call in calls if call.usage is not None]
    times = [time for call in calls for time in (call.started, call.ended) if time is not None]
    known = [cost.usd for cost in costs.values() if cost is not None]
    sums = (
        sql_text(session.model),
        count_calls(session.calls.values()),
        len(session.threads),
        min(times, default=None),
        max(times, default=None),
        max((usage.input for usage in usages), default=None),
        sum(usage.input for usage in usages) if usages else None,
        sum(usage.cache_read for usage in usages) if usages else None,
        sum(usage.output for usage in usages) if usages else None,
        sum(known) if known else None,
    )
    names = ("model", "calls", "threads", "started", "ended", "peak", "input", "cache_read", "output", "cost")
    sets = ", ".join(f"{name} = ?" for name in names)
    conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*sums, key))
