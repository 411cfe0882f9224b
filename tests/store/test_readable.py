"""What someone sees who opens the file with sqlite3 or Datasette."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from sqlite_utils import Database

from ctxtui.store.readable import VIEWS
from ctxtui.store.store import Store
from tests.store.builders import FILE, named, talk


def rows(store: Store, view: str, where: str = "1") -> list[dict[str, Any]]:
    return list(Database(store._conn).query(f"SELECT * FROM {view} WHERE {where}"))


def test_every_view_answers(store: Store) -> None:
    assert set(Database(store._conn).view_names()) == set(VIEWS)
    for view in VIEWS:
        assert rows(store, view) == []


def test_calls_have_times_and_sums(store: Store) -> None:
    id_ = store.import_session(talk(3), FILE)
    store.rename(id_, "mine")
    first = rows(store, "calls_readable")[0]
    assert (first["session"], first["title"], first["thread"], first["number"]) == (id_, "mine", "main", 1)
    assert (first["started"], first["seconds"]) == ("2023-11-14T22:14:20Z", 5)
    assert (first["input"], first["cache_write"], first["fresh"]) == (111, 10, 1)
    assert first["blocks"] == 1
    assert rows(store, "calls_readable")[2]["blocks"] == 7


def test_a_run_lists_its_blocks_in_prompt_order(store: Store) -> None:
    session = talk(3)
    store.import_session(session, FILE)
    shown = rows(store, "run_blocks", "run = 1 ORDER BY position")
    path = session.tree.items(session.threads["main"].tip)
    assert [row["digest"] for row in shown] == [block.digest for block, _ in path]
    assert [row["role"] for row in shown] == [place.role for _, place in path]
    assert [row["position"] for row in shown] == list(range(1, 11))


def test_every_block_has_a_preview(store: Store) -> None:
    store.import_session(talk(3), FILE)
    shown = rows(store, "block_previews")
    assert {row["codec"] for row in shown} == {"plain", "zstd"}
    assert all(row["preview"] and len(row["preview"]) <= 200 for row in shown)
    assert all(row["stored"] <= row["size"] for row in shown)


def test_the_overview_and_calls_once(store: Store) -> None:
    id_ = store.import_session(talk(3), FILE)
    store.tag(id_, ["b", "a"])
    store.import_session(named(talk(5), "fork"), FILE)
    (one,) = rows(store, "session_overview", "id = 'session-1'")
    assert (one["tags"], one["calls"], one["path"], one["ended"]) == ("a, b", 3, FILE.path, "2023-11-14T22:16:25Z")
    assert len(rows(store, "calls")) == 8
    assert len(rows(store, "calls_once")) == 5


def test_edits_are_append_only(store: Store) -> None:
    id_ = store.import_session(talk(1), FILE)
    conn = store._conn
    conn.execute(
        "INSERT INTO edits (session, id, kind, digest, occurrence, author, at, reverts)"
        " VALUES (1, 'e', 'drop', x'00', 0, 'user', 0, '')"
    )
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        conn.execute("UPDATE edits SET kind = 'pin'")
    store.import_session(talk(2), FILE)
    assert store.info().rows["edits"] == 1
    store.delete(id_)
    assert store.info().rows["edits"] == 0
