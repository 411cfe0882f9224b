"""The last step into new namespaces, which ``unshare`` has made: everything but one folder becomes unwritable, secrets
are hidden, every privilege is given up, and the program takes this one's place. It imports nothing of ctxtui.

    python -I -S inside.py PLAN PROGRAM [ARGUMENT ...]

PLAN is JSON: `root` (the folder), `fresh` (folders that are replaced by empty ones), `readable` (folders in those that
stay readable), `hidden` (files and folders that are not seen), `kept` (what is not written in the folder), `network`
(whether it is the machine's). What cannot be done ends it with `REFUSED`: nothing runs unconfined.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys

REFUSED = 125
_BIND, _RECURSIVE = 0x1000, 0x4000
_SET_MOUNTS, _ALL_BELOW, _HERE, _READ_ONLY = 442, 0x8000, -100, 1
"""``mount_setattr`` of Linux 5.12, ``AT_RECURSIVE``, ``AT_FDCWD``, ``MOUNT_ATTR_RDONLY``."""
_DROP_BOUND, _AMBIENT, _CLEAR, _NO_NEW = 24, 47, 4, 38
"""``PR_CAPBSET_DROP``, ``PR_CAP_AMBIENT`` with ``CLEAR_ALL``, ``PR_SET_NO_NEW_PRIVS``."""
_CAPABILITIES = 0x20080522
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1

_libc = ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    _done(_libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, None), f"mount on {target}")


def _writable(path: str, on: bool) -> None:
    """Whether what is mounted at `path` and below can be written."""
    attributes = struct.pack("QQQQ", 0 if on else _READ_ONLY, _READ_ONLY if on else 0, 0, 0)
    done = _libc.syscall(_SET_MOUNTS, _HERE, path.encode(), _ALL_BELOW, attributes, len(attributes))
    _done(done, f"mount_setattr of {path}")


def _confine(root: str, fresh: list[str], readable: list[str], hidden: list[str], kept: list[str]) -> None:
    # They may lie in what is covered: they are held open meanwhile. The root is last, for it may lie in another.
    folders = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in [*readable, root]}
    for path in hidden:
        if os.path.isdir(path):
            _mount("tmpfs", path, "tmpfs")
        elif os.path.exists(path):
            _mount("/dev/null", path, flags=_BIND)
    _writable("/", False)
    for path in fresh:
        if os.path.isdir(path):
            _mount("tmpfs", path, "tmpfs")
    for path, opened in folders.items():
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{opened}", path, flags=_BIND | _RECURSIVE)
        _writable(path, path == root)
        os.close(opened)
    for path in kept:
        if os.path.exists(path):
            _mount(path, path, flags=_BIND | _RECURSIVE)
            _writable(path, False)


def _loopback() -> None:
    """A network of its own has itself, and that is down at first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        name = b"lo".ljust(16, b"\0")
        flags = struct.unpack_from("<h", fcntl.ioctl(asked, _GET_FLAGS, name + bytes(16)), 16)[0]
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("<16sh14x", name, flags | _UP))


def _give_up() -> None:
    """No privilege is left, and none can be had: the mounts stay as they are."""
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, capability, 0, 0, 0):
            break
    _done(_libc.prctl(_AMBIENT, _CLEAR, 0, 0, 0), "ambient capabilities")
    header, none = struct.pack("II", _CAPABILITIES, 0), bytes(24)
    _done(_libc.capset(ctypes.create_string_buffer(header), ctypes.create_string_buffer(none)), "capabilities")
    _done(_libc.prctl(_NO_NEW, 1, 0, 0, 0), "no new privileges")


def main() -> None:
    """Confine this process, then become the program."""
    plan, argv = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        _confine(plan["root"], plan["fresh"], plan["readable"], plan["hidden"], plan["kept"])
        if not plan["network"]:
            _loopback()
        _give_up()
        os.chdir(plan["root"])
    except OSError as error:
        sys.stderr.write(f"ctxtui: it cannot be confined: {error.strerror or error}\n")
        sys.exit(REFUSED)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
