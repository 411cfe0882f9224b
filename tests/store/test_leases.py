"""Leases: one host for a session, known by its process; what was killed binds nobody; a copy has no hosts."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import threading
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlite_utils.db import Database

from ctxtui.core.errors import InUse
from ctxtui.core.session import MAIN, CallSeen, TipMoved
from ctxtui.core.tree import Tree
from ctxtui.store import host_process, leases
from ctxtui.store.host_process import begin_hosting, end_hosting, process_start
from ctxtui.store.rows import SourceInfo
from ctxtui.store.schema.connect import SCHEMA_VERSION, connect
from ctxtui.store.schema.database_file import APPLICATION_ID
from ctxtui.store.schema.migrations import LADDER
from ctxtui.store.sessions.in_flight import abandoned_events, pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, SessionResumed, Writer
from tests.store.test_writer import begun, call, gone_on, grow, item, put, say, writing

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A database with one session, `live-1`, that nobody hosts."""
    path, base = tmp_path / "s.db", begun()
    with writing(path, base) as writer:
        say(base, writer, "base", 0, "base.0")
    return path


def host_until_killed(path: Path, pipe: Connection) -> None:
    """A process that goes on with the session and waits."""
    leases.claim(path, "live-1", mine := begin_hosting(time.time()))
    writer = Writer(path, Tree(), host=mine)
    writer.put(SessionResumed("live-1"))
    writer.put(InFlight("", 1.0, "said", "hello"))
    assert writer.wait(10)
    pipe.send(os.getpid())
    time.sleep(60)


def hosted_apart(path: Path) -> multiprocessing.process.BaseProcess:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=host_until_killed, args=(path, theirs), daemon=True)
    process.start()
    assert ours.poll(30) and ours.recv() == process.pid
    return process


def test_a_second_host_is_told_who_has_it_until_that_was_killed(stored: Path) -> None:
    other = hosted_apart(stored)
    mine = begin_hosting(time.time())
    with pytest.raises(InUse) as told:
        leases.claim(stored, "live-1", mine)
    assert (told.value.pid, told.value.session) == (other.pid, "live-1")
    assert f"live-1 is open in process {other.pid} since " in str(told.value)
    assert "`ctxtui chat --continue live-1@N` makes a branch after call N" in str(told.value)
    assert time.time() - told.value.since < 60
    assert abandoned_events(stored, "live-1", mine) == [], "what streams elsewhere is nobody else's"
    assert other.pid is not None
    os.kill(other.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while process_start(other.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    # Not waited for yet: a zombie hosts nothing.
    leases.claim(stored, "live-1", mine)
    assert [event.data for event in abandoned_events(stored, "live-1", mine)] == ["hello"], "what it left is ours now"
    other.join()
    leases.release(stored, mine)
    end_hosting(mine)
    assert leases.host_of(stored, "live-1") is None


def test_a_number_that_came_again_is_no_host(stored: Path) -> None:
    """The number of a process that runs, which began at another time than the host did; another boot's numbers."""
    parent = os.getppid()
    alive = replace(begin_hosting(time.time()), pid=parent, born=process_start(parent))
    assert alive.is_alive(time.time())
    assert not replace(alive, born="1").is_alive(time.time())
    assert not replace(alive, pid=(1 << 22) + 5).is_alive(time.time())
    elsewhere = replace(alive, machine="another boot/pid:[1]")
    assert elsewhere.is_alive(alive.beat + host_process.MAX_SILENCE_S - 1)
    assert not elsewhere.is_alive(alive.beat + host_process.MAX_SILENCE_S + 1)
    assert "another machine or container" in elsewhere.description


def test_without_proc_the_start_is_asked_of_ps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shutil.which("ps") is None:
        pytest.skip("there is no ps here")
    monkeypatch.setattr(host_process, "PROC", tmp_path / "none")
    assert process_start(os.getpid()) and process_start(os.getpid()) == process_start(os.getpid())
    assert process_start((1 << 22) + 5) == ""


def test_a_writer_hosts_from_its_first_commit_to_its_end(tmp_path: Path) -> None:
    path, session = tmp_path / "s.db", begun()
    with writing(path, session) as writer:
        assert writer.wait(5)
        host = leases.host_of(path, "live-1")
        assert host is not None and host.token == writer.host.token and host.pid == os.getpid()
        assert f"this program, process {os.getpid()}" in host.description
    assert leases.host_of(path, "live-1") is None


def test_a_host_that_rests_says_that_it_is_there(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.store.writer.HEARTBEAT_S", 0.05)
    session, writer = gone_on(stored)
    assert writer.wait(5)
    first = leases.host_of(stored, "live-1")
    deadline = time.monotonic() + 10
    while (now := leases.host_of(stored, "live-1")) == first and time.monotonic() < deadline:
        time.sleep(0.02)
    assert first is not None and now is not None and now.beat > first.beat and now.since == first.since
    assert writer.trouble is None
    say(session, writer, "a", 1, "a.1")
    assert writer.close()


def lease_rows(path: Path) -> list[tuple[str]]:
    with closing(connect(path, readonly=True)) as conn:
        return conn.execute("SELECT token FROM leases").fetchall()


def test_a_host_that_rests_says_so_again_after_a_heartbeat_that_could_not_be_written(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was silent for good, and another container took the session over after a minute."""
    monkeypatch.setattr("ctxtui.store.writer.HEARTBEAT_S", 0.02)
    _, writer = gone_on(stored)
    assert writer.wait(5)
    beats, failed = [0], threading.Event()
    write_heartbeat = leases.write_heartbeat

    def fail_once(conn: sqlite3.Connection, session_id: str, host: host_process.HostProcess) -> None:
        beats[0] += 1
        if beats[0] == 1:
            failed.set()
            raise sqlite3.OperationalError("database is locked")
        write_heartbeat(conn, session_id, host)

    monkeypatch.setattr("ctxtui.store.leases.write_heartbeat", fail_once)
    assert failed.wait(5)
    deadline = time.monotonic() + 5
    while beats[0] < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert beats[0] >= 4 and writer.trouble is None
    assert writer.close() and lease_rows(stored) == []


def test_a_writer_that_could_not_write_removes_its_lease_in_the_end(stored: Path) -> None:
    """The program goes on after the chat: other processes took it for the host until it ended."""
    leases.claim(stored, "live-1", mine := begin_hosting(time.time()))
    broken = threading.Event()

    def price(call: Any) -> None:
        broken.set()
        raise KeyError("a fault")

    with Store.open(stored) as store:
        session = store.load("live-1")
    writer = Writer(stored, session.tree, host=mine, price=price)
    writer.put(SessionResumed("live-1"))
    assert writer.wait(5) and lease_rows(stored) == [(mine.token,)]
    say(session, writer, "a", 1, "a.1")
    assert broken.wait(5) and not writer.close()
    assert lease_rows(stored) == []


def test_a_host_whose_end_could_not_be_written_binds_nobody(stored: Path) -> None:
    """The lease stays in the file of a process that goes on: it knows itself that the host has ended."""
    mine = begin_hosting(time.time())
    leases.claim(stored, "live-1", mine)
    end_hosting(mine)
    leases.claim(stored, "live-1", begin_hosting(time.time()))


def test_a_copy_of_the_database_has_no_hosts(stored: Path, tmp_path: Path) -> None:
    session, writer = gone_on(stored)
    assert writer.wait(5)
    with Store.open(stored) as store:
        copy = store.backup(tmp_path / "copy.db")
    assert leases.host_of(stored, "live-1") is not None
    assert leases.host_of(copy, "live-1") is None
    with Store.open(copy) as store:
        store.vacuum()
        assert store.delete("live-1") == "live-1"
    assert session and writer.close()


def test_a_hosted_session_is_not_deleted_pruned_imported_over_or_compacted(stored: Path) -> None:
    session, writer = gone_on(stored)
    say(session, writer, "a", 1, "a.1")
    assert writer.wait(5)
    grown = begun()
    for more in ("base.0", "a.1", "further"):
        tip = grown.tree.extend(grown.threads[MAIN].tip, [item(more)])
        grown.fold([CallSeen(call(1, tip, tip, id=more)), TipMoved(MAIN, tip)])
    late = time.time() + 1000
    with Store.open(stored) as store:
        for refused in (
            lambda: store.delete("live-1"),
            store.vacuum,
            lambda: store.import_session(grown, SourceInfo(format="ctxtui")),
        ):
            with pytest.raises(InUse) as told:
                refused()
            assert told.value.pid == os.getpid() and "end it there first" in str(told.value)
        assert store.older_sessions(0, late) == store.prune(0, late) == []
        (why,) = store.unprunable_sessions(0, late)
        assert why.session == "live-1"
        assert store.rename("live-1", "mine") and store.archive("live-1"), "what is beside the contexts may change"
    say(session, writer, "a", 2, "a.2")
    assert writer.close() and writer.trouble is None
    with Store.open(stored) as store:
        assert list(store.load("live-1").calls) == ["base.0", "a.1", "a.2"]
        assert store.prune(0, late) == ["live-1"]
        store.vacuum()


def test_the_writer_begins_again_after_a_commit_whose_answer_was_lost(tmp_path: Path) -> None:
    """The session's rows are there, and the writer does not know: its own lease does not keep it out."""
    path, session = tmp_path / "s.db", begun()
    Store.open(path).close()
    lost = [True]

    class Deaf(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            done = super().execute(sql, *rest)  # type: ignore[arg-type]
            if sql == "COMMIT" and lost[0] and super().execute("SELECT count(*) FROM sessions").fetchone()[0]:
                lost[0] = False
                raise sqlite3.OperationalError("disk I/O error")
            return done

    def deaf(place: Path) -> sqlite3.Connection:
        conn = sqlite3.connect(place, isolation_level=None, factory=Deaf)
        conn.execute("PRAGMA foreign_keys=ON")
        return conn

    with writing(path, session, open_=deaf) as writer:
        for seen, tip in grow(session, [(0, 1, 1, MAIN, False)]):
            put(writer, session, seen, tip)
        assert writer.wait(10) and not lost[0]
    with Store.open(path) as store:
        assert list(store.load("live-1").calls) == ["msg_0"]


def test_two_writers_leave_each_other_what_is_in_flight(stored: Path) -> None:
    (one, first), (two, second) = gone_on(stored), gone_on(stored)
    for name, writer in (("a", first), ("b", second)):
        writer.put(InFlight("", 1.0, "said", f"{name} asks"))
        writer.put(InFlight("", 1.0, "draft", f"{name} drafts"))
        assert writer.wait(5)
    say(one, first, "a", 1, "a.1")
    assert first.wait(5)
    left = [(event.kind, event.data) for event in pending_events(stored, "live-1")]
    assert left == [("draft", "a drafts"), ("said", "b asks"), ("draft", "b drafts")]
    assert two and first.close() and second.close()


def test_what_an_older_ctxtui_left_in_flight_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        LADDER.apply(Database(conn, execute_plugins=False), stop_before="m007_leases")
        conn.execute("PRAGMA user_version=6")
        conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
        conn.execute(
            "INSERT INTO sessions (id, imported, changed, recorded_id, title, source, cwd, client, version, window,"
            " model, calls, threads) VALUES ('x', 0, 0, '', '', '', '', '', '', 0, '', 0, 0)"
        )
        conn.execute("INSERT INTO events (session, call, at, kind, data) VALUES (1, '', 0, 'said', 'hi')")
    with Store.open(path) as store:
        assert store.info().schema_version == SCHEMA_VERSION
    mine = begin_hosting(time.time())
    leases.claim(path, "x", mine)
    assert [event.data for event in abandoned_events(path, "x", mine)] == ["hi"]
    end_hosting(mine)


def test_ps_gives_the_same_start_in_every_time_zone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shutil.which("ps") is None:
        pytest.skip("there is no ps here")
    monkeypatch.setattr(host_process, "PROC", tmp_path / "none")
    parent, starts = os.getppid(), set()
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        starts.add(process_start(parent))
    assert len(starts) == 1 and starts != {""}


def test_a_host_whose_start_is_not_given_lives_while_its_process_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = (1 << 22) + 5
    unknown = replace(begin_hosting(time.time()), pid=os.getppid(), born="unknown")
    assert unknown.is_alive(time.time()) and not replace(unknown, pid=gone).is_alive(time.time())
    monkeypatch.setattr(host_process, "PROC", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    host = replace(begin_hosting(time.time()), pid=os.getppid(), born="Mon Nov 30 09:12:01 2026")
    assert host.is_alive(time.time()) and not replace(host, pid=gone).is_alive(time.time()), "ps is not found"
