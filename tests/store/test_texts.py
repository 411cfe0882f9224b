"""The full-text index: it never misses a recording that holds a text."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils.db import Database

from ctxtui.core.errors import Unreadable
from ctxtui.store import fulltext
from ctxtui.store.fulltext import MAX_QUERY_CHARS, PIECE_CHARS, Unit, pieces
from ctxtui.store.schema.database_file import APPLICATION_ID
from ctxtui.store.schema.migrations import LADDER
from ctxtui.store.store import Store
from tests.store.builders import FILE, LEXICON, talk

A, B = Unit("/a.jsonl", 10, 1.5), Unit("/b.jsonl", 20, 2.5)
WORDS = st.text(st.sampled_from("abcABCß数据分析 _.\"'%ıİſ\n\x00\ud800é"), max_size=30)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6), st.data())
def test_what_holds_a_text_is_named(one: list[str], two: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        store.texts.add(A, one, 1)
        store.texts.add(B, two, 1)
        for unit, held in ((A, one), (B, two)):
            for text in held:
                start = data.draw(st.integers(0, len(text)))
                wanted = text[start : start + data.draw(st.integers(0, 12))]
                for spelled in (wanted, wanted.upper() if wanted.upper().lower() == wanted.lower() else wanted):
                    found = store.texts.find_candidates([spelled])
                    assert found is None or unit.name in found


def test_what_holds_it_nowhere_is_not_named(store: Store) -> None:
    store.texts.add(A, ["def compute_context(self)"], 1)
    store.texts.add(B, ["数据分析和处理", "unrelated", "\u0130stanbul"], 1)
    assert store.texts.find_candidates(["pute_con"]) == {"/a.jsonl"}
    assert store.texts.find_candidates(["COMPUTE"]) == {"/a.jsonl"}
    assert store.texts.find_candidates(["istanbul"]) == {"/b.jsonl"}
    assert store.texts.find_candidates(["据分析"]) == {"/b.jsonl"}
    assert store.texts.find_candidates(["compute", "数据分"]) == set()
    assert store.texts.find_candidates(['say "hi"']) == set()
    assert store.texts.find_candidates(["数据"]) is None


def test_a_text_across_the_cut_of_a_long_one_is_found(store: Store) -> None:
    long = ("x" * (PIECE_CHARS - 5)) + "NEEDLE in hay" + "y" * PIECE_CHARS
    assert store.texts.add(A, ["a", long, "b"], 1) == 4
    assert store.texts.find_candidates(["needle in hay"]) == {"/a.jsonl"}
    assert store.texts.find_candidates(["x" * 20 + "needle" + "z" * 300]) == set()
    assert all(len(piece) <= PIECE_CHARS + MAX_QUERY_CHARS for piece in pieces([long, "c" * 10]))


def test_a_recording_that_changed_is_indexed_anew(store: Store) -> None:
    grown = Unit(A.path, 11, 1.6)
    assert store.texts.unindexed([A, B], 1) == [A, B]
    store.texts.add(A, ["the first words"], 1)
    assert store.texts.unindexed([A, B], 1) == [B]
    assert store.texts.unindexed([grown], 1) == [grown]
    assert store.texts.unindexed([A], 2) == [A]
    store.texts.add(grown, ["other words"], 1)
    assert store.texts.find_candidates(["first"]) == set()
    assert store.texts.find_candidates(["other"]) == {A.path}
    assert store.texts.wasted_share() == 0.5
    store.texts.merge()
    store.texts.clear()
    assert (store.texts.wasted_share(), store.texts.find_candidates(["other"])) == (0.0, set())
    store.texts.add(grown, ["other words"], 1)
    assert store.texts.find_candidates(["other"]) == {A.path}


@pytest.mark.parametrize("lost", ["texts_data", "texts_idx", "texts_config"])
def test_a_damaged_index_is_named_and_made_anew(store: Store, lost: str) -> None:
    unit = Unit("/one", 1, 1.0)
    store.texts.add(unit, ["some words"], 1)
    store._conn.execute(f"DELETE FROM {lost}")
    with Store.open(store.path) as other:
        if lost == "texts_data":
            with pytest.raises(Unreadable, match=r"the full-text index is damaged.*ctxtui db index --anew"):
                other.texts.find_candidates(["words"])
        other.texts.clear()
        other.texts.add(unit, ["other words"], 1)
        assert other.texts.find_candidates(["other"]) == {"/one"} and other.texts.find_candidates(["some"]) == set()
        assert other._conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_stored_session_is_indexed_as_it_is(store: Store) -> None:
    id_ = store.import_session(talk(2), FILE)
    unit = Unit(stored=id_)
    store.texts.add(unit, [LEXICON[7] + " is in it"], 1)
    assert store.texts.unindexed([unit], 1) == []
    assert store.texts.find_candidates([LEXICON[7] + " is"]) == {id_}
    store.import_session(talk(3), FILE)
    assert store.texts.unindexed([unit], 1) == [unit]
    store.delete(id_)
    assert store.texts.find_candidates([LEXICON[7] + " is"]) == set()
    assert store.texts.wasted_share() == 1.0


@pytest.mark.parametrize("at_once", [1, 100, 1 << 18])
def test_indexing_that_was_cut_short_counts_for_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    def broken(self: fulltext.FullTextIndex, unit: Unit, key: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fulltext, "_MAX_BATCH_CHARS", at_once)
    words = ["half of it " * 5000, "and the rest " * 5000, "its end " * 5000]
    store.texts.add(B, ["half a loaf"], 1)
    with monkeypatch.context() as patch:
        patch.setattr(fulltext.FullTextIndex, "_end_unit", broken)
        with pytest.raises(KeyboardInterrupt):
            store.texts.add(A, words, 1)
    assert store.texts.unindexed([A], 1) == [A]
    assert store.texts.find_candidates(["half"]) == {B.path} and store.texts.find_candidates(["the rest"]) == set()
    assert store.texts.add(A, words, 1) == 3
    assert store.texts.find_candidates(["half"]) == {A.path, B.path}
    assert store.texts.find_candidates(["its end"]) == {A.path} and store.texts.find_candidates(["loaf"]) == {B.path}
    assert store.texts.unindexed([A, B], 1) == []


@pytest.mark.parametrize("step", ["m011_terms", "m013_trigrams"])
def test_what_an_older_ctxtui_indexed_is_indexed_anew(tmp_path: Path, step: str) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        LADDER.apply(Database(conn, execute_plugins=False), stop_before=step)
        conn.execute(f"PRAGMA user_version={int(step[1:4]) - 1}")
        conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
        conn.execute("INSERT INTO texts (rowid, words) VALUES (1, 'some words')")
        conn.execute(
            "INSERT INTO indexed (path, size, mtime, version, first, last) VALUES ('/a.jsonl', 10, 1.5, 1, 1, 1)"
        )
    with Store.open(path) as store:
        assert store.texts.find_candidates(["words"]) == set() and store.texts.unindexed([A], 1) == [A]
        store.texts.add(A, ["some words"], 1)
        assert store.texts.find_candidates(["e wor"]) == {A.path}


def test_the_index_is_small(tmp_path: Path) -> None:
    words = [" ".join(LEXICON[n % 4000] for n in range(start, start + 200)) for start in range(0, 200_000, 200)]
    with Store.open(tmp_path / "s.db") as store:
        store.vacuum()
        before = (tmp_path / "s.db").stat().st_size
        store.texts.add(A, words, 1)
        store.texts.merge()
        store.vacuum()
        size = (tmp_path / "s.db").stat().st_size - before
    assert size < 0.25 * sum(map(len, words))
