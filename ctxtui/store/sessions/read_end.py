"""The end of a stored session, read by itself: a first screenful must not wait for all of it.

Contexts lie in runs, each with its depth, so that the last blocks of one are named by a few rows, and no body is
unpacked but theirs. In the session that is given, contexts begin behind the block after which they are read: the nodes
there are children of the root.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from ctxtui.core.block import Block, Place
from ctxtui.core.block_content import is_sealed
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN, Session, Thread
from ctxtui.core.tree import ROOT, Tree
from ctxtui.store.block_codec import Unpacker
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.damage import decodes
from ctxtui.store.schema.database_file import reading
from ctxtui.store.sessions.read import Heads, about_of, call_of, check_session
from ctxtui.store.sessions.runs import NOWHERE, ContextAt, items_pairs

LONG_BLOCKS: Final = 1_000
"""Blocks of a long session: reading takes some 20 microseconds for each."""
LONG_BYTES: Final = 8_000_000
"""Bytes of a long session of fewer blocks: unpacking takes a millisecond for each million."""
MOST_BLOCKS: Final = 512
"""Blocks of a context that are read at most: more than a tall screen has lines."""
_TEXT: Final = 24
"""Characters of a run's text for each of its last blocks, to begin with: a pair in brackets takes ten to twenty."""
_LOOKED_THROUGH: Final = 4 * MOST_BLOCKS
"""Blocks above the end that are looked through for one of a kind, at most."""
_THINKING: Final = INDEX["thinking"]
MOST_CALLS: Final = 512
"""Calls that are read at most: where the end of a context has more of them, all of it is read."""


class _Run(NamedTuple):
    parent: ContextAt
    depth: int
    length: int


class _Runs:
    """The runs of the database, read when they are asked for: of one with many blocks its end alone, where that
    does."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._known: dict[int, _Run] = {}
        self._pairs: dict[int, list[tuple[int, int]]] = {}

    def __getitem__(self, key: int) -> _Run:
        found = self._known.get(key)
        if found is None:
            query = "SELECT parent, offset, depth, length FROM runs WHERE key = ?"
            parent, offset, *counts = self._conn.execute(query, (key,)).fetchone()
            found = self._known[key] = _Run(ContextAt(parent, offset), *counts)
        return found

    def pairs(self, key: int, first: int, end: int) -> list[tuple[int, int]]:
        """The (place, block) pairs of the blocks of a run from its block `first` (from 0) on, up to the one before
        `end`."""
        length, known = self[key].length, self._pairs.get(key, [])
        if len(known) < length - first:
            known = self._pairs[key] = self._read(key, length - first)
        begun = length - len(known)
        return known[first - begun : end - begun]

    def _read(self, key: int, last: int) -> list[tuple[int, int]]:
        """The pairs of at least the `last` blocks of a run."""
        query = "SELECT substr(items, ?) FROM runs WHERE key = ?"
        (text,) = self._conn.execute(query, (-_TEXT * last, key)).fetchone()
        whole, cut = text.startswith("[["), text.find("],[")
        if not whole and cut >= 0:
            found = list(items_pairs("[" + text[cut + 2 :]))
            if len(found) >= last:
                return found
        (text,) = self._conn.execute("SELECT items FROM runs WHERE key = ?", (key,)).fetchone()
        return list(items_pairs(text))

    def depth(self, at: ContextAt) -> int:
        """Blocks of a context."""
        return self[at.run].depth + at.blocks if at.run is not None else 0

    def stretches(self, at: ContextAt, after: int = 0) -> Iterator[ContextAt]:
        """The runs of a context that have blocks behind its first `after`, the last run first, each with how many of
        its own blocks the context has."""
        while at.run is not None and self.depth(at) > after:
            if at.blocks:
                yield at
            at = self[at.run].parent

    def common(self, one: ContextAt, other: ContextAt) -> int:
        """How many blocks two contexts share at their beginning."""
        theirs = dict(self.stretches(other))
        for run, blocks in self.stretches(one):
            if run is not None and run in theirs:
                return self[run].depth + min(blocks, theirs[run])
        return 0


class _Ends(NamedTuple):
    """Where the contexts of a call end."""

    raw: ContextAt
    sent: ContextAt
    answer: ContextAt

    @property
    def last(self) -> ContextAt:
        """The answer, where there is one."""
        return self.answer if self.answer.run is not None else self.sent


@decodes
def read_end(conn: sqlite3.Connection, key: int, most: int) -> Session | None:
    """The last blocks, of about `most` bytes together, of the thread of session `key` that is shown first, with the
    calls in which they came; None where it has none, or its end cannot be told without the rest.

    Every block stands where it does in the whole, and so does every boundary between two epochs. Numbers that count
    from the beginning are not to be believed; usage, times and model of the calls are the recorded ones.
    """
    with reading(conn):
        check_session(conn, key)
        query = "SELECT key, id, label, parent, tip_run, tip_at FROM threads WHERE session = ? ORDER BY id != ?, nth"
        thread = conn.execute(query, (key, MAIN)).fetchone()
        if thread is None:
            return None
        runs = _Runs(conn)
        tip = ContextAt(*thread[4:])
        newest = next(_calls(conn, thread[0]), None)
        # What a call without a context was answered begins where nothing is read.
        shown = dict.fromkeys((tip, *(at for at in _ends(newest) if at.blocks)) if newest is not None else (tip,))
        if not tip.blocks or (newest is not None and not _ends(newest).sent.blocks):
            return None
        after = min(_begin(conn, runs, at, most) for at in shown)
        calls = _calls_behind(conn, runs, thread[0], after)
        if calls is None or _hides_boundary(conn, runs, thread[0], calls, list(shown), after):
            return None
        tree = Tree()
        heads = _nodes(conn, runs, tree, [*shown, *(at for row in calls for at in _ends(row))], after)
        if not all(_sealed_above(conn, runs, tree, at, _head(heads, at), after) for at in shown):
            return None
        id_, label, parent = map(py_text, thread[1:4])
        session = Session(tree, about_of(conn, key))
        session.threads[id_] = Thread(id_, label, parent, _head(heads, tip))
        read = [_call(row, id_, heads) for row in calls]
        session.calls = {call.id: call for call in read}
        session.order = {id_: [call.id for call in read]}
        return session


def is_long(conn: sqlite3.Connection, key: int) -> bool:
    """Whether reading all of the session with row `key` takes longer than a person notices."""
    (blocks,) = conn.execute("SELECT count(*) FROM session_blocks WHERE session = ?", (key,)).fetchone()
    if blocks >= LONG_BLOCKS:
        return True
    query = "SELECT sum(b.size) FROM session_blocks s JOIN blocks b ON b.key = s.block WHERE s.session = ?"
    return int(conn.execute(query, (key,)).fetchone()[0] or 0) >= LONG_BYTES


def _calls(conn: sqlite3.Connection, thread: int) -> Iterator[Any]:
    """The rows of the calls of a thread, the last one first."""
    cursor = conn.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute("SELECT * FROM calls WHERE thread = ? ORDER BY number DESC", (thread,))


def _ends(row: Any) -> _Ends:
    return _Ends(*(ContextAt(row[f"{which}_run"], row[f"{which}_at"]) for which in ("raw", "sent", "response")))


def _begin(conn: sqlite3.Connection, runs: _Runs, context: ContextAt, most: int) -> int:
    """After how many blocks of a context the last `most` bytes of it begin; at least one block is among them."""
    left, room = MOST_BLOCKS, most
    for run, blocks in runs.stretches(context):
        assert run is not None
        here = runs[run]
        last = [block for _, block in runs.pairs(run, max(0, blocks - left), blocks)]
        marks = ", ".join("?" * len(last))
        sizes = dict(conn.execute(f"SELECT key, size FROM blocks WHERE key IN ({marks})", last))
        for nth, block in enumerate(reversed(last)):
            if room <= 0:
                return here.depth + blocks - nth
            room -= sizes[block]
        left -= len(last)
        if left <= 0:
            return here.depth + blocks - len(last)
    return 0


def _calls_behind(conn: sqlite3.Connection, runs: _Runs, thread: int, after: int) -> list[Any] | None:
    """The rows of the last calls of a thread whose contexts reach behind their first `after` blocks, in order, with one
    before them; None where they are too many. They begin later where a context begins anew further up: the one before
    parts from it where nothing is read."""
    found: list[Any] = []
    for row in islice(_calls(conn, thread), MOST_CALLS):
        if found and _changes(row, found[-1]) and runs.common(_ends(row).last, _ends(found[-1]).sent) < after:
            return found[::-1]
        found.append(row)
        if runs.depth(_ends(row).sent) <= after:
            return found[::-1]
    return found[::-1] if len(found) < MOST_CALLS else None


def _changes(before: Any, row: Any) -> bool:
    return bool(before["epoch"] != row["epoch"])


def _hides_boundary(
    conn: sqlite3.Connection, runs: _Runs, thread: int, calls: Sequence[Any], shown: Sequence[ContextAt], after: int
) -> bool:
    """Whether an epoch that begins before `calls` begins behind the first `after` blocks of what is shown: a context
    may have gone back to an earlier one."""
    if not calls:
        return False
    # Most sessions have one epoch: then no context is gone through.
    query = "SELECT min(epoch), max(epoch) FROM calls WHERE thread = ? AND number <= ?"
    least, most = conn.execute(query, (thread, calls[0]["number"])).fetchone()
    if least == most:
        return False
    cursor = conn.cursor()
    cursor.row_factory = sqlite3.Row
    columns = "epoch, raw_run, raw_at, sent_run, sent_at, response_run, response_at"
    query = f"SELECT {columns} FROM calls WHERE thread = ? AND number <= ? ORDER BY number"
    for before, row in pairwise(cursor.execute(query, (thread, calls[0]["number"]))):
        if _changes(before, row):
            sent = _ends(row).sent
            parts = runs.common(_ends(before).last, sent)
            if parts >= after and any(runs.common(sent, at) > parts for at in shown):
                return True
    return False


def _sealed_above(conn: sqlite3.Connection, runs: _Runs, tree: Tree, context: ContextAt, head: int, after: int) -> bool:
    """Whether reasoning that only its provider can read, where the end of `context` (the node `head`) holds some, is
    among the first `after` blocks too: all of it has one row, where the first of it stands."""
    kinds = {
        tree[node].block.kind
        for node in tree.path(head)
        if tree[node].category == _THINKING and is_sealed(tree[node].block)
    }
    if not kinds:
        return True
    left = _LOOKED_THROUGH
    for run, blocks in runs.stretches(context):
        assert run is not None
        end = min(blocks, after - runs[run].depth)
        while end > 0 and left > 0:
            first = max(0, end - MOST_BLOCKS)
            some = [block for _, block in runs.pairs(run, first, end)]
            asked = f"key IN ({', '.join('?' * len(some))}) AND kind IN ({', '.join('?' * len(kinds))})"
            found = conn.execute(f"SELECT key FROM blocks WHERE {asked} LIMIT 8", (*some, *map(sql_text, kinds)))
            if any(map(is_sealed, _blocks(conn, [key for (key,) in found]).values())):
                return True
            left, end = left - len(some), first
    return False


def _nodes(conn: sqlite3.Connection, runs: _Runs, tree: Tree, contexts: Sequence[ContextAt], after: int) -> Heads:
    """The nodes behind the first `after` blocks of all `contexts`, by run; what is not read stands for the root."""
    wanted: dict[int, int] = {}
    for context in contexts:
        for run, blocks in runs.stretches(context, after):
            assert run is not None
            wanted[run] = max(blocks, wanted.get(run, 0))
    skipped = {run: min(blocks, max(0, after - runs[run].depth)) for run, blocks in wanted.items()}
    every = {block for run, blocks in wanted.items() for _, block in runs.pairs(run, skipped[run], blocks)}
    known = _blocks(conn, sorted(every))
    places = {
        place: Place(*map(py_text, words))
        for place, *words in conn.execute("SELECT key, section, role, mark FROM places")
    }
    heads: Heads = {None: []}
    # A run's parent has a smaller key.
    for run in sorted(wanted):
        skip, here = skipped[run], runs[run]
        head = ROOT if skip else _head(heads, here.parent)
        nodes = heads[run] = [ROOT] * skip
        for place, block in runs.pairs(run, skip, wanted[run]):
            nodes.append(head := tree.child(head, known[block], places[place]))
    return heads


def _head(heads: Heads, at: ContextAt) -> int:
    return heads[at.run][at.blocks - 1] if at.blocks and at.run in heads else ROOT


def _blocks(conn: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Block]:
    unpacker, found = Unpacker(conn), {}
    for begin in range(0, len(keys), MOST_BLOCKS):
        some = keys[begin : begin + MOST_BLOCKS]
        marks = ", ".join("?" * len(some))
        query = f"SELECT key, digest, kind, codec, body FROM blocks WHERE key IN ({marks})"
        for key, digest, kind, codec, body in conn.execute(query, some):
            found[key] = unpacker.block(digest, kind, codec, body)
    return found


def _call(row: Any, listed: str, heads: Heads) -> Call:
    """The call of a row, without what is left of its request: contexts that are not read are the root."""
    fields = dict(row)
    for which, at in zip(("raw", "sent", "response"), _ends(row), strict=True):
        if at.run not in heads:
            fields[f"{which}_run"], fields[f"{which}_at"] = NOWHERE
    return call_of(fields, listed, heads, {})
