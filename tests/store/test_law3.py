"""Law 3: folding in two parts, reading back, and copies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.store.builders import FILE, LOGS, Make, conversation, events_of, state, talk, totals


@given(LOGS, st.integers(0, 12))
def test_folding_in_two_parts_is_folding_whole(log: list[Make], cut: int) -> None:
    tree = Tree()
    events = events_of(log, tree)
    parts = Session(tree).fold(events[:cut]).fold(events[cut:])
    assert parts == Session(tree).fold(events)


@given(LOGS)
def test_what_is_read_back_is_what_was_stored(log: list[Make]) -> None:
    tree = Tree()
    session = Session(tree).fold(events_of(log, tree))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        assert state(store.load(store.import_session(session, FILE))) == state(session)


@given(LOGS, LOGS)
def test_a_grown_session_replaces_what_was_stored(before: list[Make], more: list[Make]) -> None:
    tree = Tree()
    events = events_of(before + more, tree)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        first = Session(tree).fold(events[: len(before)])
        store.import_session(first, FILE)
        whole = first.fold(events[len(before) :])
        stored = store.import_session(whole, FILE)
        assert state(store.load(stored)) == state(whole)
        for row in store.sessions():
            store.delete(row.id)
        left = {table for table, count in store.info().rows.items() if count}
        assert left <= {"codecs", "places"}


def test_the_same_twice_is_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        ids = {store.import_session(talk(30), FILE) for _ in range(3)}
        rows = store.info().rows
        assert len(ids) == 1
        assert (rows["sessions"], rows["calls"], rows["threads"], rows["sources"]) == (1, 30, 1, 1)
        assert rows["runs"] == 1


@pytest.mark.parametrize("copied_id", ["session-1", "a fork with an id of its own", ""])
def test_a_second_file_with_the_same_calls_changes_no_total(tmp_path: Path, copied_id: str) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.import_session(talk(20), FILE)
        before = totals(store)
        blocks = store.info().rows["blocks"]
        copy = talk(20)
        copy.about = type(copy.about)(id=copied_id, source="claude code")
        store.import_session(copy, SourceInfo("/recordings/copy.jsonl", 100, 1.5, "claude code"))
        assert totals(store) == before
        assert before[0] == store.count_calls() == 20
        assert store.info().rows["blocks"] == blocks


def test_a_copied_record_changes_no_total(tmp_path: Path) -> None:
    events = conversation(5)
    twice = [copy for event in events for copy in (event, event)]
    with Store.open(tmp_path / "s.db") as store:
        store.import_session(talk(5), FILE)
        before = totals(store)
        tree = talk(5).tree
        store.import_session(Session(tree).fold(twice), FILE)
        assert totals(store) == before
