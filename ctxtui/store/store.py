"""ctxtui's database as one class, `Store`, which raises SQLite's errors as `CtxtuiError`."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.core.session import MAIN, Session
from ctxtui.store import cache, leases
from ctxtui.store.block_codec import Unpacker
from ctxtui.store.cache import Counts
from ctxtui.store.errors import explain_errors, explains_errors
from ctxtui.store.fulltext import FullTextIndex
from ctxtui.store.leases import all_living_hosts, in_use_error
from ctxtui.store.notes import Notes
from ctxtui.store.rows import Glance, Info, Price, Progress, SessionRow, SourceInfo, unpriced
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import copy_into, schema_version, writing
from ctxtui.store.sessions import changes, edits, listing, read, write
from ctxtui.store.sessions.identity import identify

_INTERNAL = ("sqlite_", "_sqlite_", "texts")
"""Prefixes of tables that SQLite and sqlite-utils manage, including the parts of the full-text index."""


def info(conn: sqlite3.Connection, path: Path) -> Info:
    """The sizes and the rows of the open database `path`."""
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
    """Copy the database to the new file `to`, or into the folder `to`; returns the copy's path."""
    if to.is_dir():
        to = to / f"{path.stem}-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%S}{path.suffix}"
    try:
        return copy_into(path, to)
    except FileExistsError:
        raise CtxtuiError("there is a file already", place=str(to), way_out="give another name") from None
    except OSError as error:
        raise CtxtuiError(f"cannot be written: {error.strerror}", place=str(to)) from error


def unpack_all(path: Path) -> None:
    """Unpack all bodies in the copy `path`, and empty its full-text index.

    The copy can then be read without zstd.
    """
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
    """Return free space to the disk. Raises `InUse` if a session is hosted."""
    for id_, host in all_living_hosts(conn):
        raise in_use_error(conn, id_, host, way_out="end it there first: its calls could not be written meanwhile")
    conn.execute("VACUUM")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Store:
    """ctxtui's own database, open.

    Only the thread that opened it may use it, and not Textual's event loop: a writer waits up to ten seconds for
    writers in other processes.

    Sessions are named by their id or a prefix of it; edits and artifacts need the whole id. Raises `NotFound` and
    `Several` if a name matches no session or more than one, and `CtxtuiError` for a file that is damaged, locked, full
    or not writable.
    """

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        self.path = path
        self.texts = FullTextIndex(path, conn)
        self.notes = Notes(path, conn)
        self._conn = conn

    @classmethod
    def open(cls, path: str | Path, readonly: bool = False) -> Self:
        """Open the file `path`, created or migrated if needed.

        A migration makes a backup next to the file first. With `readonly` the database is neither created nor changed;
        SQLite may leave its -wal and -shm next to it.
        """
        place = Path(path)
        with explain_errors(place):
            return cls(place, connect(place, readonly=readonly))

    def close(self) -> None:
        self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @explains_errors
    def import_session(
        self,
        session: Session,
        source: SourceInfo,
        *,
        price: Price = unpriced,
        progress: Progress | None = None,
        now: float | None = None,
    ) -> str:
        """Store `session` (which must not change meanwhile) as read from `source`.

        Returns its id in the store.

        - The same recording again, or extended, updates the stored session; the user's title, tags and edits stay.
        - A recording with only some of the stored calls changes nothing, unless it is the same file and not shorter.
        - A different recording with the same id gets a new id.

        `price` gives each call's cost; `progress` is called with (blocks done, blocks in all). Raises `InUse` if it
        would change a session that a process hosts.
        """
        moment = time.time() if now is None else now
        try:
            return write.write_session(self._conn, session, source, price=price, progress=progress, now=moment)
        except OverflowError as error:
            raise CtxtuiError("a number in the recording is too large to be stored", place=source.path) from error

    @explains_errors
    def id_for(self, session: Session, source: SourceInfo) -> str:
        """The id that `import_session` gives `session`, stored or not."""
        return identify(self._conn, session, source).id

    @explains_errors
    def load(self, session_id: str) -> Session:
        """The stored session.

        Its node ids differ from those of the imported session, and its title, if the user set another.
        """
        return read.read_session(self._conn, listing.find(self._conn, session_id)[0])

    @explains_errors
    def happenings_of(self, kind: str) -> list[tuple[str, str]]:
        """(session id, text) of all happenings of a `kind` in any session."""
        return listing.happenings_of(self._conn, kind)

    @explains_errors
    def sessions(self, archived: bool = False) -> list[SessionRow]:
        """The stored sessions that are not archived, or those that are, newest activity first."""
        return listing.session_rows(self._conn, archived=archived)

    @explains_errors
    def session(self, session_id: str) -> SessionRow:
        return listing.session_row(self._conn, listing.find(self._conn, session_id)[0])

    @explains_errors
    def resolve(self, prefix: str) -> str:
        """The whole id of the one session that `prefix` names."""
        return listing.find(self._conn, prefix)[1]

    @explains_errors
    def count_calls(self) -> int:
        """Number of calls, each once even if several sessions hold it."""
        return listing.count_calls(self._conn)

    @explains_errors
    def rename(self, session_id: str, title: str) -> str:
        return changes.rename(self._conn, session_id, title)

    @explains_errors
    def tag(self, session_id: str, tags: Iterable[str], *, remove: bool = False) -> str:
        return changes.tag(self._conn, session_id, tags, remove=remove)

    @explains_errors
    def archive(self, session_id: str, *, undo: bool = False) -> str:
        return changes.archive(self._conn, session_id, archived=not undo)

    @explains_errors
    def set_subscription(self, session_id: str, *, undo: bool = False) -> str:
        """Mark a session as paid by a subscription, or with `undo` as paid by use; returns its id."""
        return changes.set_subscription(self._conn, session_id, on=not undo)

    @explains_errors
    def delete(self, session_id: str) -> str:
        """Delete a session with the blocks that only it has; returns its id. Raises `InUse` if it is hosted."""
        return changes.delete(self._conn, session_id)

    @explains_errors
    def older_sessions(self, older_than: float, now: float) -> list[str]:
        """Ids of unhosted sessions whose last call ended over `older_than` seconds before `now`.

        Without a time of calls, the first import counts.
        """
        return [id_ for _, id_ in changes.older_sessions(self._conn, now - older_than)]

    @explains_errors
    def prune(self, older_than: float, now: float) -> list[str]:
        """Delete the `older_sessions`, and values cached as long ago; returns the deleted ids."""
        return changes.prune(self._conn, now - older_than)

    @explains_errors
    def host_error(self, session_id: str) -> InUse | None:
        """The error for a second host of a session, which names the first; None without a host."""
        id_ = listing.find(self._conn, session_id)[1]
        hosts = leases.living_hosts(self._conn, id_)
        return leases.in_use_error(self._conn, id_, hosts[0]) if hosts else None

    @explains_errors
    def hosted_ids(self) -> frozenset[str]:
        return frozenset(id_ for id_, _ in leases.all_living_hosts(self._conn))

    @explains_errors
    def unprunable_sessions(self, older_than: float, now: float) -> list[InUse]:
        """For each session that `prune` would delete if it were not hosted, the error that says so."""
        return changes.unprunable_sessions(self._conn, now - older_than)

    @explains_errors
    def edits(self, session_id: str, thread: str = MAIN) -> list[Edit]:
        """The edits of a thread, in the order in which they were logged."""
        return edits.read_edits(self._conn, session_id, thread)

    @explains_errors
    def edited_sessions(self) -> list[str]:
        return edits.edited_sessions(self._conn)

    @explains_errors
    def add_edits(self, session_id: str, more: Iterable[Edit], *, thread: str = MAIN, now: float | None = None) -> int:
        """Append those edits of `more` that the thread's log lacks; returns their number."""
        return edits.add_edits(self._conn, session_id, more, thread=thread, now=time.time() if now is None else now)

    @explains_errors
    def put_artifact(self, session_id: str, name: str, data: bytes) -> None:
        """Store `data`, a text, under `name`; replaces older data."""
        edits.put_artifact(self._conn, session_id, name, data, time.time())

    @explains_errors
    def artifact_names(self, session_id: str, prefix: str) -> list[str]:
        """Names of a session's artifacts that begin with `prefix`, the last stored one last."""
        return edits.list_artifacts(self._conn, session_id, prefix)

    @explains_errors
    def artifact(self, session_id: str, name: str) -> bytes:
        """The content stored under `name`. Raises `NotFound`."""
        return edits.read_artifact(self._conn, session_id, name)

    @explains_errors
    def load_counts(self, digests: Iterable[str], encoding: str) -> dict[str, Counts]:
        """The cached features of blocks by digest.

        `encoding` names the whole way of counting: vocabulary, image rule, version of the formulas.
        """
        return cache.load_counts(self._conn, digests, encoding)

    @explains_errors
    def save_counts(self, counts: Mapping[str, Counts], encoding: str, now: float | None = None) -> None:
        cache.save_counts(self._conn, counts, encoding, time.time() if now is None else now)

    @explains_errors
    def load_summary(self, path: str, size: int, mtime: float, version: str) -> Json | None:
        """The cached summary of a file with this size and mtime; None if there is none.

        `version` is that of the code that made it.
        """
        return cache.load_summary(self._conn, path, size, mtime, version)

    @explains_errors
    def outdated_summaries(self, versions: Sequence[str]) -> list[tuple[str | bytes, int, float, str]]:
        """The summaries that other versions of the code made than `versions`.

        Tuples of `rows.sql_text` of the path, size, mtime, version.
        """
        return cache.outdated_summaries(self._conn, versions)

    @explains_errors
    def load_summaries(self, version: str) -> list[tuple[str | bytes, int, float, str]]:
        """All summaries that this `version` of the code made.

        Tuples of `rows.sql_text` of the path, size, mtime, JSON text.
        """
        return cache.load_summaries(self._conn, version)

    @explains_errors
    def save_summary(self, path: str, size: int, mtime: float, version: str, summary: Json) -> None:
        cache.save_summary(self._conn, path, size, mtime, version, summary, time.time())

    @explains_errors
    def save_brief_summaries(self, new: Iterable[tuple[str, int, float, Json]], version: str, more: str) -> None:
        """Cache the summaries `new`: (path, size, mtime, summary).

        A summary by the more detailed version `more` is kept if its file has not changed.
        """
        cache.save_brief_summaries(self._conn, new, version, more, time.time())

    @explains_errors
    def load_glances(self) -> dict[str | bytes, Glance]:
        """Cached heads of files, by `rows.sql_text` of their paths."""
        return cache.load_glances(self._conn)

    @explains_errors
    def save_glances(self, new: Mapping[str, Glance]) -> None:
        cache.save_glances(self._conn, new, time.time())

    @explains_errors
    def info(self) -> Info:
        return info(self._conn, self.path)

    @explains_errors
    def backup(self, to: str | Path, now: float | None = None, *, plain: bool = False) -> Path:
        """Copy the database to a new file, or into a folder; returns the copy's path.

        A `plain` copy can be read without zstd; its search index is empty.
        """
        copy = backup(self.path, Path(to), time.time() if now is None else now)
        if plain:
            unpack_all(copy)
        return copy

    @explains_errors
    def vacuum(self) -> None:
        vacuum(self._conn)
