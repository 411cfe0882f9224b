"""What someone sees who opens the file with sqlite3 or Datasette."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlite_utils import Database

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.session import CallSeen
from ctxtui.store.fulltext import Unit
from ctxtui.store.schema.tables import VIEWS
from ctxtui.store.store import Store
from tests.corpus import ROOT
from tests.store.builders import FILE, named, state, talk

PAGE = (ROOT / "docs" / "database.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_the_pages_queries_give_rows(store: Store, query: str) -> None:
    id_ = store.import_session(talk(3), FILE)
    store.texts.add(Unit(stored=id_), ["all work and no play"], 1)
    assert list(Database(store._conn).query(query.replace("an id", id_)))


def test_the_page_names_every_table_and_view(store: Store) -> None:
    assert [name for name in (*store.info().rows, *VIEWS) if f"`{name}`" not in PAGE and name not in PAGE] == []


def test_a_context_is_put_together_from_its_runs(store: Store) -> None:
    session = talk(4)
    second = session.calls["msg_session-1_2"]
    other = session.tree.extend(second.sent_head, [Item(block.text("instead"), Place("messages", "user"))])
    session.fold([CallSeen(replace(second, id="branch", raw_head=other, sent_head=other, response_head=other))])
    store.import_session(session, FILE)
    query = re.findall(r"```sql\n(WITH.*?)```", PAGE, re.DOTALL)[0]
    shown = list(Database(store._conn).query(query.replace("an id", "session-1").replace("number = 1", "number = 5")))
    assert [row["position"] for row in shown] == [1, 2, 3, 4, 5]
    assert shown[-1]["preview"] == '{"type":"text","text":"instead"}'


def test_the_pages_python_prints_every_body(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = talk(3)
    store.import_session(session, FILE)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code.replace("ctxtui.db", str(store.path)), {})
    printed = set(capsys.readouterr().out.splitlines())
    assert printed == {one.body.decode() for one in session.tree.blocks.values()}


def test_a_plain_copy_needs_nothing_but_sqlite(store: Store, tmp_path: Path) -> None:
    session = talk(30, words=200)
    id_ = store.import_session(session, FILE)
    store.texts.add(Unit(stored=id_), ["all work and no play"], 1)
    made = store.backup(tmp_path / "plain.db", plain=True)
    with closing(sqlite3.connect(made)) as conn:
        bodies = {body.encode() for (body,) in conn.execute("SELECT body FROM blocks")}
        assert bodies == {one.body for one in session.tree.blocks.values()}
        assert conn.execute("SELECT count(*) FROM block_previews WHERE preview IS NULL").fetchone() == (0,)
    with Store.open(made) as copy:
        assert state(copy.load(id_)) == state(session)
        assert copy.texts.find_candidates(["all work"]) == set()
    assert state(store.load(id_)) == state(session)
