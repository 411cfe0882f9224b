"""The database's size against the recording's, with and without the full-text index, and what packed bodies do to a
read of headers (goal G17)."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import session

BODIES, INDEXED = 0.45, 0.60
UNCHANGED = 1.05
"""What packing may cost a read that asks for no body: nothing, as exactly as it can be measured."""


def results(folder: Path, runs: int) -> list[Result]:
    """A session with messages of 1.2 KB and one with messages of 5 KB, each in a database of its own."""
    found = []
    for name, size in (("1.2 KB", 12_000_000), ("5 KB", 50_000_000)):
        found += _sizes(folder, session(folder, 10_000, size), name)
    return found


def _headers(path: Path) -> float:
    """Seconds of processor time to read of every block and call what a list shows of it, no body."""
    begun = time.process_time()
    with closing(sqlite3.connect(path)) as conn:
        blocks = conn.execute("SELECT key, kind, size FROM blocks").fetchall()
        calls = conn.execute("SELECT id, model, started, fresh, cache_read, output FROM calls ORDER BY key").fetchall()
    took = time.process_time() - begun
    assert blocks and calls
    return took


def _sizes(folder: Path, recording: Path, name: str) -> list[Result]:
    from ctxtui.analysis.content.search import VERSION, words_of
    from ctxtui.services.recordings.identity import source_info
    from ctxtui.services.recordings.open import load
    from ctxtui.store.fulltext import Unit
    from ctxtui.store.store import Store

    path, raw = folder / f"{recording.stem}.db", recording.stat().st_size
    readable = path.with_suffix(".plain.db")
    loaded = load(recording)
    with Store.open(path) as store:
        id_ = store.import_session(loaded.session, source_info(loaded))
        store.vacuum()
        bodies = path.stat().st_size
        store.backup(readable, plain=True)
        headers = ratio(lambda: _headers(path), lambda: _headers(readable), 9)
        store.texts.add(Unit(stored=id_), map(words_of, loaded.session.tree.blocks.values()), VERSION)
        store.texts.settle()
        store.vacuum()
    whole = path.stat().st_size
    path.unlink()
    readable.unlink()
    return [
        Result(
            "G17",
            f"headers of {name} messages read",
            "bodies not packed",
            headers[0],
            UNCHANGED,
            note=f"{headers[1] * 1e3:.1f} / {headers[2] * 1e3:.1f} ms",
        ),
        Result(
            "G17", f"database, messages of {name}", "the JSONL", bodies / raw, BODIES, note=f"{bodies / 1e6:.1f} MB"
        ),
        Result(
            "G17",
            f"database with index, messages of {name}",
            "the JSONL",
            whole / raw,
            INDEXED,
            note=f"{whole / 1e6:.1f} MB",
        ),
    ]
