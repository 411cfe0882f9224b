"""Finds recordings that a running client owns, from ``/proc`` (Linux only).

A session that waits for its user may not be written to for hours, and is still live.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.config.clients import CLIENTS, KnownClient
from ctxtui.services.recordings.discover import FoundRecording, recording_at

PROC: Final = Path("/proc")
_CACHE_SECONDS: Final = 5
"""The greatest age of the list of processes."""
_RECORDING_SUFFIXES: Final = (".jsonl", ".json", ".md")
_START_FIELD: Final = 19
"""Index after the name in ``/proc/PID/stat`` of the start, in ticks since boot (proc(5), field 22)."""

_INTERPRETER: Final = re.compile(r"node(js)?|bun|deno|python[\d.]*")
_BY_COMMAND: Final = {command: client for client in reversed(CLIENTS) for command in client.commands}
_BY_PACKAGE: Final = [(package, client) for client in CLIENTS for package in client.packages]


class RunningClient(Struct, frozen=True):
    """A running client.

    `cwd` is its directory, `since` its start in Unix seconds, `files` those with a recording's suffix that it holds
    open, `client` its kind.
    """

    cwd: str
    since: float
    files: frozenset[str]
    client: KnownClient


def running_clients(proc: Path = PROC) -> tuple[RunningClient, ...]:
    """List the running clients. The list is at most five seconds old.

    Empty where ``/proc`` cannot be read.
    """
    return _cached_clients(proc, int(time.monotonic() // _CACHE_SECONDS))


@lru_cache(1)
def _cached_clients(proc: Path, _when: int) -> tuple[RunningClient, ...]:
    try:
        boot_time = time.time() - float((proc / "uptime").read_text().split()[0])
        numbers = [name for name in os.listdir(proc) if name.isdigit()]
    except (OSError, ValueError, IndexError):
        return ()
    return tuple(client for number in numbers for client in _read_client(proc, number, boot_time))


def _read_client(proc: Path, number: str, boot_time: float) -> Iterator[RunningClient]:
    try:
        # A machine has hundreds of processes and few clients: for the others only this file is read.
        with open(f"{proc}/{number}/cmdline", "rb", buffering=0) as file:
            words = file.read().split(b"\0", 2)[:2]
        client = _identify_client(words)
        if client is None:
            return
        process = proc / number
        ticks = (process / "stat").read_text().rpartition(")")[2].split()[_START_FIELD]
        since = boot_time + int(ticks) / os.sysconf("SC_CLK_TCK")
        links = (process / "fd" / name for name in os.listdir(process / "fd"))
        open_files = frozenset(name for link in links if (name := _link_target(link)).endswith(_RECORDING_SUFFIXES))
        yield RunningClient(os.readlink(process / "cwd"), since, open_files, client)
    except (OSError, ValueError, IndexError):
        return  # ended meanwhile, or another user's


def _identify_client(words: Sequence[bytes]) -> KnownClient | None:
    """The client whose program or package the first words of a command line name.

    The second word counts after an interpreter only: `vim claude-code/notes.md` is no client. None if they name none.
    """
    program, *rest = map(os.fsdecode, words)
    names = [program, *rest] if _INTERPRETER.fullmatch(program.rpartition("/")[2]) else [program]
    matches = [_BY_COMMAND[name] for word in names if (name := word.rpartition("/")[2]) in _BY_COMMAND]
    installed = [word for word in names if "node_modules/" in word]
    matches += [client for package, client in _BY_PACKAGE if any(package in word for word in installed)]
    return min(matches, key=CLIENTS.index, default=None)


def _link_target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def find_owned(found_recordings: Iterable[FoundRecording], running: Sequence[RunningClient]) -> frozenset[str]:
    """The files of `found_recordings` (newest first) that a running client owns.

    A client owns those of them that it holds open. If it holds none of them open, it owns the newest recording of its
    kind in its directory that was written since it started, unless a client that started later owns that.
    """
    recordings = list(found_recordings) if running else []
    open_files = {name for client in running for name in client.files}
    owned = {recording.file for recording in recordings if recording.file in open_files}
    # Each client has one session: a recording belongs to the client that started last before it was written.
    idle = [client for client in running if not client.files & owned]
    idle.sort(key=lambda client: -client.since)
    clients_by_place: dict[tuple[str, str, str], list[RunningClient]] = {}
    for recording in recordings:
        place = (recording.source, recording.folder, recording.cwd)
        if place not in clients_by_place:
            clients_by_place[place] = [client for client in idle if _runs_there(client, recording)]
        owner = next(
            (client for client in clients_by_place[place] if client in idle and client.since <= recording.mtime), None
        )
        if owner is not None and recording.file not in owned:
            idle.remove(owner)
            owned.add(recording.file)
    return frozenset(owned)


def _runs_there(client: RunningClient, recording: FoundRecording) -> bool:
    kind, cwd = client.client, Path(client.cwd)
    if recording.source and kind.source != recording.source:
        return False
    if recording.folder and kind.named_for(recording.folder, cwd):
        return True
    # Sessions of a worktree are listed with the repository, but run elsewhere.
    return recording.cwd == client.cwd and not kind.worktree_of(recording.folder, cwd)


def is_owned(path: Path, running: Sequence[RunningClient]) -> bool:
    """Whether a running client holds the recording `path` open, or owns it by `find_owned`.

    A client owns a file that is not open only if it has a folder for each project, named for its directory (Claude
    Code, pi), and the file is a ``.jsonl`` there, but no subagent's (``agent-*``).
    """
    if not running:
        return False
    path = path.absolute()
    if any(str(path) in client.files for client in running):
        return True
    siblings = [sibling for sibling in path.parent.glob("*.jsonl") if not sibling.name.startswith("agent-")]
    recordings = [recording for recording in map(recording_at, siblings) if recording is not None]
    named_recordings = [recording._replace(folder=path.parent.name) for recording in recordings]
    return str(path) in find_owned(sorted(named_recordings, key=lambda recording: -recording.mtime), running)
