"""One file that may grow: its appended bytes, and whether it still is the file it was. Only ever opened to read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

from ctxtui.core.errors import NotFound, Unreadable

SLICE: Final = 1 << 18
"""Bytes read at once: what is read, cut into lines and parsed stays in a processor's own cache meanwhile."""

_PROBE: Final = 64
_TICK_NS: Final = 50_000_000
"""File times move in steps of up to a few milliseconds: two writes within one step leave one time."""


class FileChange(Enum):
    """What became of a file since it was last read."""

    NONE = "none"
    GREW = "grew"
    REWRITTEN = "rewritten"
    GONE = "gone"


class Tail:
    """Reads a file from its beginning and then only what is appended.

    `offset` is the number of bytes read so far, `bytes_read` the same over the file's whole life. To see that the
    earlier bytes are still there it reads some again: 64 bytes at the start, before the offset, and at each power of
    two between.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        self.offset = 0
        self.bytes_read = 0
        self._id: tuple[int, int] | None = None
        self._mtime_ns = 0
        self._settled = False
        self._probes: dict[int, bytes] = {}
        self._last = b""

    def look(self) -> FileChange:
        """What became of the file, from its status and, where that changed, from the probes."""
        try:
            now = os.stat(self._name)
        except (FileNotFoundError, NotADirectoryError):
            return FileChange.GONE
        if self._id is None:
            return FileChange.GREW
        if (now.st_dev, now.st_ino) != self._id or now.st_size < self.offset:
            return FileChange.REWRITTEN
        same_size = now.st_size == self.offset
        if same_size and now.st_mtime_ns == self._mtime_ns and self._settled:
            return FileChange.NONE
        if same_size and now.st_mtime_ns != self._mtime_ns:
            # As long as before, but written to: the probes might miss a change in the middle.
            return FileChange.REWRITTEN
        return self._verified(FileChange.NONE if same_size else FileChange.GREW)

    def _verified(self, change: FileChange) -> FileChange:
        with _opened(self.path) as fd:
            for at, was in [*self._probes.items(), (self.offset - len(self._last), self._last)]:
                if os.pread(fd, len(was), at) != was:
                    return FileChange.REWRITTEN
        self._settled = True
        return change

    def slices(self) -> Iterator[bytes]:
        """What was appended since the last reading, in pieces of at most `SLICE` bytes.

        Raises `NotFound` or `Unreadable`.
        """
        with _opened(self.path) as fd:
            now = os.fstat(fd)
            self._id = (now.st_dev, now.st_ino)
            os.lseek(fd, self.offset, os.SEEK_SET)
            while True:
                data = _read(fd, self.path)
                if data:
                    self._took(data)
                    yield data
                    continue
                now = os.fstat(fd)
                if now.st_size <= self.offset:
                    break
            self._mtime_ns = now.st_mtime_ns
            self._settled = is_settled(now.st_mtime_ns)

    def _took(self, data: bytes) -> None:
        start, end = self.offset, self.offset + len(data)
        if start == 0:
            self._probes[0] = data[:_PROBE]
        at = 1 << max(10, start.bit_length())
        while at + _PROBE <= end:
            self._probes[at] = data[at - start : at - start + _PROBE]
            at <<= 1
        self._last = (self._last + data[-_PROBE:])[-_PROBE:]
        self.offset = end
        self.bytes_read += len(data)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def _read(fd: int, path: Path) -> bytes:
    try:
        return os.read(fd, SLICE)
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> NotFound | Unreadable:
    """`error` as what a person can act on."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(f"no such file: {path}", way_out="`ctxtui sessions` lists what can be opened")
    if isinstance(error, PermissionError):
        return Unreadable(f"no permission to read {path}", way_out=f"see `ls -l {path}`")
    return Unreadable(f"cannot be read: {error.strerror or error}", place=str(path))


def is_stream(path: Path) -> bool:
    """Whether `path` is a pipe or device, which can be read once and has no size."""
    mode = os.stat(path).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


FileStamp = tuple[int, int, int]
GONE: Final[FileStamp] = (0, 0, 0)
"""The stamp of a file that is not there."""


def stamp_of(path: Path) -> FileStamp:
    """What tells one state of a file from another."""
    try:
        now = os.stat(path)
    except OSError:
        return GONE
    return now.st_ino, now.st_size, now.st_mtime_ns


def time_of(folder: str) -> int:
    """When a folder last changed, in nanoseconds; 0 where it is not there."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def is_settled(time_ns: int) -> bool:
    """Whether what comes now gives another time than `time_ns`."""
    return time.time_ns() - time_ns > _TICK_NS


def beginning(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def entries_of(folder: str | Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing where it may not be listed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether `entry` is an ordinary file: a link that leads round in a circle is none, nor is a pipe."""
    try:
        return entry.is_file()
    except OSError:
        return False
