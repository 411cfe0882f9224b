"""The process that hosts a session, and whether it still runs."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
import time
import uuid
from pathlib import Path
from typing import Final

from msgspec import Struct

PROC: Final = Path("/proc")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATE, _STARTED = 0, 19
"""Indices of fields of ``/proc/PID/stat`` after the name (proc(5): 3, and 22: start in ticks since the boot)."""
MAX_SILENCE_S: Final = 60.0
"""Seconds without a heartbeat after which a host counts as dead, if its process is not visible from here."""

_UNKNOWN: Final = "unknown"
"""The start of a process that runs, if the system does not give it."""

_hosting: set[str] = set()
"""`HostProcess.token` of each active host of this process. Guarded by `_lock`."""
_lock = threading.Lock()


class HostProcess(Struct, frozen=True, kw_only=True):
    """One host of one session, identified by `token`.

    - `machine`: the boot of the machine and its pid namespace (a container has another).
    - `pid`, `born` (start time as the system spells it): identify the process there.
    - `since`, `beat`: start of hosting and last heartbeat, in Unix seconds.
    """

    token: str
    machine: str
    pid: int
    born: str
    since: float
    beat: float

    def is_alive(self, now: float) -> bool:
        """Whether it may still host at Unix time `now`.

        If the process is not visible from here, its heartbeat decides. If it is this process, it hosts until
        `end_hosting`.
        """
        if self.machine != this_machine():
            return abs(now - self.beat) < MAX_SILENCE_S
        if self.pid == os.getpid():
            with _lock:
                return self.token in _hosting
        start = process_start(self.pid)
        return start != "" and (start == self.born or _UNKNOWN in (start, self.born))

    @property
    def description(self) -> str:
        """The process and since when it hosts, for messages."""
        at = time.localtime(self.since)
        today = time.strftime("%Y-%m-%d", at) == time.strftime("%Y-%m-%d")
        since = time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", at)
        if self.machine != this_machine():
            return f"process {self.pid} of another machine or container since {since}"
        mine = "this program, process" if self.pid == os.getpid() else "process"
        return f"{mine} {self.pid} since {since}"


def begin_hosting(now: float) -> HostProcess:
    """Register this process as a host from Unix time `now` on, until `end_hosting`."""
    token, pid = uuid.uuid4().hex, os.getpid()
    with _lock:
        _hosting.add(token)
    return HostProcess(token=token, machine=this_machine(), pid=pid, born=process_start(pid), since=now, beat=now)


def end_hosting(host: HostProcess) -> None:
    """Unregister `host`, one of this process; the database is not touched."""
    with _lock:
        _hosting.discard(host.token)


def this_machine() -> str:
    """Identify this boot of this machine and this pid namespace.

    Returns the machine's network name if the system does not tell them.
    """
    try:
        return f"{_BOOT.read_text().strip()}/{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return platform.node()


def process_start(pid: int) -> str:
    """The start of process `pid` as the system spells it; "" if it does not run, or is a zombie."""
    if pid <= 0:
        return ""
    if not (PROC / "self").exists():
        return _process_start_by_ps(pid)
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return "" if fields[_STATE] in (b"Z", b"X") else fields[_STARTED].decode()
    except (OSError, IndexError):
        return ""


def _process_start_by_ps(pid: int) -> str:
    """Like `process_start`, for systems without ``/proc`` (macOS)."""
    try:
        command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        # Processes with other time zones and languages must read the same text.
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        output = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=False, env=environment
        ).stdout.split(maxsplit=1)
    except (OSError, subprocess.SubprocessError):
        output = []
    if output:
        return "" if output[0].startswith("Z") or len(output) < 2 else output[1].strip()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return _UNKNOWN  # another user's process
    return _UNKNOWN
