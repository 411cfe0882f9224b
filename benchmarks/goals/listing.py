"""Finding 5,000 recordings against a plain walk: `os.scandir` and a status for every file, in turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import NO_LIMIT, Result, ratio

FILES = 5_000
TARGET = 2.0
_UUID = "0199a213-81c0-7800-8aa1-{:012x}"


def results(folder: Path, runs: int) -> list[Result]:
    """A home with half of the files Claude Code's, a third Codex's, the rest Gemini CLI's and pi's."""
    home = made(folder / "listing")
    return [
        _compared("find 5,000 recordings", lambda: found(home), home, runs),
        _compared("Home's first list of 5,000", lambda: listed(home), home, runs),
    ]


def _compared(name: str, ours: Callable[[], int], home: Path, runs: int) -> Result:
    value, our_seconds, floor_seconds = ratio(lambda: _timed(ours), lambda: _timed(lambda: walked(home)), max(runs, 15))
    target = TARGET if name.startswith("find") else NO_LIMIT
    note = f"{our_seconds * 1e3:.1f} ms, walk {floor_seconds * 1e3:.1f} ms"
    return Result("listing", name, "scandir + stat", value, target, note=note)


def _timed(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    count = work()
    took = time.perf_counter() - start
    assert count == FILES, count
    return took


def made(home: Path) -> Path:
    """The home folder, with files in the clients' own layouts."""
    for n in range(FILES):
        id_ = _UUID.format(n)
        if n % 6 < 3:
            path = home / f".claude/projects/-home-me-src-project-{n % 60}/{id_}.jsonl"
        elif n % 6 < 5:
            month, day = 1 + n % 12, 1 + n % 28
            path = (
                home / f".codex/sessions/2026/{month:02}/{day:02}/rollout-2026-{month:02}-{day:02}T09-00-00-{id_}.jsonl"
            )
        elif n % 12 == 5:
            path = home / f".gemini/tmp/project-{n % 40}/chats/session-2026-11-22T09-00-{n:08x}.jsonl"
        else:
            path = home / f".pi/agent/sessions/--home-me-src-project-{n % 40}--/2026-11-22T09-00-00-000Z_{id_}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    return home


def walked(home: Path) -> int:
    """The floor: the number of files below `home`, each asked for its status."""

    def walk(folder: str) -> int:
        count = 0
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    count += walk(entry.path)
                else:
                    entry.stat()
                    count += 1
        return count

    return walk(str(home))


def found(home: Path) -> int:
    """What `find` gives."""
    from ctxtui.services.recordings.discover import find

    return len(find(home, {"HOME": str(home)}))


def listed(home: Path) -> int:
    """What Home shows in its first frame, samples left out."""
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.library.library import SessionLibrary

    before = dict(os.environ)
    os.environ["HOME"] = str(home)
    try:
        return sum(one.group != "samples" for one in SessionLibrary(Settings(), home).glimpses())
    finally:
        os.environ.clear()
        os.environ.update(before)
