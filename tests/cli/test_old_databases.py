"""Databases that older versions of the program wrote (`tests/store/old/make.py`): each is upgraded, nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import Call
from ctxtui.core.errors import Unreadable
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.store.rows import SourceInfo
from ctxtui.store.schema.connect import SCHEMA_VERSION
from ctxtui.store.store import Store
from tests.cli.conftest import Run
from tests.store.old.make import ARCHIVE, AT, SESSION

RECORDING = ARCHIVE.with_name("small.jsonl")
VERSIONS = [version for version in range(1, SCHEMA_VERSION + 1) if version != 2]
"""Every schema that a commit had: the second came with the third."""


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("databases")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return {int(path.stem.removeprefix("schema-")): path for path in folder.iterdir()}


@pytest.fixture
def database(databases: dict[int, Path], version: int, tmp_path: Path) -> Path:
    return Path(shutil.copy(databases[version], tmp_path / "s.db"))


def calls_of(session: Session) -> list[tuple[Any, ...]]:
    """What a call says, with contexts as the bodies of their blocks."""

    def path(head: int) -> list[tuple[str, bytes]]:
        return [(block.kind, block.body) for block, _ in session.tree.items(head)]

    def told(call: Call) -> tuple[Any, ...]:
        return (call.id, call.thread, call.model, call.started, call.ended, call.usage, call.stop_reason)

    return [
        (*told(call), path(call.raw_head), path(call.sent_head), path(call.response_head))
        for call in session.calls.values()
    ]


def test_there_is_a_database_of_every_schema(databases: dict[int, Path]) -> None:
    assert sorted(databases) == VERSIONS
    for version, path in databases.items():
        with closing(sqlite3.connect(path)) as conn:
            assert conn.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_upgraded_after_a_backup_to_the_tables_of_a_new_one(version: int, database: Path, tmp_path: Path) -> None:
    original = shutil.copy(database, tmp_path / "original.db")
    with Store.open(database) as store:
        assert store.info().schema_version == SCHEMA_VERSION
        assert store._conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert store._conn.execute("PRAGMA foreign_key_check").fetchall() == []
        with Store.open(tmp_path / "new.db") as new:
            assert columns(store._conn) == columns(new._conn)
    backups = list(tmp_path.glob(f"s-v{version}-*.db"))
    assert len(backups) == (version < SCHEMA_VERSION)
    for backup in backups:
        with closing(sqlite3.connect(backup)) as conn, closing(sqlite3.connect(original)) as old:
            assert rows(conn) == rows(old)


def rows(conn: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in a file but its full-text index, which can be made again."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'texts%'"
    return {name: conn.execute(f"SELECT * FROM {name}").fetchall() for (name,) in conn.execute(query)}


def columns(conn: sqlite3.Connection) -> dict[str, set[tuple[Any, ...]]]:
    """The columns of every table and view: name, type, whether it may be NULL, default, place in the primary key."""
    names = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    return {name: {tuple(row[1:]) for row in conn.execute(f"PRAGMA table_info({name})")} for name in names}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_imported_session_is_the_one_that_is_read_today(version: int, database: Path) -> None:
    today = open_named(locate(str(RECORDING), Path.cwd(), Settings()), Settings()).session
    with Store.open(database) as store:
        session, row = store.load(SESSION), store.session(SESSION)
    assert calls_of(session) == calls_of(today)
    assert [call.usage.input for call in session.calls.values() if call.usage] == [15_004, 15_146]
    assert (row.title, row.tags, row.subscription) == ("The harbour", ("kept",), version >= 5)


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= 3])
def test_notes_and_bookmarks_are_kept(version: int, database: Path) -> None:
    with Store.open(database) as store:
        note, bookmark = store.notes.for_session(SESSION)
    assert (note.call, note.text, note.at, note.bookmark) == ("msg_02", "the answer", AT, False)
    assert bookmark.bookmark and bookmark.target is not None and bookmark.about == "def"


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= 4])
def test_edits_are_kept_and_still_applied(
    version: int, database: Path, ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_DB", str(database))
    with Store.open(database) as store:
        entries = store.edits(SESSION)
        assert store.artifact(SESSION, "result.txt") == b"kept outside"
    assert [(entry.id, entry.kind, entry.reverts, entry.batch) for entry in entries] == [
        ("e1", "drop", "", ""), ("e2", "revert", "e1", ""), ("e3", "truncate", "", "b"), ("e4", "apply", "", "")
    ]  # fmt: skip
    curated = ctxtui("curate", SESSION, "--applied", "--after", "--json")
    assert [edit["id"] for edit in curated.json["edits"]] == ["e3"], curated.err
    assert "dredged" not in str(curated.json["request"]) and "toolu_01" in str(curated.json["request"])


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= 7])
def test_a_chat_is_kept_with_its_request_and_goes_on(version: int, database: Path) -> None:
    with Store.open(database) as store:
        (row,) = [row for row in store.sessions() if row.id != SESSION]
        session = store.load(row.id)
        store.import_session(session, SourceInfo())
    (call,) = session.calls.values()
    said = [block.body for block, _ in session.tree.items(call.sent_head)]
    assert any(b"Say hello." in body for body in said)
    assert call.skeleton is not None and call.usage is not None and call.usage.output > 0
    assert len(list(session.tree.items(session.threads[call.thread].tip))) > len(said)


@pytest.mark.parametrize("version", VERSIONS)
def test_commands_find_it_by_id_and_by_text(
    version: int, database: Path, ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_DB", str(database))
    assert ctxtui("show", SESSION, "--json").json["context_tokens"] == 15_146
    assert "The harbour" in ctxtui("search", "dredging").out


def test_a_newer_one_is_refused_by_a_command_and_nothing_is_written(
    databases: dict[int, Path],
    tmp_path: Path,
    ctxtui: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "newer"
    folder.mkdir()
    path = Path(shutil.copy(databases[SCHEMA_VERSION], folder / "s.db"))
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    monkeypatch.setenv("CTXTUI_DB", str(path))
    for arguments in (["db", "info"], ["import", RECORDING], ["session", "rename", SESSION, "x"]):
        ran = ctxtui(*arguments)
        assert ran.code == 4 and f"it has schema {SCHEMA_VERSION + 1}, this one knows up to {SCHEMA_VERSION}" in ran.err
        assert "upgrade ctxtui" in ran.err
    with pytest.raises(Unreadable, match="newer ctxtui"):
        Store.open(path, readonly=True)
    assert path.read_bytes() == before
    # SQLite leaves these two after reading; nothing is in them that would change the file.
    path.with_name("s.db-shm").unlink(missing_ok=True)
    wal = path.with_name("s.db-wal")
    assert not wal.exists() or not wal.stat().st_size
    wal.unlink(missing_ok=True)
    assert [file.name for file in folder.iterdir()] == ["s.db"]
