"""Which process hosts a session, and whether it still runs: its number alone does not say, since numbers come again."""

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
"""Fields of ``/proc/PID/stat`` behind the name: the state; the start, in ticks since the machine's (proc(5), 3 and
22)."""
SILENT: Final = 60.0
"""Seconds without a heartbeat after which a host is given up whose process cannot be looked at from here."""

_hosting: set[str] = set()
"""The hosts of this process that have not ended, by token. Guarded by `_lock`."""
_lock = threading.Lock()


class HostProcess(Struct, frozen=True, kw_only=True):
    """One host of one session. `token` names it, `machine` is the boot of the machine and the process's own numbering
    (a container has another), `pid` and `born` (as the system spells it) name the process there, `since` and `beat`
    are Unix seconds: when it began to host, and when it last said that it does."""

    token: str
    machine: str
    pid: int
    born: str
    since: float
    beat: float

    def lives(self, now: float) -> bool:
        """Whether it hosts at Unix time `now`. A process that cannot be looked at is known by its heartbeat."""
        if self.machine != this_machine():
            return abs(now - self.beat) < SILENT
        if self.pid == os.getpid() and self.born == born(self.pid):
            with _lock:
                return self.token in _hosting
        return born(self.pid) == self.born

    @property
    def where(self) -> str:
        """The process and since when, in words."""
        at = time.localtime(self.since)
        today = time.strftime("%Y-%m-%d", at) == time.strftime("%Y-%m-%d")
        since = time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", at)
        if self.machine != this_machine():
            return f"process {self.pid} of another machine or container since {since}"
        mine = "this program, process" if self.pid == os.getpid() else "process"
        return f"{mine} {self.pid} since {since}"


def hosting(now: float) -> HostProcess:
    """This process as a host that begins at Unix time `now`; `ended` says that it is over."""
    token, pid = uuid.uuid4().hex, os.getpid()
    with _lock:
        _hosting.add(token)
    return HostProcess(token=token, machine=this_machine(), pid=pid, born=born(pid), since=now, beat=now)


def ended(host: HostProcess) -> None:
    """`host`, one of this process, hosts no longer, whatever a database says that could not be written any more."""
    with _lock:
        _hosting.discard(host.token)


def this_machine() -> str:
    """This boot of this machine and this container's numbering of processes; the machine's name where the system does
    not tell."""
    try:
        return f"{_BOOT.read_text().strip()}/{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return platform.node()


def born(pid: int) -> str:
    """When the process `pid` began, as the system spells it; "" where there is none (one that was killed and not yet
    waited for is none)."""
    if pid <= 0:
        return ""
    if not (PROC / "self").exists():
        return _born_by_ps(pid)
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return "" if fields[_STATE] in (b"Z", b"X") else fields[_STARTED].decode()
    except (OSError, IndexError):
        return ""


def _born_by_ps(pid: int) -> str:
    """As `born`, where there is no ``/proc`` (macOS)."""
    try:
        asked = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=False).stdout.split(maxsplit=1)
    except (OSError, subprocess.SubprocessError):
        said = []
    if said:
        return "" if said[0].startswith("Z") or len(said) < 2 else said[1].strip()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "unknown"  # somebody else's
    return "unknown"
