"""The database's size against the recording's, with and without the full-text index (goal G17)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Result
from benchmarks.sessions import session

BODIES, INDEXED = 0.45, 0.60


def results(folder: Path, runs: int) -> list[Result]:
    """A session with messages of 1.2 KB and one with messages of 5 KB, each in a database of its own."""
    found = []
    for name, size in (("1.2 KB", 12_000_000), ("5 KB", 50_000_000)):
        found += _sizes(folder, session(folder, 10_000, size), name)
    return found


def _sizes(folder: Path, recording: Path, name: str) -> list[Result]:
    from ctxtui.analysis.content.search import VERSION, words_of
    from ctxtui.services.recordings.identity import source_info
    from ctxtui.services.recordings.open import load
    from ctxtui.store.fulltext import Unit
    from ctxtui.store.store import Store

    path, raw = folder / f"{recording.stem}.db", recording.stat().st_size
    loaded = load(recording)
    with Store.open(path) as store:
        id_ = store.import_session(loaded.session, source_info(loaded))
        store.vacuum()
        bodies = path.stat().st_size
        store.texts.add(Unit(stored=id_), map(words_of, loaded.session.tree.blocks.values()), VERSION)
        store.texts.settle()
        store.vacuum()
    whole = path.stat().st_size
    path.unlink()
    return [
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
