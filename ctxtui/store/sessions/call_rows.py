"""Writes calls as rows, and the sums over a session's calls that lists show."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxtui.core import canonical
from ctxtui.core.call import SUM, Call
from ctxtui.store.rows import Priced, sql_text
from ctxtui.store.sessions.content_rows import Skeletons

USAGE = ("fresh", "cache_read", "write_5m", "write_1h", "write_30m", "write_12h", "output", "reasoning")
"""The whole-number columns of a usage, named like its fields."""

COLUMNS = (
    "session", "id", "nth", "thread", "number", "own_thread", "raw_run", "raw_at", "sent_run", "sent_at",
    "response_run", "response_at", "provider", "model", "started", "first_byte", "ended", "fidelity", "epoch",
    "epoch_start", "epoch_detail", *USAGE, "output_final", "has_cache", "reported_cost", "cost", "price_version",
    "stop_reason", "error", "skeleton", "line", "byte_start", "byte_end", "extra",
)  # fmt: skip
"""The columns in the order in which rows are written; the first two identify a call."""

_UPSERT = (
    f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
    f" ON CONFLICT (id, session) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS[2:])}"
)


class ListPosition(NamedTuple):
    """Position of a call in its session and in its thread.

    `session` and `thread` are keys of rows; `nth` is the index in the session (from 0), `number` that in the thread
    (from 1).
    `own_thread` is the thread that the call itself names, if different.
    """

    session: int
    nth: int
    thread: int
    number: int
    own_thread: str | bytes | None = None


def put_call(
    conn: sqlite3.Connection,
    listed: ListPosition,
    call: Call,
    heads: Iterable[tuple[int | None, int]],
    cost: Priced | None,
    skeletons: Skeletons,
) -> None:
    """Insert a call, or update an existing one, which keeps its `nth` and `number`.

    `heads` are its raw, sent and response contexts, each as (run, blocks).
    """
    existing = conn.execute(
        "SELECT nth, number FROM calls WHERE session = ? AND id = ?", (listed.session, sql_text(call.id))
    ).fetchone()
    if existing is not None:
        listed = listed._replace(nth=existing[0], number=existing[1])
    where = (listed.nth, listed.thread, listed.number, listed.own_thread)
    places = [part for head in heads for part in head]
    conn.execute(_UPSERT, (listed.session, sql_text(call.id), *where, *places, *_later_columns(call, cost, skeletons)))


_TOTAL = "fresh + cache_read + write_5m + write_1h + write_30m + write_12h"
_OF = "FROM calls WHERE session = :session"
SUMS = f"""
UPDATE sessions SET
  model = coalesce((SELECT model {_OF} AND model != '' GROUP BY model ORDER BY count(*) DESC, max(nth) DESC), ''),
  calls = (SELECT count(*) {_OF}),
  threads = (SELECT count(*) FROM threads WHERE session = :session),
  started = (SELECT min(coalesce(started, ended)) {_OF}),
  ended = (SELECT max(coalesce(ended, started)) {_OF}),
  peak = (SELECT max({_TOTAL}) {_OF} AND CASE WHEN json_valid(extra) THEN json_extract(extra, '$.{SUM}') END IS NULL),
  input = (SELECT sum({_TOTAL}) {_OF}),
  cache_read = (SELECT sum(cache_read) {_OF}),
  output = (SELECT sum(output) {_OF}),
  cost = (SELECT sum(cost) {_OF})
WHERE key = :session"""
"""Updates a session's row with the sums over its calls."""


def _later_columns(call: Call, cost: Priced | None, skeletons: Skeletons) -> Iterator[object]:
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
