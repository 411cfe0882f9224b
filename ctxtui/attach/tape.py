"""The files that attached recordings are: opened for their owner alone, written line by line, whatever goes wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from ctxtui.attach.lines import RecordedBodies, line

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_PIECE: Final = 1 << 16
"""Bytes of lines that are written together at least."""
_NEWLINE: Final = 10


def file_name(session: str) -> str:
    """What the recording of `session` is called: after it, where its name can be a file's."""
    plain = session if _NAME.fullmatch(session) else f"session-{sha256(session.encode()).hexdigest()[:32]}"
    return f"{plain}.jsonl"


class Tape:
    """One recording. `head` gives its first line of this run. Lines wait until `flush` writes them together. What
    cannot be written is counted and told in the file as soon as that can be written again; `lost` are so many lines,
    `why` the last reason."""

    def __init__(self, path: Path, head: Callable[[], bytes]) -> None:
        self.path = path
        self.bodies = RecordedBodies()
        self.sent = RecordedBodies()
        """Those that left in place of the program's own."""
        self.lost = 0
        self.why = ""
        self.size = 0
        """Bytes that wait."""
        self._head = head
        self._file = -1
        self._begun = False
        """Whether the first line of this run is in the file."""
        self._cut = False
        """Whether the last line in the file has no end."""
        self._unsaid = 0
        self._lines: list[bytes] = []

    def add(self, data: bytes) -> None:
        """A whole line for the next `flush`."""
        self._lines.append(data)
        self.size += len(data)

    def flush(self) -> None:
        """Write what waits."""
        self.write(self.taken())

    def write(self, lines: list[bytes]) -> None:
        """Write lines that were `taken`."""
        if not lines:
            return
        left = len(lines)
        try:
            self._begin()
            for piece in _pieces(lines):
                for written in self._written(piece):
                    left -= written
        except OSError as error:
            self.lost += left
            self._unsaid += left
            self.why = error.strerror or str(error)
            self.forget_bodies()

    def drop(self) -> None:
        """Nobody knows what became of what waited: it is not written any more."""
        self.taken()
        self.forget_bodies()

    def close(self) -> None:
        """Nothing more comes for now."""
        self.flush()
        self.forget_bodies()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._begun = False

    def taken(self) -> list[bytes]:
        """The lines that wait; from now on whoever asked has them."""
        lines, self._lines, self.size = self._lines, [], 0
        return lines

    @property
    def kept(self) -> int:
        """Bytes of bodies that later ones are told by."""
        return self.bodies.size + self.sent.size

    def forget_bodies(self) -> None:
        """Later bodies must not be told by one that was lost; nor is memory kept for a file that is closed."""
        self.bodies, self.sent = RecordedBodies(), RecordedBodies()

    def _begin(self) -> None:
        """The file is open, and tells of what it lacks. Raises `OSError`."""
        if self._file < 0:
            self._open()
        if not self._begun:
            self._put(self._head())
            self._begun = True
        if self._unsaid:
            self._put(line(lost=self._unsaid, why=self.why))
            self._unsaid = 0

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        size = os.fstat(self._file).st_size
        if size:
            # A line that a killed process left cut is ended.
            with self.path.open("rb") as file:
                file.seek(size - 1)
                self._cut = file.read(1)[0] != _NEWLINE

    def _put(self, data: bytes) -> None:
        for _ in self._written(data):
            pass

    def _written(self, data: bytes) -> Iterator[int]:
        """Write whole lines; how many of them each step has written. Raises `OSError`."""
        if self._cut:
            os.write(self._file, b"\n")
            self._cut = False
        at = 0
        while at < len(data):
            stop = at + os.write(self._file, memoryview(data)[at:])
            self._cut = data[stop - 1] != _NEWLINE
            yield data.count(b"\n", at, stop)
            at = stop


def _pieces(lines: list[bytes]) -> Iterator[bytes]:
    """Lines in pieces that are worth a write."""
    piece: list[bytes] = []
    size = 0
    for one in lines:
        piece.append(one)
        size += len(one)
        if size > _PIECE:
            yield b"".join(piece)
            piece.clear()
            size = 0
    if piece:
        yield b"".join(piece)
