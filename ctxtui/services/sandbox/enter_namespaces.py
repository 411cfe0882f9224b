"""Set up new namespaces made by ``unshare``, for machines without bubblewrap.

It takes the bubblewrap options of `View.options`, and ``--unshare-net``. It builds a new root, drops every privilege,
and replaces itself with the program. It imports nothing of ctxtui.

    python -I -S enter_namespaces.py OPTIONS -- PROGRAM [ARGUMENT ...]

If confinement fails, it exits with `REFUSED` and starts nothing; a program that cannot be started gives 127.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys

REFUSED = 125
"""The code with which ``env`` and ``timeout`` report their own failure, too."""
# Names and values of the kernel.
_MS_BIND, _MNT_DETACH, _MS_REC = 0x1000, 2, 0x4000
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD = 442, 0x8000, -100
"""``_MOUNT_SETATTR`` is the system call's number (Linux 5.12)."""
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, _PR_SET_NO_NEW_PRIVS = 24, 47, 4, 38
_CAPABILITY_VERSION_3 = 0x20080522
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_OLD, _NEW = "/old", "/new"
"""The mount points of the machine's root and the new one."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
                 "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)


def _check_result(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    result = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode() or None, flags, data.encode() or None)
    _check_result(result, f"mount on {target.removeprefix(_NEW)}")


def _restrict(path: str, attributes: int, *, below: bool = True) -> None:
    """Set attributes of the mount at `path`, and of those `below` it."""
    packed = struct.pack("QQQQ", attributes, 0, 0, 0)
    done = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE if below else 0, packed, len(packed)
    )
    _check_result(done, f"mount_setattr of {path.removeprefix(_NEW)}")


def _pivot(new: str, old: str) -> None:
    _check_result(_libc.pivot_root(new.encode(), old.encode()), "pivot_root")


def _bind(source: str, target: str, attributes: int) -> None:
    """Mount `source` of the machine at `target` of the new root."""
    source, target = _OLD + source, _NEW + target
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    _mount(source, target, flags=_MS_BIND | _MS_REC)
    _restrict(target, attributes)


def _mount_fresh(target: str) -> None:
    os.makedirs(_NEW + target, exist_ok=True)
    _mount("tmpfs", _NEW + target, "tmpfs", data="mode=0755")
    _restrict(_NEW + target, _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV)


def _link(text: str, target: str) -> None:
    os.makedirs(os.path.dirname(_NEW + target), exist_ok=True)
    os.symlink(text, _NEW + target)


def _make_devices(target: str) -> None:
    _mount_fresh(target)
    for name in _DEVICES:
        _bind(f"{target}/{name}", f"{target}/{name}", _MOUNT_ATTR_NOSUID)
    for name, text in _DEVICE_LINKS.items():
        _link(text, f"{target}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{_NEW}{target}/{name}")
    _mount("devpts", f"{_NEW}{target}/pts", "devpts", data="newinstance,ptmxmode=0666,mode=620")


def _apply(options: list[str]) -> None:
    rest = iter(options)
    for option in rest:
        if option.removesuffix("-try") in ("--bind", "--ro-bind"):
            source, target = next(rest), next(rest)
            if not option.endswith("-try") or os.path.exists(_OLD + source):
                only = _MOUNT_ATTR_RDONLY if option.startswith("--ro") else 0
                _bind(source, target, _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV | only)
        elif option == "--symlink":
            _link(next(rest), next(rest))
        elif option == "--tmpfs":
            _mount_fresh(next(rest))
        elif option == "--dev":
            _make_devices(next(rest))
        elif option == "--proc":
            # ``unshare --mount-proc`` has mounted the new process namespace's ``/proc``.
            target = next(rest)
            _bind(target, target, _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV)
        elif option == "--remount-ro":
            _restrict(_NEW + next(rest), _MOUNT_ATTR_RDONLY, below=False)
        elif option == "--unshare-net":
            _raise_loopback()
        else:
            raise OSError(0, f"no such option: {option}")


def _confine(options: list[str], folder: str) -> None:
    """Build the new root next to the machine's, enter it, and unmount the machine's."""
    _mount("tmpfs", "/tmp", "tmpfs")
    for place in (_OLD, _NEW):
        os.mkdir(f"/tmp{place}")
    _pivot("/tmp", f"/tmp{_OLD}")
    os.chdir("/")
    _mount("tmpfs", _NEW, "tmpfs", data="mode=0755")
    _apply(options)
    os.chdir(_NEW)
    _pivot(".", ".")
    _check_result(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir(folder)


def _raise_loopback() -> None:
    """Bring up the loopback interface of the new network; it is down at first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as interface:
        name = b"lo".ljust(16, b"\0")
        flags = struct.unpack_from("<h", fcntl.ioctl(interface, _SIOCGIFFLAGS, name + bytes(16)), 16)[0]
        fcntl.ioctl(interface, _SIOCSIFFLAGS, struct.pack("<16sh14x", name, flags | _IFF_UP))


def _drop_privileges() -> None:
    """Drop all privileges for good, so that the mounts cannot be changed."""
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            # EINVAL: the kernel has no further capability.
            _check_result(ctypes.get_errno() != errno.EINVAL, "bounding set")
            break
    _check_result(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient capabilities")
    header, none = struct.pack("II", _CAPABILITY_VERSION_3, 0), bytes(24)
    _check_result(_libc.capset(ctypes.create_string_buffer(header), ctypes.create_string_buffer(none)), "capabilities")
    _check_result(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


def main() -> None:
    separator = sys.argv.index("--")
    options, argv = sys.argv[1:separator], sys.argv[separator + 1 :]
    try:
        folder = os.getcwd()
        _confine(options, folder)
        _drop_privileges()
    except (OSError, AttributeError) as error:
        sys.stderr.write(f"ctxtui: it cannot be confined: {getattr(error, 'strerror', None) or error}\n")
        sys.exit(REFUSED)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
