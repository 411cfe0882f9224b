"""Notes and bookmarks in the database."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.store.store import Store
from tests.store.builders import FILE, talk

ON_BLOCK = Note("session-1", target=Target("0123456789abcdef" * 2, 1), bookmark=True, at=5.0, about="words", path="/a")
ON_CALL = Note("session-1", call="msg_1", text="why so much?\ud800", at=6.0)


def test_notes_are_kept_by_what_they_are_about(store: Store) -> None:
    store.notes.put(ON_BLOCK)
    store.notes.put(ON_CALL)
    store.notes.put(replace(ON_CALL, session="other", at=7.0))
    assert store.notes.for_session("session-1") == [ON_BLOCK, ON_CALL]
    changed = replace(ON_BLOCK, text="look here", at=8.0)
    store.notes.put(changed)
    assert store.notes.for_session("session-1") == [ON_CALL, changed]
    assert [note.at for note in store.notes.all()] == [8.0, 7.0, 6.0]


def test_a_note_that_says_nothing_is_removed(store: Store) -> None:
    store.notes.put(ON_BLOCK)
    store.notes.put(replace(ON_BLOCK, bookmark=False))
    assert store.notes.all() == []


def test_deleting_a_session_drops_what_its_notes_quote_and_keeps_what_was_written(store: Store) -> None:
    id_ = store.import_session(talk(1), FILE)
    store.notes.put(replace(ON_BLOCK, session=id_, text="mine"))
    store.delete(id_)
    (kept,) = store.notes.for_session(id_)
    assert (kept.about, kept.text) == ("", "mine")
