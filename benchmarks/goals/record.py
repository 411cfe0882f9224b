"""Recording a live session: what an event costs its caller, how soon it is in the file, what a request costs us."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, percentile, ratio
from benchmarks.terminal import APPS, PYTHON
from ctxtui.agent.conversation import ConversationStart, begin
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.core.session import MAIN, Described, Session, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.store.writer import InFlight, SessionBegun, Writer

EVENTS = 20_000
PACE = 0.0005
"""Seconds between two events: 2,000 a second, five times what a fast model streams."""


def results(folder: Path, runs: int) -> list[Result]:
    """The caller's cost against a bare insert, seconds until an event is in the file, the cost of a large request."""
    pairs = [(_bare(folder / f"bare{n}.db"), _ours(folder / f"ours{n}.db")) for n in range(runs)]
    half = median(percentile(ours, 0.5) / percentile(bare, 0.5) for bare, ours in pairs)
    most = median(percentile(ours, 0.99) / percentile(bare, 0.99) for bare, ours in pairs)
    ours = [seconds for _, one in pairs for seconds in one]
    late = _lags(folder / "lags.db")
    share = _share(runs)
    gone = [_lost(folder / f"killed{n}.db", 0.4 + 0.013 * n) for n in range(max(5, runs))]
    batch = ratio(lambda: _sustained(folder), lambda: _executemany(folder), runs)
    note = f"p50 {percentile(ours, 0.5) * 1e6:.1f} us"
    return [
        Result("G12", "recording one event, caller's p50", "bare sqlite3 insert", half, 0.3, note=note),
        Result("G12", "recording one event, caller's p99", "bare sqlite3 insert", most, 1.0),
        Result("G12", "an event is in the file after, p99", "", percentile(late, 0.99) * 1e3, 50, "ms"),
        Result(
            "G12",
            "what a killed process had handed over and lost, worst",
            "",
            max(gone) * 1e3,
            50,
            "ms",
            f"{len(gone)} times SIGKILL, median {median(gone) * 1e3:.1f} ms",
        ),
        Result(
            "G13",
            "recording 20,000 events as fast as they come",
            "executemany of 1,000",
            batch[0],
            1 / 0.3,
            note=f"{EVENTS / batch[1] / 1e3:.0f}k / {EVENTS / batch[2] / 1e3:.0f}k events a second",
        ),
        Result(
            "G12", "our share of a call at 200k tokens", "", share * 1e3, 20, "ms", "the body made, and read as a path"
        ),
    ]


def _data(n: int) -> str:
    delta = {"type": "text_delta", "text": f"hello world {n}"}
    return json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})


def _bare(path: Path) -> list[float]:
    """Seconds that each of the inserts of a loop takes, committed one by one."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=NORMAL")
    conn.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, at REAL, kind TEXT, data TEXT)")
    took = []
    for n in range(EVENTS // 4):
        data = _data(n)
        start = time.perf_counter()
        conn.execute("INSERT INTO events (at, kind, data) VALUES (?, ?, ?)", (float(n), "heard", data))
        took.append(time.perf_counter() - start)
    conn.close()
    return took


def _writer(path: Path) -> Writer:
    session = Session(Tree()).fold([Described(id="bench", source="ctxtui"), ThreadSeen(MAIN)])
    writer = Writer(path, session.tree)
    writer.put(SessionBegun(session))
    writer.wait(10)
    return writer


def _ours(path: Path) -> list[float]:
    """Seconds that handing over takes, at the pace of a stream."""
    writer, took = _writer(path), []
    for n in range(EVENTS // 10):
        data = _data(n)
        start = time.perf_counter()
        writer.put(InFlight("call", float(n), "heard", data))
        took.append(time.perf_counter() - start)
        time.sleep(PACE)
    writer.close()
    return took


def _lags(path: Path) -> list[float]:
    """Seconds until an event is in the file for which nobody waits."""
    writer, lags = _writer(path), []
    for n in range(100):
        start = time.perf_counter()
        ticket = writer.put(InFlight("call", float(n), "heard", _data(n)))
        while writer.acked < ticket and time.perf_counter() < start + 5:
            time.sleep(PACE)
        lags.append(time.perf_counter() - start)
    writer.close()
    return lags


def _lost(path: Path, after: float) -> float:
    """Seconds from the last event in the file to the end of a process that recorded for `after` seconds."""
    command = [PYTHON, str(APPS / "record_until_killed.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        time.sleep(after)
        ended = time.time()
        child.kill()
    with closing(sqlite3.connect(path)) as conn:
        rows = conn.execute("SELECT at, parts FROM events").fetchall()
    last = max(json.loads(parts)[-1][0] if parts else at for at, parts in rows)
    assert isinstance(last, float) and ended - after - 1 < last
    return max(0.0, ended - last)


def _sustained(folder: Path) -> float:
    """Seconds until all events, handed over at once, are in the file."""
    path = folder / "sustained.db"
    path.unlink(missing_ok=True)
    data = [_data(n) for n in range(EVENTS)]
    writer, ticket = _writer(path), 0
    start = time.perf_counter()
    for n, one in enumerate(data):
        ticket = writer.put(InFlight("call", float(n), "heard", one))
    writer.wait(60, ticket)
    took = time.perf_counter() - start
    writer.close()
    return took


def _executemany(folder: Path) -> float:
    """The same in bare transactions of 1,000."""
    path = folder / "executemany.db"
    path.unlink(missing_ok=True)
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=NORMAL")
    conn.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, at REAL, kind TEXT, data TEXT)")
    rows = [(float(n), "heard", _data(n)) for n in range(EVENTS)]
    start = time.perf_counter()
    for first in range(0, EVENTS, 1000):
        conn.execute("BEGIN")
        conn.executemany("INSERT INTO events (at, kind, data) VALUES (?, ?, ?)", rows[first : first + 1000])
        conn.execute("COMMIT")
    took = time.perf_counter() - start
    conn.close()
    return took


def _share(runs: int) -> float:
    """Seconds from a user's message to the bytes of the request, with 200,000 tokens before it."""
    tools = [tool.definition() for tool in TOOLS]
    params = {"model": "claude-opus-5-5", "max_tokens": 1000, "stream": True}
    talk = begin(Tree(), ConversationStart("anthropic", params, tools, "You help."))
    words = "the quick brown fox jumps over the lazy dog and tells of it\n" * 60
    for n in range(250):
        talk.say(f"{n} {words}")
    took = []
    for n in range(max(5, runs)):
        start = time.perf_counter()
        talk.say(f"further {n}")
        body = talk.draft().body
        took.append(time.perf_counter() - start)
    assert len(body) > 800_000
    return median(took)
