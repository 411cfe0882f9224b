"""The overlay's log and artifacts in the database."""

from __future__ import annotations

import sqlite3

import pytest

from ctxtui.core.edit import Edit, Target, make
from ctxtui.core.edit_kinds import DROP, NOTE, PIN
from ctxtui.core.edit_log import Stamp, apply_staged, edits_in_force, undo_last
from ctxtui.core.errors import NotFound
from ctxtui.store.store import Store
from tests.store.builders import FILE, query, talk

ONE = make(DROP, [Target("ab" * 16, 2, "toolu_1")], id="e1", at=1.5, batch="b1")
TWO = make(NOTE, [Target("cd" * 16)], {"text": "\ud800 <b>"}, author="window", id="e2")


def test_a_log_comes_back_as_it_was_and_lives_with_its_session(store: Store) -> None:
    session = store.import_session(talk(2), FILE, now=1.0)
    assert store.edits(session) == [] and store.edited_sessions() == []
    assert store.add_edits(session, [ONE, TWO], now=2.0) == 2
    assert store.add_edits(session, [ONE], now=3.0) == 0
    assert store.edits(session) == [ONE, TWO]
    assert store.add_edits(session, [ONE], thread="sub", now=3.0) == 1
    assert store.edited_sessions() == [session]
    store.import_session(talk(3), FILE, now=4.0)
    assert store.edits(session) == [ONE, TWO]
    store.delete(session)
    assert store.info().rows["edits"] == 0


def test_undo_goes_on_after_a_restart(store: Store) -> None:
    session = store.import_session(talk(2), FILE)
    store.add_edits(session, [ONE])
    store.add_edits(session, apply_staged(store.edits(session), Stamp("a", 2.0)))
    assert edits_in_force(store.edits(session)) == ((ONE,), ())
    store.add_edits(session, undo_last(store.edits(session), Stamp("u", 3.0)))
    assert edits_in_force(store.edits(session)) == ((), (ONE,)), "what was applied is staged again"
    store.add_edits(session, undo_last(store.edits(session), Stamp("v", 4.0)))
    assert edits_in_force(store.edits(session)) == ((), ())


def test_no_entry_is_changed(store: Store) -> None:
    session = store.import_session(talk(2), FILE)
    store.add_edits(session, [Edit("p", PIN, (Target("ab" * 16),))])
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        store._conn.execute("UPDATE edits SET author = 'x'")


def test_artifacts_are_kept_by_name(store: Store) -> None:
    session = store.import_session(talk(2), FILE)
    store.put_artifact(session, "CODE_1", b"x" * 5000)
    store.put_artifact(session, "CODE_2", "é\ud800".encode("utf-8", "surrogatepass"))
    assert store.artifact(session, "CODE_1") == b"x" * 5000
    assert store.artifact(session, "CODE_2").decode("utf-8", "surrogatepass") == "é\ud800"
    assert query(store, "SELECT name, size FROM artifacts ORDER BY key") == [("CODE_1", 5000), ("CODE_2", 5)]
    store.put_artifact(session, "CODE_1", b"new")
    assert store.artifact(session, "CODE_1") == b"new"
    with pytest.raises(NotFound, match="no artifact 'CODE_3'"):
        store.artifact(session, "CODE_3")


def test_a_recording_does_not_get_the_edits_of_a_session_whose_id_begins_with_its_own(store: Store) -> None:
    session = store.import_session(talk(2), FILE)
    store.add_edits(session, [ONE])
    store.put_artifact(session, "note", b"theirs")
    for own in (session[:-1], ""):
        with pytest.raises(NotFound):
            store.edits(own)
        with pytest.raises(NotFound):
            store.artifact(own, "note")
        with pytest.raises(NotFound):
            store.add_edits(own, [TWO])
    assert store.resolve(session[:-1]) == session
