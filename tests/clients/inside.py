"""Runs in a network namespace of its own: brings loopback up, says so, holds the namespace until its input ends.

Then it ends every process that is in that namespace, and no other: nothing that a client started goes on.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
"""SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP of Linux."""


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        name = b"lo".ljust(16, b"\0")
        told = fcntl.ioctl(asked, _GET_FLAGS, name + bytes(16))
        flags = struct.unpack_from("<h", told, 16)[0]
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("<16sh14x", name, flags | _UP))


def others() -> list[int]:
    """The other processes of this namespace."""
    mine, found = os.readlink("/proc/self/ns/net"), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and os.readlink(folder / "ns" / "net") == mine:
                found.append(int(folder.name))
        except OSError:  # it has ended, or is another user's and so not of this namespace
            continue
    return found


def main() -> None:
    # ctrl+c in the terminal is pytest's: this process ends when pytest has ended what it began, or is gone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loopback_up()
    print("up", flush=True)
    sys.stdin.read()
    for number, wait in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + wait
        for pid in others():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        while others() and time.monotonic() < until:
            time.sleep(0.02)


if __name__ == "__main__":
    main()
