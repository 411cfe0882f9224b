"""Searching every session, with and without the index."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from ctxtui.core.errors import BadPattern
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open import load
from ctxtui.services.search import index
from ctxtui.services.search.library_search import BlockFilter, Hit, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.services.workers import index_worker
from ctxtui.services.workers.index_worker import BackgroundIndexer, IndexFiller
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

CALL = {
    "type": "tool_use",
    "id": "t1",
    "name": "Bash",
    "input": {"command": "grep -rn 'compute_context(' src\necho \"done\""},
}


def record(role: str, number: int, content: object, session: str) -> dict[str, object]:
    message: dict[str, object] = {"role": role, "content": content}
    if role == "assistant":
        usage = {"input_tokens": 10, "output_tokens": 2}
        message |= {"id": f"m{session}{number}", "type": "message", "model": "claude-opus-4-6", "usage": usage}
    stamp = f"2026-02-07T09:00:{number:02}.000Z"
    up = f"u{number - 1}" if number else None
    return {
        "parentUuid": up, "isSidechain": False, "sessionId": session, "version": "2.1.62", "type": role,
        "uuid": f"u{number}", "timestamp": stamp, "cwd": "/work", "message": message,
    }  # fmt: skip


def write(folder: Path, name: str, asked: str) -> Path:
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "src/a.py:12: 数据分析 compute_context(x)"}]
    lines = [
        record("user", 0, asked, name),
        record("assistant", 1, [CALL], name),
        record("user", 2, result, name),
        record("assistant", 3, [{"type": "text", "text": "It is in **src/a.py**."}], name),
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionLibrary:
    projects = tmp_path / "claude" / "projects" / "-work"
    projects.mkdir(parents=True)
    write(projects, "one", "Where is the NEEDLE?")
    write(projects, "two", "Something else")
    (projects / "three.jsonl").write_text('{"type": "user", "sessionId": "three", "message": 7\n')
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "own"))
    return SessionLibrary(Settings(), tmp_path)


def sessions(shelf: SessionLibrary) -> list[SessionSummary]:
    return [one for one in shelf.join_stored(shelf.list_fast()) if one.group != "samples"]


def found(
    shelf: SessionLibrary, query: str, wanted: BlockFilter | None = None, *, regex: bool = False
) -> tuple[list[Hit], Searcher]:
    searcher = Searcher(Settings(), Pattern(query, regex=regex), wanted or BlockFilter())
    return list(searcher.hits(sessions(shelf))), searcher


def told(hits: list[Hit]) -> list[tuple[str, int | None, str, str, int]]:
    return sorted(
        (Path(hit.summary.path).stem, hit.hits.place.call, hit.hits.place.category, hit.label, hit.hits.hits)
        for hit in hits
    )


QUERIES = [
    ("needle", [("one", 1, "user", "Where is the NEEDLE?", 1)]),
    ("Needle", []),
    ("compute_context(x", [("one", 2, "tool_result", "Bash", 1), ("two", 2, "tool_result", "Bash", 1)]),
    ("数据", [("one", 2, "tool_result", "Bash", 1), ("two", 2, "tool_result", "Bash", 1)]),
    ("数据分析", [("one", 2, "tool_result", "Bash", 1), ("two", 2, "tool_result", "Bash", 1)]),
    ('echo "done"', [("one", 1, "tool_call", "Bash", 1), ("two", 1, "tool_call", "Bash", 1)]),
    ("nowhere at all", []),
]


@pytest.mark.parametrize("indexed", [False, True])
def test_every_session_is_searched(shelf: SessionLibrary, indexed: bool) -> None:
    if indexed:
        Store.open(database("")).close()
        done = list(
            index.fill_index(Settings(), index.list_unindexed(Settings(), sessions(shelf), live=True), lambda: False)
        )
        assert sorted(Path(one.name).stem for one in done) == ["one", "three", "two"]
    for query, wanted in QUERIES:
        hits, searcher = found(shelf, query)
        assert told(hits) == wanted, query
        short = len(query) < 3
        assert (searcher.tally.indexed, searcher.tally.direct) == ((3, 0) if indexed and not short else (0, 3))


def test_what_the_index_rules_out_is_not_opened(shelf: SessionLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(database("")).close()
    list(index.fill_index(Settings(), index.list_unindexed(Settings(), sessions(shelf), live=True), lambda: False))
    opened = []
    place = "ctxtui.services.search.library_search.load"
    monkeypatch.setattr(place, lambda path, **more: opened.append(path.stem) or load(path, **more))
    assert len(found(shelf, "needle")[0]) == 1
    assert opened == ["one"]
    path = Path(next(one.path for one in sessions(shelf) if "two" in one.path))
    path.write_text(path.read_text().replace("Something else", "a second needle"))
    hits, searcher = found(shelf, "NEEDLE".lower())
    assert len(hits) == 2
    assert (searcher.tally.indexed, searcher.tally.direct) == (2, 1)


def test_filters(shelf: SessionLibrary) -> None:
    def kinds(wanted: BlockFilter) -> list[str]:
        return [hit.hits.place.category for hit in found(shelf, "compute_context", wanted)[0]][:2]

    assert kinds(BlockFilter()) == ["tool_call", "tool_result"]
    assert kinds(BlockFilter(frozenset({"tool_result"}))) == ["tool_result", "tool_result"]
    assert kinds(BlockFilter(tool="bas")) == ["tool_call", "tool_result"]
    assert kinds(BlockFilter(tool="read")) == []


def test_expressions(shelf: SessionLibrary) -> None:
    assert len(found(shelf, r"compute_\w+\(", regex=True)[0]) == 4
    assert len(found(shelf, "where.*needle", regex=True)[0]) == 1
    with pytest.raises(BadPattern):
        found(shelf, "a[", regex=True)


def test_stored_sessions_are_searched_when_their_file_is_gone(shelf: SessionLibrary) -> None:
    (one,) = [each for each in sessions(shelf) if "one" in each.path]
    loaded = load(Path(one.path))
    with Store.open(database("")) as store:
        id_ = store.import_session(loaded.session, source_info(loaded))
    Path(one.path).unlink()
    for fill in (False, True):
        if fill:
            list(
                index.fill_index(
                    Settings(), index.list_unindexed(Settings(), sessions(shelf), live=True), lambda: False
                )
            )
        hits, searcher = found(shelf, "needle")
        assert [(hit.summary.stored, hit.hits.place.call) for hit in hits] == [(id_, 1)]
        assert searcher.tally.indexed == (3 if fill else 0)


def test_an_unusable_database_is_tried_again(
    shelf: SessionLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_worker, "_CHECK_INTERVAL", 0.05)
    Store.open(database("")).close()
    with closing(sqlite3.connect(database(""))) as conn, conn:
        (version,) = conn.execute("PRAGMA user_version").fetchone()
        conn.execute("PRAGMA user_version = 9999")
    indexer = BackgroundIndexer(Settings(live_seconds=1), tmp_path)
    running = Thread(target=indexer.run)
    running.start()
    running.join(2.0)
    assert running.is_alive()
    with closing(sqlite3.connect(database(""))) as conn, conn:
        conn.execute(f"PRAGMA user_version = {version}")
    try:
        until = time.monotonic() + 60
        while index.list_unindexed(Settings(), sessions(shelf), live=True) and time.monotonic() < until:
            time.sleep(0.05)
        assert not index.list_unindexed(Settings(), sessions(shelf), live=True)
    finally:
        indexer.close()
        running.join()


def test_the_child_fills_what_rests_and_stops_where_it_was(shelf: SessionLibrary, tmp_path: Path) -> None:
    Store.open(database("")).close()
    settings = Settings(live_seconds=86_400)
    filler = IndexFiller(settings, tmp_path)
    for one in sessions(shelf)[:2]:
        os.utime(one.path, (1e9, 1e9))
    rest = len([one for one in shelf.join_stored(shelf.list_fast()) if one.group == "samples"])
    assert filler.fill() == 2 + rest
    assert filler.fill() == 0
