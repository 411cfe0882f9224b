"""Which recordings a running client owns, where the system tells (Linux): a session that waits for its user is written
to by nobody for hours, and is not over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from ctxtui.services.config.projects import folder_name
from ctxtui.services.recordings.discover import CLAUDE_CODE, FoundRecording, seen_at

PROC: Final = Path("/proc")
_KEPT: Final = 5
"""Seconds for which a look at the processes is good."""
_CLIENTS: Final = frozenset({b"claude", b"codex"})
_PACKAGES: Final = (b"claude-code", b"openai/codex")
_STARTED: Final = 19
"""Field of ``/proc/PID/stat`` behind the name that holds the start, in ticks since the machine's (proc(5), 22)."""


@dataclass(frozen=True, slots=True)
class Client:
    """A running client: the directory that it runs in, when it began (Unix seconds), the recordings it holds open."""

    cwd: str
    since: float
    files: frozenset[str]


def clients(proc: Path = PROC) -> tuple[Client, ...]:
    """The clients that run now and may be looked into; none where the system does not tell."""
    return _clients(proc, int(time.monotonic() // _KEPT))


@lru_cache(1)
def _clients(proc: Path, _when: int) -> tuple[Client, ...]:
    try:
        born = time.time() - float((proc / "uptime").read_text().split()[0])
        numbers = [name for name in os.listdir(proc) if name.isdigit()]
    except (OSError, ValueError, IndexError):
        return ()
    return tuple(found for number in numbers for found in _client(proc / number, born))


def _client(process: Path, born: float) -> Iterator[Client]:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")[:3]
        if not _is_client(words):
            return
        ticks = (process / "stat").read_text().rpartition(")")[2].split()[_STARTED]
        since = born + int(ticks) / os.sysconf("SC_CLK_TCK")
        links = (process / "fd" / name for name in os.listdir(process / "fd"))
        held = frozenset(name for link in links if (name := _target(link)).endswith(".jsonl"))
        yield Client(os.readlink(process / "cwd"), since, held)
    except (OSError, ValueError, IndexError):
        return  # ended meanwhile, or somebody else's


def _is_client(words: list[bytes]) -> bool:
    return any(word.rpartition(b"/")[2] in _CLIENTS or any(name in word for name in _PACKAGES) for word in words[:2])


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def owned(found: Iterable[FoundRecording], running: Sequence[Client]) -> frozenset[str]:
    """The paths of those of `found` (newest first) that a running client owns: it holds the file open, or it is Claude
    Code, which does not, and the file is the newest of the client's directory and was written since it began."""
    held = {name for client in running for name in client.files}
    began: dict[str, list[float]] = {}
    for client in running:
        began.setdefault(folder_name(Path(client.cwd)), []).append(client.since)
    mine = set()
    for one in found if began else ():
        starts = began.get(one.project, []) if one.source == CLAUDE_CODE else []
        before = [since for since in starts if since <= one.mtime]
        if str(one.path) in held:
            mine.add(str(one.path))
        elif before:
            # The client that began last before the write: each has one session.
            starts.remove(max(before))
            mine.add(str(one.path))
    return frozenset(mine)


def is_owned(path: Path, running: Sequence[Client]) -> bool:
    """Whether a running client owns the recording `path`; see `owned`."""
    if not running:
        return False
    path = path.absolute()
    beside = [one for one in path.parent.glob("*.jsonl") if not one.name.startswith("agent-")]
    seen = [one for one in map(seen_at, beside) if one is not None]
    found = [replace(one, source=CLAUDE_CODE, project=path.parent.name) for one in seen]
    return str(path) in owned(sorted(found, key=lambda one: -one.mtime), running)
