"""The store's face. Every method is short work on one connection, with SQLite's errors put into words."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.core.session import MAIN, Session
from ctxtui.store import cache, leases
from ctxtui.store.block_codec import Unpacker
from ctxtui.store.cache import Counts
from ctxtui.store.errors import explained, told
from ctxtui.store.fulltext import Texts
from ctxtui.store.leases import every_living, in_use
from ctxtui.store.notes import Notes
from ctxtui.store.rows import Glance, Info, Price, Progress, SessionRow, SourceInfo, StoreTotals
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import copy_into, schema_version, writing
from ctxtui.store.sessions import changes, edits, listing, read, write
from ctxtui.store.sessions.edits import ArtifactRow

_INTERNAL = ("sqlite_", "_sqlite_", "texts")
"""What is SQLite's own: the full-text index and its parts among them, whose rows say nothing."""


def info(conn: sqlite3.Connection, path: Path) -> Info:
    """Sizes, rows by table, schema."""
    names = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    tables = [name for name in names if not name.startswith(_INTERNAL)]
    plain, packed = conn.execute("SELECT coalesce(sum(size), 0), coalesce(sum(length(body)), 0) FROM blocks").fetchone()
    wal = path.with_name(path.name + "-wal")
    pages = {pragma: conn.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in ("page_size", "freelist_count")}
    return Info(
        path=str(path),
        schema_version=schema_version(conn),
        size=path.stat().st_size,
        wal_size=wal.stat().st_size if wal.exists() else 0,
        free=pages["page_size"] * pages["freelist_count"],
        rows={name: conn.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables},
        plain=plain,
        packed=packed,
        journal=conn.execute("PRAGMA journal_mode").fetchone()[0],
        sqlite=sqlite3.sqlite_version,
    )


def backup(path: Path, to: Path, now: float) -> Path:
    """Copy the database to the new file `to` (in a folder: under a name with the time); where it is.

    Raises `CtxtuiError` for a file that exists: nothing is overwritten.
    """
    if to.is_dir():
        to = to / f"{path.stem}-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%S}{path.suffix}"
    try:
        return copy_into(path, to)
    except FileExistsError:
        raise CtxtuiError("there is a file already", place=str(to), way_out="name another one") from None


def unpack_all(path: Path) -> None:
    """Unpack every body in the database `path`, a copy: whoever opens it needs no zstd. The full-text index goes, which
    only ctxtui can ask."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn, writing(conn):
        unpacker = Unpacker(conn)
        for table in ("blocks", "skeletons", "artifacts"):
            keys = [key for (key,) in conn.execute(f"SELECT key FROM {table} WHERE codec != 0")]
            for key in keys:
                codec, body = conn.execute(f"SELECT codec, body FROM {table} WHERE key = ?", (key,)).fetchone()
                plain = unpacker.unpack(codec, body, f"{table} {key}")
                conn.execute(f"UPDATE {table} SET codec = 0, body = ? WHERE key = ?", (_as_text(plain), key))
        conn.execute("UPDATE blocks SET preview = NULL")
        conn.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
        conn.execute("DELETE FROM indexed")
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        vacuum(conn)


def _as_text(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def vacuum(conn: sqlite3.Connection) -> None:
    """Write the file anew without the space of what was deleted, and fold the write-ahead log into it. Raises `InUse`
    while a session is hosted: for as long as it takes nothing could be recorded."""
    for id_, host in every_living(conn):
        raise in_use(conn, id_, host, way_out="end it there first: meanwhile it could not be recorded")
    conn.execute("VACUUM")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _unpriced(call: Call) -> None:
    return None


class Store:
    """ctxtui's own database, open.

    It belongs to the thread that opened it, and its methods may take long: never call them in Textual's event loop.
    Any number of processes may have the file open; a writer waits for another for up to ten seconds. Every method
    raises `CtxtuiError` for a file that is damaged, locked, full or not writable. Sessions are named by their id or
    the beginning of it; `NotFound` and `Several` say when that names none or more than one.
    """

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        self.path = path
        self.texts = Texts(path, conn)
        """The full-text index."""
        self.notes = Notes(path, conn)
        """Notes and bookmarks."""
        self._conn = conn

    @classmethod
    def open(cls, path: str | Path, readonly: bool = False) -> Self:
        """Open the file `path`, made with mode 0600 and brought up to date if need be (with a backup beside it before
        an existing one is migrated); with `readonly` nothing is written, not even the file."""
        place = Path(path)
        with explained(place):
            return cls(place, connect(place, readonly=readonly))

    def close(self) -> None:
        """Close the connection; the last one to close folds the write-ahead log into the file."""
        self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @told
    def import_session(
        self,
        session: Session,
        source: SourceInfo,
        *,
        price: Price = _unpriced,
        progress: Progress | None = None,
        now: float | None = None,
    ) -> str:
        """Store `session` (which must not change meanwhile) as read from `source`; returns its id in the store.

        The same recording again, or grown, updates the stored session: no call twice, the user's title, tags and
        edits stay. One with fewer calls than are stored changes nothing. A different recording under the same id gets
        an id of its own. Raises `InUse` where it would change a session that a process hosts. `price` gives each
        call's cost, `progress` is told (blocks done, blocks in all).
        """
        moment = time.time() if now is None else now
        try:
            return write.write_session(self._conn, session, source, price=price, progress=progress, now=moment)
        except OverflowError as error:
            raise CtxtuiError("a number in the recording is too large to be stored", place=source.path) from error

    @told
    def load(self, session_id: str) -> Session:
        """The stored session: equal to what was imported, but for node ids and a title that the user gave it."""
        return read.read_session(self._conn, listing.find(self._conn, session_id)[0])

    @told
    def happened(self, kind: str) -> list[tuple[str, str]]:
        """(session id, text) of everything of a `kind` that happened in any session, the oldest session first."""
        return listing.happened(self._conn, kind)

    @told
    def sessions(self, archived: bool = False) -> list[SessionRow]:
        """The stored sessions, newest activity first; with `archived` those that are archived."""
        return listing.session_rows(self._conn, archived=archived)

    @told
    def session(self, session_id: str) -> SessionRow:
        """One session's row."""
        return listing.session_row(self._conn, listing.find(self._conn, session_id)[0])

    @told
    def resolve(self, prefix: str) -> str:
        """The whole id of the one session that `prefix` names."""
        return listing.find(self._conn, prefix)[1]

    @told
    def totals(self) -> StoreTotals:
        """Sums over all calls; a call that several sessions hold counts once."""
        return listing.totals(self._conn)

    @told
    def rename(self, session_id: str, title: str) -> str:
        """Give a session a title, "" for the recording's own; returns its id."""
        return changes.rename(self._conn, session_id, title)

    @told
    def tag(self, session_id: str, tags: Iterable[str], *, remove: bool = False) -> str:
        """Add tags to a session, or remove them; returns its id."""
        return changes.tag(self._conn, session_id, tags, remove=remove)

    @told
    def archive(self, session_id: str, *, undo: bool = False) -> str:
        """Hide a session from `sessions`, or show it again; returns its id."""
        return changes.archive(self._conn, session_id, archived=not undo)

    @told
    def subscription(self, session_id: str, *, undo: bool = False) -> str:
        """Mark a session as paid by a subscription, or as paid by use; returns its id."""
        return changes.subscription(self._conn, session_id, on=not undo)

    @told
    def delete(self, session_id: str) -> str:
        """Delete a session and every block that no other one holds; returns its id. Raises `InUse` while a process
        hosts it."""
        return changes.delete(self._conn, session_id)

    @told
    def older(self, older_than: float, now: float) -> list[str]:
        """The ids of sessions whose last call (else import) is more than `older_than` seconds before `now`, and that no
        process hosts."""
        return [id_ for _, id_ in changes.older(self._conn, now - older_than)]

    @told
    def prune(self, older_than: float, now: float) -> list[str]:
        """Delete the sessions of `older`, and what was remembered before then; the ids that went."""
        return changes.prune(self._conn, now - older_than)

    @told
    def host(self, session_id: str) -> InUse | None:
        """Which process hosts a session, in words that refuse a second one; None where none does."""
        id_ = listing.find(self._conn, session_id)[1]
        found = leases.living(self._conn, id_)
        return leases.in_use(self._conn, id_, found[0]) if found else None

    @told
    def hosted(self) -> frozenset[str]:
        """The ids of the sessions that a process hosts now."""
        return frozenset(id_ for id_, _ in leases.every_living(self._conn))

    @told
    def kept_from_pruning(self, older_than: float, now: float) -> list[InUse]:
        """Why each session stays that is old enough for `prune`, and hosted."""
        return changes.kept_from_pruning(self._conn, now - older_than)

    @told
    def edits(self, session_id: str, thread: str = MAIN, branch: str = "") -> list[Edit]:
        """The log of a thread's overlay, in order: see `core.edit_log` for what stands of it."""
        return edits.read_edits(self._conn, session_id, thread, branch)

    @told
    def edited(self) -> list[str]:
        """The ids of the sessions whose logs hold anything."""
        return edits.edited(self._conn)

    @told
    def add_edits(
        self,
        session_id: str,
        more: Iterable[Edit],
        *,
        thread: str = MAIN,
        branch: str = "",
        now: float | None = None,
    ) -> int:
        """Append to the log those of `more` that it does not hold yet; how many were new."""
        moment = time.time() if now is None else now
        return edits.add_edits(self._conn, session_id, more, thread=thread, branch=branch, now=moment)

    @told
    def branches(self, session_id: str, thread: str = MAIN) -> list[str]:
        """The branches of a thread's log that hold anything, oldest first ("" is the first one's name)."""
        return edits.branches(self._conn, session_id, thread)

    @told
    def put_artifact(
        self, session_id: str, name: str, data: bytes, media_type: str = "text/plain", now: float | None = None
    ) -> ArtifactRow:
        """Keep `data` under `name`, instead of what was there."""
        moment = time.time() if now is None else now
        return edits.put_artifact(self._conn, session_id, name, data, media_type, moment)

    @told
    def artifact(self, session_id: str, name: str) -> bytes:
        """What is kept under `name`. Raises `NotFound`."""
        return edits.artifact(self._conn, session_id, name)

    @told
    def artifacts(self, session_id: str) -> list[ArtifactRow]:
        """What is kept of a session, in order."""
        return edits.artifacts(self._conn, session_id)

    @told
    def load_counts(self, digests: Iterable[str], encoding: str) -> dict[str, Counts]:
        """The remembered features of blocks by digest. `encoding` names the whole way of counting (vocabulary, image
        rule, version of the formulas): figures made in two ways never mix."""
        return cache.load_counts(self._conn, digests, encoding)

    @told
    def save_counts(self, counts: Mapping[str, Counts], encoding: str, now: float | None = None) -> None:
        """Remember features of blocks by digest."""
        cache.save_counts(self._conn, counts, encoding, time.time() if now is None else now)

    @told
    def remembered(self, path: str, size: int, mtime: float, version: str) -> Json | None:
        """The summary of a file that has not changed since it was made by this `version` of the summary's code."""
        return cache.remembered(self._conn, path, size, mtime, version)

    @told
    def summaries_otherwise(self, versions: Sequence[str]) -> list[tuple[str | bytes, int, float, str]]:
        """Of what there are summaries that none of these `versions` of their code made: `sql_text` of its path, size,
        mtime, and the version."""
        return cache.summaries_otherwise(self._conn, versions)

    @told
    def summaries(self, version: str) -> list[tuple[str | bytes, int, float, str]]:
        """All summaries that this `version` of their code made: `sql_text` of the path, size, mtime, JSON text."""
        return cache.summaries(self._conn, version)

    @told
    def remember(self, path: str, size: int, mtime: float, version: str, summary: Json) -> None:
        """Remember the summary (a JSON value) of a file with this size and mtime."""
        cache.remember(self._conn, path, size, mtime, version, summary, time.time())

    @told
    def remember_less(self, new: Iterable[tuple[str, int, float, Json]], version: str, more: str) -> None:
        """Remember summaries (JSON values), each with the path, size and mtime of its file; one of the version `more`
        of the same file stays."""
        cache.remember_less(self._conn, new, version, more, time.time())

    @told
    def glances(self) -> dict[str | bytes, Glance]:
        """What is remembered of the heads of files, by `sql_text` of their paths."""
        return cache.glances(self._conn)

    @told
    def keep_glances(self, new: Mapping[str, Glance]) -> None:
        """Remember the heads of files by path."""
        cache.keep_glances(self._conn, new, time.time())

    @told
    def info(self) -> Info:
        """The state of the file."""
        return info(self._conn, self.path)

    @told
    def backup(self, to: str | Path, now: float | None = None, *, plain: bool = False) -> Path:
        """Copy the database to a new file of mode 0600, or into a folder; returns the copy's path. In a `plain` copy no
        body is packed."""
        made = backup(self.path, Path(to), time.time() if now is None else now)
        if plain:
            unpack_all(made)
        return made

    @told
    def vacuum(self) -> None:
        """Give the space of what was deleted back to the disk. Raises `InUse` while a process hosts a session."""
        vacuum(self._conn)
