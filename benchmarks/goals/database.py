"""The database's size against the recording's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result
from benchmarks.sessions import session
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open import load
from ctxtui.store.store import Store


def results(folder: Path, runs: int) -> Iterator[Result]:
    """A session with messages of 1.2 KB and one with messages of 5 KB, each in a database of its own."""
    for name, size in (("1.2 KB", 12_000_000), ("5 KB", 50_000_000)):
        recording = session(folder, 10_000, size)
        path, raw = folder / f"{recording.stem}.db", recording.stat().st_size
        loaded = load(recording)
        with Store.open(path) as store:
            store.import_session(loaded.session, source_info(loaded))
            store.vacuum()
        held = path.stat().st_size
        path.unlink()
        note = f"{held / 1e6:.1f} / {raw / 1e6:.1f} MB"
        yield Result("database", f"database, messages of {name}", "the JSONL", held / raw, 0.5, note=note)
