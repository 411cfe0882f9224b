"""The file: its mode, its schema, other processes, and what is said when something is wrong with it."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database, Migrations

from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.store.rows import SourceInfo
from ctxtui.store.schema import connect, migrations
from ctxtui.store.store import Store
from tests.store.builders import FILE, state, talk


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_only_the_owner_may_read_any_of_its_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Store.open(tmp_path / "new" / "s.db") as store:
            store.import_session(talk(3), FILE)
            store.backup(tmp_path / "new")
            found = modes(tmp_path / "new")
    finally:
        os.umask(before)
    assert {"s.db", "s.db-wal", "s.db-shm"} < set(found)
    assert len(found) == 4
    assert set(found.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_file_that_others_may_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store.open(path).close()
    path.chmod(0o644)
    Store.open(path).close()
    assert modes(tmp_path)["s.db"] == 0o600


def test_the_file_is_what_the_design_asks_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        pragmas = {
            name: store._conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("foreign_keys", "busy_timeout")
        }
        assert pragmas == {"foreign_keys": 1, "busy_timeout": 10_000}
        info = store.info()
        assert (info.journal, info.schema_version, info.ratio) == ("wal", connect.SCHEMA_VERSION, None)
        store.import_session(talk(20), FILE)
        assert store._conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert store.info().ratio is not None
    assert len(migrations.LADDER._migrations) == connect.SCHEMA_VERSION


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(Unreadable, match=r"another program's database @ .*other\.db; .*CTXTUI_HOME"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_database_from_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA user_version=99")
    with pytest.raises(Unreadable, match=r"newer ctxtui wrote .* knows up to \d+ @ .*s\.db; upgrade ctxtui"):
        Store.open(path)


def begin_all(db: Database) -> None:
    """A first migration that makes what every change to a session asks for."""
    migrations.m001_first(db)
    migrations.m007_leases(db)
    migrations.m012_quotas(db)


def only_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the first migration were the only one yet."""
    first = Migrations("ctxtui")
    first(name="m001_first")(begin_all)
    monkeypatch.setattr(migrations, "LADDER", first)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", 1)


def test_migrating_makes_a_backup_first_and_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"
    only_first(monkeypatch)
    with Store.open(path) as store:
        store.import_session(talk(5), FILE)
    longer = Migrations("ctxtui")
    longer(name="m001_first")(begin_all)
    longer(name="m002_more")(lambda db: db["sessions"].add_column("mood", str))  # type: ignore[union-attr]
    monkeypatch.setattr(migrations, "LADDER", longer)
    with pytest.raises(CtxtuiError, match="schema 1, this ctxtui needs 2"):
        monkeypatch.setattr(connect, "SCHEMA_VERSION", 2)
        Store.open(path, readonly=True)
    with Store.open(path) as store:
        assert store.info().schema_version == 2
        assert "mood" in Database(store._conn)["sessions"].columns_dict
        assert state(store.load("session-1")) == state(talk(5))
    (backup,) = tmp_path.glob("s-v1-*.db")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    monkeypatch.setattr(connect, "SCHEMA_VERSION", 1)
    with Store.open(backup) as store:
        assert state(store.load("session-1")) == state(talk(5))


STEPS = list(migrations.LADDER._migrations)


@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_every_older_version_is_brought_up_to_date(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "s.db", tmp_path / "now.db"
    with Store.open(now) as store:
        store.import_session(talk(5), FILE)
        store.tag("session-1", ["kept"])
    with monkeypatch.context() as older:
        ladder = Migrations("ctxtui")
        for step in STEPS[:version]:
            ladder(name=step.name)(step.fn)
        older.setattr(migrations, "LADDER", ladder)
        older.setattr(connect, "SCHEMA_VERSION", version)
        with closing(connect.connect(path)) as conn:
            copy_rows(conn, now)
    with Store.open(path) as store:
        assert store.info().schema_version == connect.SCHEMA_VERSION
        assert state(store.load("session-1")) == state(talk(5))
        assert store.session("session-1").tags == ("kept",)
        # It is written as a new one is.
        store.import_session(talk(9), FILE)
        assert state(store.load("session-1")) == state(talk(9))
    (backup,) = tmp_path.glob(f"s-v{version}-*.db")
    assert backup.stat().st_size


def copy_rows(conn: sqlite3.Connection, other: Path) -> None:
    """Take over the rows of a session from a database of today, as far as this one has the columns."""
    conn.execute("ATTACH ? AS other", (str(other),))
    conn.execute("PRAGMA foreign_keys=OFF")
    conn.execute("DELETE FROM codecs")
    for table in ("codecs", "blocks", "places", "skeletons", "sessions", "tags", "sources", "session_blocks", "runs",
                  "skipped", "happenings", "outcomes", "threads", "calls"):  # fmt: skip
        names = ", ".join(name for _, name, *_ in conn.execute(f"PRAGMA table_info({table})"))
        conn.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM other.{table}")
    conn.commit()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"
    only_first(monkeypatch)
    Store.open(path).close()

    def broken(db: Database) -> None:
        db["sessions"].drop()  # type: ignore[union-attr]
        db.execute("SELECT no_such_column FROM sessions_gone")

    longer = Migrations("ctxtui")
    longer(name="m001_first")(begin_all)
    longer(name="m002_broken")(broken)
    monkeypatch.setattr(migrations, "LADDER", longer)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", 2)
    with pytest.raises(CtxtuiError, match="no such table"):
        Store.open(path)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", 1)
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


def _import_many(path: str, seed: int) -> None:
    with Store.open(path) as store:
        for n in range(6):
            store.import_session(talk(20 + n, seed=seed), SourceInfo(f"/{seed}", 100 + n))


def test_processes_at_once_open_create_and_write(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_import_many, args=(str(path), seed)) for seed in (1, 1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with Store.open(path) as store:
        assert sorted(row.calls for row in store.sessions()) == [25, 25]
        assert state(store.load("session-1")) == state(talk(25, seed=1))
        assert store._conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_new_file_that_another_process_writes_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, check_same_thread=False, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        later = threading.Timer(0.2, other.execute, ("COMMIT",))
        later.start()
        with Store.open(path) as store:
            assert store._conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        later.join()


def test_a_reader_sees_one_state_while_another_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as one, Store.open(tmp_path / "s.db") as two:
        id_ = one.import_session(talk(5), FILE)
        one._conn.execute("BEGIN IMMEDIATE")
        one._conn.execute("DELETE FROM sessions")
        assert len(two.load(id_).calls) == 5
        one._conn.execute("ROLLBACK")


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as one, Store.open(tmp_path / "s.db") as two:
        id_ = one.import_session(talk(1), FILE)
        two._conn.execute("PRAGMA busy_timeout=50")
        one._conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(CtxtuiError, match="another process"):
            two.rename(id_, "late")
        one._conn.execute("ROLLBACK")
        two.rename(id_, "in time")
        assert one.session(id_).title == "in time"


def test_backup_and_vacuum(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        ids = [store.import_session(talk(200, seed=seed), FILE) for seed in (1, 2)]
        copy = store.backup(tmp_path / "copy.db")
        with pytest.raises(CtxtuiError, match=r"a file already @ .*copy\.db"):
            store.backup(copy)
        store.delete(ids[0])
        store.vacuum()
        assert (store.info().free, store.info().wal_size) == (0, 0)
        assert store.info().size < 0.7 * copy.stat().st_size
        with pytest.raises(CtxtuiError, match="cannot be written"):
            store.backup(tmp_path / "nowhere" / "x.db")
    with Store.open(copy) as store:
        assert state(store.load(ids[0])) == state(talk(200, seed=1))


@pytest.mark.parametrize("statement", [1, 2, 3])
def test_a_database_that_another_process_creates_meanwhile_is_no_other_programs(tmp_path: Path, statement: int) -> None:
    path, statements = tmp_path / "new.db", list[str]()

    def create(sql: str) -> None:
        statements.append(sql)
        if len(statements) == statement:
            connect.connect(path).close()

    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.set_trace_callback(create)
        connect._check_application(conn, path)
    assert len(statements) == 3
