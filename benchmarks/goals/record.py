"""Recording a live session: what an event costs its caller, and how soon it is in the file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, percentile
from ctxtui.core.session import MAIN, Described, Session, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.store.writer import InFlight, SessionBegun, Writer

EVENTS = 20_000
PACE = 0.0005
"""Seconds between two events: 2,000 a second, five times what a fast model streams."""


def results(folder: Path, runs: int) -> Iterator[Result]:
    """The caller's cost against a bare insert, and how soon an event is in the file."""
    pairs = [(_bare(folder / f"bare{n}.db"), _ours(folder / f"ours{n}.db")) for n in range(runs)]
    most = median(percentile(ours, 0.99) / percentile(bare, 0.99) for bare, ours in pairs)
    ours = [seconds for _, one in pairs for seconds in one]
    late = _lags(folder / "lags.db")
    note = f"p50 {percentile(ours, 0.5) * 1e6:.1f} us"
    yield Result("record", "recording one event, caller's p99", "bare sqlite3 insert", most, 1.0, note=note)
    yield Result("record", "an event is in the file after, p99", "", percentile(late, 0.99) * 1e3, 50, "ms")


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
