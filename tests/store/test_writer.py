"""The writer: a session written as it happens reads back as it was, whatever refuses meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Fidelity, Skeleton
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.in_flight import Event as Flying
from ctxtui.store.sessions.in_flight import decode_events, group_events, pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import MAX_GATHERED, InFlight, SessionBegun, SessionResumed, StoredCall, Writer
from tests.store.builders import query

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
FAULTS = 1000 if ALL else 25
SKELETON = Skeleton("anthropic", {"frame": []})


def item(words: str, role: str = "user") -> Item:
    return Item(block.text(words), Place("messages", role))


def call(number: int, raw: int, answer: int, **more: Any) -> Call:
    given = {"id": f"msg_{number}", "thread": MAIN, "raw_head": raw, "sent_head": raw, "response_head": answer}
    usage = Usage(fresh=10 * number, cache_read=number, output=5)
    given |= {"model": "m", "provider": "p", "started": 100.0 + number, "ended": 101.0 + number, "usage": usage}
    return Call(**{**given, "fidelity": Fidelity.WIRE, "skeleton": SKELETON, **more})


def begun(id_: str = "live-1") -> Session:
    return Session().fold([Described(id=id_, title="t", source="ctxtui"), ThreadSeen(MAIN)])


@contextmanager
def writing(path: Path, session: Session, **more: Any) -> Iterator[Writer]:
    writer = Writer(path, session.tree, **more)
    writer.put(SessionBegun(Session(Tree()).fold([session.about, *(ThreadSeen(id_) for id_ in session.threads)])))
    try:
        yield writer
    finally:
        writer.close()


def put(writer: Writer, session: Session, event: Event, tip: int = ROOT) -> int:
    session.apply(event)
    if isinstance(event, CallSeen):
        session.apply(TipMoved(event.call.thread, tip))
        return writer.put(StoredCall(event.call, tip))
    assert isinstance(event, Described | ThreadSeen | Happened)
    return writer.put(event)


def same(a: Session, b: Session) -> bool:
    def shown(session: Session) -> Any:
        tree = session.tree

        def said(head: int) -> Any:
            return tree.items(head)

        def bare(one: Call) -> Call:
            return replace(one, raw_head=0, sent_head=0, response_head=0)

        every = session.calls.values()
        calls = [(bare(c), said(c.raw_head), said(c.sent_head), said(c.response_head)) for c in every]
        threads = [(t.id, t.label, t.parent, said(t.tip)) for t in session.threads.values()]
        return session.about, calls, threads, session.order, session.happenings

    return bool(shown(a) == shown(b))


PLAN = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 4), st.integers(1, 3), st.sampled_from([MAIN, "side"]), st.booleans()),
    min_size=1,
    max_size=12,
)


def grow(session: Session, plan: list[tuple[int, int, int, str, bool]]) -> Iterator[tuple[CallSeen, int]]:
    """Calls that go on from any earlier context: growing, branching, in two threads."""
    tree, heads = session.tree, [ROOT]
    for number, (pick, asked, answered, thread, again) in enumerate(plan):
        base = heads[-1] if not again else heads[pick % len(heads)]
        raw = tree.extend(base, [item(f"q{number}.{n}" * (1 + n * 40)) for n in range(asked)])
        answer = tree.extend(raw, [item(f"a{number}.{n}", "assistant") for n in range(answered)])
        heads += [raw, answer]
        yield CallSeen(call(number, raw, answer, thread=thread)), answer


@settings(max_examples=200 if ALL else 15)
@given(PLAN)
def test_call_by_call_is_the_same_as_all_at_once(tmp_path_factory: Any, plan: Any) -> None:
    path = tmp_path_factory.mktemp("w") / "s.db"
    session = begun()
    with writing(path, session) as writer:
        for seen, tip in grow(session, plan):
            put(writer, session, seen, tip)
        put(writer, session, Happened("interrupt", "x", MAIN, 5.0, "msg_0"))
        assert writer.wait(10)
        with Store.open(path) as store:
            assert same(store.load("live-1"), session)
            used = sum(c.usage.input for c in session.calls.values() if c.usage)
            assert query(store, "SELECT calls, model, input FROM sessions") == [(len(session.calls), "m", used)]


def test_a_resumed_session_goes_on_where_it_was(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    plan = [(0, 2, 1, MAIN, False)] * 3
    with writing(path, session) as writer:
        for seen, tip in grow(session, plan):
            put(writer, session, seen, tip)
    with Store.open(path) as store:
        back = store.load("live-1")
    writer = Writer(path, back.tree)
    writer.put(SessionResumed("live-1"))
    tip = back.threads[MAIN].tip
    raw = back.tree.extend(tip, [item("further")])
    put(writer, back, CallSeen(call(9, raw, raw)), raw)
    assert writer.close()
    with Store.open(path) as store:
        assert same(store.load("live-1"), back)


def test_what_is_in_flight_is_kept_until_its_call_ends(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    with writing(path, session) as writer:
        writer.put(InFlight("", 1.0, "said", "half \ud83d"))
        writer.put(InFlight("c", 2.0, "heard", b"data: \xff\xfe"))
        writer.put(InFlight("", 2.5, "queue", '["one"]'))
        writer.put(InFlight("", 3.0, "queue", '["one","two"]'))
        assert writer.wait(5)
        kept = [(event.kind, event.data) for event in pending_events(path, "live-1")]
        assert kept == [("said", "half \ud83d"), ("heard", b"data: \xff\xfe"), ("queue", '["one","two"]')]
        ((seen, tip),) = grow(session, [(0, 1, 1, MAIN, False)])
        put(writer, session, seen, tip)
        assert writer.wait(5)
        assert [event.kind for event in pending_events(path, "live-1")] == ["queue"]


def test_many_at_once_are_kept_in_their_order(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    put_ = []
    for n in range(3 * MAX_GATHERED):
        kind = "queue" if n % 100 == 7 else "heard"
        put_.append(InFlight(f"c{n // 50}", float(n), kind, f"höi \ud800 {n}", MAIN if n % 3 else "agent"))
    with writing(path, session) as writer:
        for one in put_:
            writer.put(one)
        assert writer.wait(60)
    last = max(one.at for one in put_ if one.kind == "queue")
    wanted = [(one.call, one.at, one.data, one.thread) for one in put_ if one.kind == "heard" or one.at == last]
    # A piece of an answer with half a character comes back as its bytes.
    kept = [(one.call, one.at, py_text(one.data), one.thread) for one in pending_events(path, "live-1")]
    assert kept == wanted


DATA = st.one_of(st.binary(max_size=5), st.text(st.characters(), max_size=5))
"""What an event says: bytes, or a text that may hold half a character."""
KIND_AND_DATA = st.tuples(st.just("heard"), DATA) | st.tuples(st.just("said"), st.text(st.characters(), max_size=5))
FLIGHT = st.builds(
    lambda call, at, what, thread: (call, at, *what, thread),
    st.sampled_from(["", "c", "d\ud800"]), st.floats(0, 2e9), KIND_AND_DATA, st.sampled_from([MAIN, "agent"]),
)  # fmt: skip


@given(st.lists(FLIGHT, max_size=40))
def test_what_is_written_together_comes_back_one_by_one(events: list[Flying]) -> None:
    rows = [
        (sql_text(one.call), one.at, one.kind, one.data, "h", one.thread, one.parts) for one in group_events(events)
    ]
    back = [(one.call, one.at, one.kind, one.data, one.thread) for one in decode_events(rows)]
    assert back == [(call, at, kind, _as_kept(kind, data), thread) for call, at, kind, data, thread in events]


def _as_kept(kind: str, data: str | bytes) -> str | bytes:
    return sql_text(data) if isinstance(data, str) and kind == "heard" else data


def test_pieces_of_an_answer_that_are_written_together_take_one_row(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    pieces = [b"data: %d \xff\n\n" % n for n in range(1000)]
    with writing(path, session) as writer:
        for n, piece in enumerate(pieces):
            writer.put(InFlight("c", float(n), "heard", piece))
        assert writer.wait(10)
        with closing(connect(path, readonly=True)) as conn:
            (rows, joined) = conn.execute("SELECT count(*), group_concat(hex(data), '') FROM events").fetchone()
        assert rows <= 3 and bytes.fromhex(joined) == b"".join(pieces)
        assert [(one.at, one.data) for one in pending_events(path, "live-1")] == [
            (float(n), p) for n, p in enumerate(pieces)
        ]


def test_who_waits_waits_for_no_gathering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.store.writer.GATHER_S", 3600.0)
    with writing(tmp_path / "s.db", begun()) as writer:
        for n in range(3):
            ticket = writer.put(InFlight("c", float(n), "heard", b"x"))
            assert writer.wait(60, ticket)


def test_it_is_in_the_file_within_50_ms(tmp_path: Path) -> None:
    session = begun()
    took = []
    with writing(tmp_path / "s.db", session) as writer:
        assert writer.wait(5)
        for n in range(10):
            start = time.perf_counter()
            ticket = writer.put(InFlight("c", float(n), "heard", b"x" * 100))
            while writer.acked < ticket and time.perf_counter() < start + 5:
                time.sleep(0.0005)  # whoever waits has it written at once
            took.append(time.perf_counter() - start)
    assert sorted(took)[5] < 0.06, took


def test_another_process_holds_the_lock_for_a_while(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    with writing(path, session) as writer:
        assert writer.wait(5)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ticket = writer.put(InFlight("c", 1.0, "said", "x"))
        assert not writer.wait(0.3, ticket)
        other.execute("COMMIT")
        other.close()
        assert writer.wait(5, ticket)


def test_two_sessions_on_one_database(tmp_path: Path) -> None:
    path, one, two = tmp_path / "s.db", begun("live-1"), begun("live-2")
    with writing(path, one) as first, writing(path, two) as second:
        for seen, tip in grow(one, [(0, 1, 1, MAIN, False)] * 5):
            put(first, one, seen, tip)
        for seen, tip in grow(two, [(0, 2, 1, MAIN, False)] * 5):
            put(second, two, seen, tip)
        assert first.wait(10) and second.wait(10)
    with Store.open(path) as store:
        assert same(store.load("live-1"), one) and same(store.load("live-2"), two)


def test_a_database_from_the_future_is_said_and_left_alone(tmp_path: Path) -> None:
    path, session, told = tmp_path / "s.db", begun(), threading.Event()
    Store.open(path).close()
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA user_version=99")
    conn.close()
    before = path.read_bytes()
    with writing(path, session, changed=told.set) as writer:
        assert told.wait(5)
        assert writer.trouble is not None and "schema 99" in str(writer.trouble)
        assert writer.pending == 1
    assert path.read_bytes() == before


def test_a_fault_of_ours_is_said_and_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, session, told = tmp_path / "s.db", begun(), threading.Event()
    broken = [True]

    def price(call: Call) -> None:
        if broken[0]:
            raise KeyError("no such thing")

    monkeypatch.setattr("ctxtui.store.writer._RETRY_S", 0.01)
    with writing(path, session, price=price, changed=told.set) as writer:
        for seen, tip in grow(session, [(0, 1, 1, MAIN, False)]):
            put(writer, session, seen, tip)
        assert told.wait(5) and "KeyError" in str(writer.trouble)
        broken[0] = False
        assert writer.wait(5) and writer.trouble is None
    with Store.open(path) as store:
        assert same(store.load("live-1"), session)


class Failing(sqlite3.Connection):
    """A connection that fails at random, as a full or failing disk does."""

    chance = random.Random(0)
    share = 0.0
    failures = 0
    _SAID = ("database or disk is full", "disk I/O error", "database is locked", "attempt to write a readonly database")

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if Failing.chance.random() < Failing.share and not sql.startswith(("ROLLBACK", "PRAGMA")):
            Failing.failures += 1
            raise sqlite3.OperationalError(Failing.chance.choice(self._SAID))
        return super().execute(sql, *rest)


def failing(path: Path) -> sqlite3.Connection:
    connect(path).close()
    conn = sqlite3.connect(path, isolation_level=None, factory=Failing, timeout=10)
    sqlite3.Connection.execute(conn, "PRAGMA foreign_keys=ON")
    return conn


def faults(path: Path, seed: int, wanted: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Write a session under `wanted` injected faults; in the end all of it must be there, once. How many there were."""
    monkeypatch.setattr("ctxtui.store.writer._RETRY_S", 0.001)
    monkeypatch.setattr("ctxtui.store.writer.GATHER_S", 0.001)
    Failing.chance, Failing.share, Failing.failures = random.Random(seed), 0.2, 0
    session = begun()
    with writing(path, session, open_=failing) as writer:
        plan = [(Failing.chance.randrange(30), 2, 1, MAIN, Failing.chance.random() < 0.3) for _ in range(wanted)]
        for number, (seen, tip) in enumerate(grow(session, plan)):
            if Failing.failures >= wanted:
                break
            for piece in range(3):
                writer.put(InFlight(seen.call.id, 1.0, "heard", f"{number}.{piece}"))
            put(writer, session, seen, tip)
            if number % 5 == 0:
                time.sleep(0.002)
        deadline = time.monotonic() + 120
        while writer.pending and time.monotonic() < deadline:
            if Failing.failures >= wanted:
                Failing.share = 0.0
            time.sleep(0.002)
        assert not writer.pending and writer.trouble is None
    with Store.open(path) as store:
        assert same(store.load("live-1"), session)
        assert pending_events(path, "live-1") == []
    return Failing.failures


def test_faults_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults(tmp_path / "s.db", 1, FAULTS, monkeypatch) >= FAULTS


def gone_on(path: Path) -> tuple[Session, Writer]:
    """A stored session as a process has it that goes on with it, and what that process writes with."""
    with Store.open(path) as store:
        session = store.load("live-1")
    writer = Writer(path, session.tree)
    writer.put(SessionResumed("live-1"))
    return session, writer


def say(session: Session, writer: Writer, name: str, number: int, id_: str) -> None:
    """One round more: a message and its answer."""
    tree = session.tree
    raw = tree.extend(session.threads[MAIN].tip, [item(f"{name} asks {number}")])
    answer = tree.extend(raw, [item(f"{name} hears {number}", "assistant")])
    seen = CallSeen(call(number, raw, answer, id=id_, started=time.time()))
    put(writer, session, seen, answer)


def contexts(session: Session) -> list[tuple[list[Item], list[Item], float | None]]:
    """What each call was sent and got, by when it was sent."""
    said = [
        (session.tree.items(c.sent_head), session.tree.items(c.response_head), c.started)
        for c in session.calls.values()
    ]
    return sorted(said, key=lambda one: one[2] or 0.0)


def speak(path: Path, name: str, rounds: int, both: Barrier) -> None:
    """A process of its own that goes on with the session, once `both` have opened it."""
    session, writer = gone_on(path)
    assert writer.wait(10)
    both.wait(30)
    for number in range(rounds):
        say(session, writer, name, number, f"{name}.{number}")
        writer.wait(10)
    assert writer.close(20)


@pytest.mark.parametrize("own_ids", [True, False])
def test_two_that_go_on_with_one_session_lose_nothing(tmp_path: Path, own_ids: bool) -> None:
    """In turn: each writes when the other has; where the provider names no call, both give theirs the same id."""
    path, base = tmp_path / "s.db", begun()
    with writing(path, base) as writer:
        say(base, writer, "base", 0, "base.0")
    (one, first), (two, second) = gone_on(path), gone_on(path)
    assert first.wait(5) and second.wait(5)
    for number in range(1, 6):
        for session, writer, name in ((one, first, "a"), (two, second, "b")):
            say(session, writer, name, number, f"{name if own_ids else 'live-1'}.{number}")
            assert writer.wait(5) and writer.trouble is None
    assert first.close() and second.close()
    with Store.open(path) as store:
        back, row = store.load("live-1"), store.session("live-1")
    assert contexts(back) == sorted(contexts(one) + contexts(two)[1:], key=lambda said: said[2] or 0.0)
    assert row.calls == 11 and sorted(back.order[MAIN]) == sorted(back.calls)
    assert back.tree.items(back.threads[MAIN].tip) == two.tree.items(two.threads[MAIN].tip)


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path, base = tmp_path / "s.db", begun()
    with writing(path, base) as writer:
        say(base, writer, "base", 0, "base.0")
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    both = [spawn.Process(target=speak, args=(path, name, 20, barrier)) for name in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
        assert process.exitcode == 0
    with Store.open(path) as store:
        back = store.load("live-1")
    assert len(back.calls) == 41
    for name in "ab":
        said = ["base asks 0", "base hears 0"]
        for number in range(20):
            said += [f"{name} asks {number}", f"{name} hears {number}"]
            held = back.tree.items(back.calls[f"{name}.{number}"].response_head)
            assert [one.block for one in held] == [block.text(words) for words in said]
