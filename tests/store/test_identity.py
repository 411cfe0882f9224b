"""Which stored session a recording is."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.session import MAIN, Described, Session
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.store.builders import FILE, named, state, talk

GROWN = replace(FILE, size=200, mtime=2.5)


def test_an_older_copy_takes_nothing_away(store: Store) -> None:
    id_ = store.import_session(talk(9), FILE)
    assert store.import_session(talk(4), SourceInfo("/backup/a.jsonl", 40, 1.0, "claude code")) == id_
    assert store.import_session(talk(4), replace(FILE, size=40)) == id_
    assert len(store.load(id_).calls) == 9


def test_a_provisional_call_id_leaves_no_ghost(store: Store) -> None:
    early = talk(4)
    last = early.calls.pop("msg_session-1_4")
    early.calls["provisional"] = replace(last, id="provisional", usage=None)
    early.order[MAIN][-1] = "provisional"
    id_ = store.import_session(early, FILE)
    assert store.import_session(talk(5), GROWN) == id_
    assert list(store.load(id_).calls) == [f"msg_session-1_{n}" for n in range(1, 6)]
    assert store.count_calls() == 5


def test_a_subagents_file_with_its_parents_id_stands_apart_until_the_whole_comes(store: Store) -> None:
    parent, agent = talk(3), named(talk(2, seed=7), "session-1")
    store.import_session(parent, FILE)
    apart = store.import_session(agent, SourceInfo("/recordings/agent.jsonl", 10, 1.0, "claude code"))
    assert apart != "session-1"
    assert apart.startswith("session-1-")
    assert state(store.load("session-1")) == state(parent)
    assert state(store.load(apart)) == state(agent)
    again = store.import_session(agent, SourceInfo("/recordings/agent.jsonl", 10, 1.0, "claude code"))
    assert again == apart
    assert len(store.sessions()) == 2


def test_a_log_overwritten_by_another_run_does_not_lose_the_first(store: Store) -> None:
    first = named(talk(2, seed=1), "")
    second = named(talk(8, seed=2), "")
    ids = [store.import_session(session, FILE) for session in (first, second, first, second)]
    assert ids[0] == ids[2] != ids[1] == ids[3]
    assert state(store.load(ids[0])) == state(first)


def test_recordings_without_id_are_named_by_their_path_and_standard_input_by_content(store: Store) -> None:
    nameless = named(talk(2), "")
    here, there = (store.import_session(nameless, replace(FILE, path=path)) for path in ("/a", "/b"))
    piped = [store.import_session(named(talk(n), ""), SourceInfo()) for n in (2, 2, 3)]
    assert here != there
    assert piped[0] == piped[1] != piped[2]
    assert len(store.sessions()) == 4


def test_an_id_that_cannot_be_typed_gets_one_that_can(store: Store) -> None:
    for odd in ("--help", "a\nb", "é" * 10, "x" * 200, "\ud800"):
        session = Session().fold([Described(id=odd)])
        id_ = store.import_session(session, FILE)
        assert id_.isalnum()
        assert len(id_) == 12
        assert store.load(id_).about.id == odd
