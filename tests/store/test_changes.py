"""What users do to stored sessions, and what stays when a recording is imported again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.core.call import SUM
from ctxtui.core.canonical import Number
from ctxtui.core.errors import CtxtuiError, NotFound, Several
from ctxtui.core.usage import Usage
from ctxtui.store.store import Store
from tests.store.builders import FILE, named, query, state, talk, totals

GROWN = replace(FILE, size=200, mtime=2.5)
DAY = 86_400.0


def test_a_users_title_and_tags_outlive_a_new_import(store: Store) -> None:
    id_ = store.import_session(talk(3), FILE)
    store.rename(id_, "  the good one ")
    store.tag(id_, ["keep", "demo"])
    store.archive(id_)
    assert store.import_session(talk(4), GROWN) == id_
    (row,) = store.sessions(archived=True)
    assert (row.title, row.tags, row.calls, row.archived) == ("the good one", ("demo", "keep"), 4, True)
    assert store.load(id_).about.title == "the good one"
    store.rename(id_, "")
    assert store.load(id_).about.title == "work on session-1"


def test_tags_are_added_once_and_removed(store: Store) -> None:
    id_ = store.import_session(talk(1), FILE)
    store.tag(id_, ["a", "b"])
    store.tag(id_, ["b", "c\ud800"])
    store.tag(id_, ["a", "never there"], remove=True)
    assert store.session(id_).tags == ("b", "c\ud800")
    with pytest.raises(CtxtuiError, match="empty"):
        store.tag(id_, ["d", " "])
    assert store.session(id_).tags == ("b", "c\ud800")


def test_archived_sessions_are_listed_apart(store: Store) -> None:
    one, two = (store.import_session(talk(1, seed=seed), FILE) for seed in (1, 2))
    assert store.archive(one) == one
    assert [row.id for row in store.sessions()] == [two]
    assert [row.id for row in store.sessions(archived=True)] == [one]
    store.archive(one, undo=True)
    assert {row.id for row in store.sessions()} == {one, two}


def test_the_newest_activity_comes_first(store: Store) -> None:
    for rounds, seed in ((3, 1), (9, 2), (6, 3)):
        store.import_session(talk(rounds, seed=seed), FILE)
    assert [row.calls for row in store.sessions()] == [9, 6, 3]


def test_a_row_says_what_home_shows(store: Store) -> None:
    store.import_session(talk(3), FILE, now=1e9)
    (row,) = store.sessions()
    assert (row.id, row.source, row.cwd, row.client, row.path) == (
        "session-1",
        "claude code",
        "/work",
        "cli",
        FILE.path,
    )
    assert (row.calls, row.ended, row.imported) == (3, 1.7e9 + 185, 1e9)
    columns = "threads, model, peak, input, cache_read, output, started, cost"
    assert query(store, f"SELECT {columns} FROM sessions") == [
        (1, "claude-sonnet-4-5", 313, 636, 600, 150, 1.7e9 + 60, None)
    ]


def test_a_record_that_sums_up_calls_is_no_peak(store: Store) -> None:
    session = talk(3)
    last = session.calls["msg_session-1_3"]
    used = Usage(fresh=9_999)
    session.calls[last.id] = replace(last, usage=used, extra={SUM: 4})
    store.import_session(session, FILE)
    ((peak, input_),) = query(store, "SELECT peak, input FROM sessions")
    assert peak < 999 and input_ > 9_999


def test_a_record_may_have_numbers_that_are_no_json(store: Store) -> None:
    session = talk(3)
    last = session.calls["msg_session-1_3"]
    session.calls[last.id] = replace(last, extra={"score": Number("NaN")})
    store.import_session(session, FILE)
    assert query(store, "SELECT peak FROM sessions") == [(313,)]
    (id_,) = (row.id for row in store.sessions())
    assert store.load(id_).calls[last.id].extra == {"score": Number("NaN")}


def test_deleting_collects_only_what_nothing_else_holds(store: Store) -> None:
    fork = named(talk(4), "fork")
    one, two = store.import_session(talk(9), FILE), store.import_session(fork, replace(FILE, path="/fork"))
    before, shared = store.info().rows["blocks"], len(fork.tree.blocks)
    assert shared < before
    store.delete(one)
    assert store.info().rows["blocks"] == shared
    assert state(store.load(two)) == state(fork)
    store.delete(two)
    rows = store.info().rows
    assert {rows[table] for table in ("blocks", "calls", "runs", "threads", "session_blocks", "sources")} == {0}
    with pytest.raises(NotFound):
        store.load(one)


def test_old_sessions_are_pruned_by_their_last_call(store: Store) -> None:
    now = 1.7e9 + 40 * DAY
    old = store.import_session(talk(2), FILE, now=now)
    timeless = talk(1, seed=2)
    timeless.calls = {id_: replace(call, started=None, ended=None) for id_, call in timeless.calls.items()}
    fresh = store.import_session(timeless, replace(FILE, path="/b"), now=now - DAY)
    assert store.older_sessions(30 * DAY, now) == [old]
    assert store.prune(30 * DAY, now) == [old]
    assert [row.id for row in store.sessions()] == [fresh]
    assert store.prune(30 * DAY, now) == []


def test_sessions_are_found_by_the_beginning_of_their_id(store: Store) -> None:
    for seed, id_ in enumerate(("abc-1", "abc-2", "abc", "x_y", "xzy")):
        store.import_session(talk(1, seed=seed, id_=id_), replace(FILE, path=f"/{id_}"))
    assert store.resolve("abc") == "abc"
    assert store.resolve("abc-2") == "abc-2"
    assert store.resolve("x_") == "x_y"
    with pytest.raises(Several, match=r"abc-1.*abc-2|abc-2.*abc-1"):
        store.resolve("abc-")
    for missing in ("", "%", "a_c", "abd", "a\ud800"):
        with pytest.raises(NotFound):
            store.resolve(missing)


def test_progress_and_prices_are_asked_for(store: Store) -> None:
    seen: list[tuple[int, int]] = []

    class Cost:
        usd, version = 0.25, "v1"

    store.import_session(
        talk(400),
        FILE,
        progress=lambda done, whole: seen.append((done, whole)),
        price=lambda call: Cost() if call.id.endswith("1") else None,
    )
    assert seen == [(500, 1201), (1000, 1201), (1201, 1201)]
    assert query(store, "SELECT cost FROM session_overview") == [(0.25 * 40,)]
    assert totals(store)[3:] == (0.25 * 40, 360)
