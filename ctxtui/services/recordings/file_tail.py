"""Reads the appended bytes of a file that may grow, and detects rewrites."""

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

SLICE_BYTES: Final = 1 << 18
"""Bytes read at once: few enough to stay in the processor's cache while they are parsed."""

_PROBE: Final = 64
"""Bytes of a place that are read again to detect a rewrite."""
_TICK_NS: Final = 50_000_000
"""Nanoseconds within which two writes may get the same file time, whose resolution is up to some milliseconds."""


class FileChange(Enum):
    """The change of a file since it was last read."""

    NONE = "none"
    GREW = "grew"
    REWRITTEN = "rewritten"
    GONE = "gone"


class FileTail:
    """Reads a file from its beginning, then only appended bytes.

    `offset` is the number of bytes read so far. To detect a rewrite it reads some bytes again: at the start, before the
    offset, and in between at powers of two.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        self.offset = 0
        self._id: tuple[int, int] | None = None
        self._mtime_ns = 0
        self._settled = False
        self._probes: dict[int, bytes] = {}
        self._last = b""

    def check(self) -> FileChange:
        """The change of the file since it was last read: by its status, then by the probes."""
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
            # The size is the same, but the file was written to: the probes might miss the change.
            return FileChange.REWRITTEN
        return self._check_probes(FileChange.NONE if same_size else FileChange.GREW)

    def _check_probes(self, change: FileChange) -> FileChange:
        with _open_file(self.path) as fd:
            for position, probe in [*self._probes.items(), (self.offset - len(self._last), self._last)]:
                if os.pread(fd, len(probe), position) != probe:
                    return FileChange.REWRITTEN
        self._settled = True
        return change

    def read_new(self) -> Iterator[bytes]:
        """Yield the bytes appended since the last read, in slices. Raises `NotFound`, `Unreadable`."""
        with _open_file(self.path) as fd:
            now = os.fstat(fd)
            self._id = (now.st_dev, now.st_ino)
            os.lseek(fd, self.offset, os.SEEK_SET)
            while True:
                data = _read_slice(fd, self.path)
                if data:
                    self._note_read(data)
                    yield data
                    continue
                now = os.fstat(fd)
                if now.st_size <= self.offset:
                    break
            self._mtime_ns = now.st_mtime_ns
            self._settled = is_settled(now.st_mtime_ns)

    def _note_read(self, data: bytes) -> None:
        start, end = self.offset, self.offset + len(data)
        if start == 0:
            self._probes[0] = data[:_PROBE]
        position = 1 << max(10, start.bit_length())
        while position + _PROBE <= end:
            self._probes[position] = data[position - start : position - start + _PROBE]
            position <<= 1
        self._last = (self._last + data[-_PROBE:])[-_PROBE:]
        self.offset = end


@contextmanager
def _open_file(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise read_error(path, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def _read_slice(fd: int, path: Path) -> bytes:
    try:
        return os.read(fd, SLICE_BYTES)
    except OSError as error:
        raise read_error(path, error) from error


def read_error(path: Path, error: OSError) -> NotFound | Unreadable:
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
"""Inode, size in bytes, and modification time in nanoseconds."""
GONE: Final[FileStamp] = (0, 0, 0)


def file_stamp(path: Path) -> FileStamp:
    """A value that changes with the file; `GONE` if there is none."""
    try:
        now = os.stat(path)
    except OSError:
        return GONE
    return now.st_ino, now.st_size, now.st_mtime_ns


def modification_time(folder: str) -> int:
    """The modification time of a file or folder in nanoseconds; 0 if it does not exist."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def is_settled(time_ns: int) -> bool:
    """Whether a change now would get a time other than `time_ns`."""
    return time.time_ns() - time_ns > _TICK_NS


def read_head(path: Path, size: int) -> bytes:
    """Read the first `size` bytes of a file; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def list_entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; empty if it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether `entry` is a regular file, not a pipe or a cyclic link."""
    try:
        return entry.is_file()
    except OSError:
        return False
