"""Writes the files of recordings that a relay makes; only their owner can read them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from ctxtui.attach.lines import RecordedBodies, encode_line

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_MIN_WRITE_BYTES: Final = 1 << 16
"""Minimum bytes of lines that are written at once."""
_NEWLINE: Final = 10


def file_name(session: str) -> str:
    plain = session if _NAME.fullmatch(session) else f"session-{sha256(session.encode()).hexdigest()[:32]}"
    return f"{plain}.jsonl"


class Tape:
    """One recording's file. `head` is the line that is written first after each opening of the file.

    Lines wait until `flush`. Lines that cannot be written are counted (`lost`, with the last reason in `why`), and
    reported in the file once it can be written again.
    """

    def __init__(self, path: Path, head: bytes) -> None:
        self.path = path
        self.bodies = RecordedBodies()
        self.sent = RecordedBodies()
        """Bodies sent instead of the program's own."""
        self.lost = 0
        self.why = ""
        self.size = 0
        """Bytes of the lines that wait."""
        self.is_wanted = False
        """Whether lines are written: a client that only tests the connection (``HEAD /``) makes no recording."""
        self._head = head
        self._file = -1
        self._begun = False
        """Whether `head` was written since the file was opened."""
        self._cut = False
        """Whether the last line in the file has no end."""
        self._unreported = 0
        self._lines: list[bytes] = []

    def add(self, data: bytes) -> None:
        self._lines.append(data)
        self.size += len(data)

    def flush(self) -> None:
        self.write(self.take_lines())

    def write(self, lines: list[bytes]) -> None:
        """Write `lines` to the file, which is created at the first ones."""
        if not lines:
            return
        left = len(lines)
        try:
            self._begin()
            for piece in _pieces(lines):
                for written in self._write_data(piece):
                    left -= written
        except OSError as error:
            self.lost += left
            self._unreported += left
            self.why = error.strerror or str(error)
            self.forget_bodies()

    def drop(self) -> None:
        self._lines, self.size = [], 0
        self.forget_bodies()

    def close(self) -> None:
        self.flush()
        self.forget_bodies()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._begun = False

    def take_lines(self) -> list[bytes]:
        """Remove and return the waiting lines; none until they are wanted."""
        if not self.is_wanted:
            return []
        lines, self._lines, self.size = self._lines, [], 0
        return lines

    @property
    def kept_bytes(self) -> int:
        return self.bodies.size + self.sent.size

    def forget_bodies(self) -> None:
        """Discard earlier bodies, so that later ones do not refer to them."""
        self.bodies, self.sent = RecordedBodies(), RecordedBodies()

    def _begin(self) -> None:
        if self._file < 0:
            self._open()
        if not self._begun:
            self._write_line(self._head)
            self._begun = True
        if self._unreported:
            self._write_line(encode_line(lost=self._unreported, why=self.why))
            self._unreported = 0

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        size = os.fstat(self._file).st_size
        if size:
            # End a line that a killed process left incomplete.
            with self.path.open("rb") as file:
                file.seek(size - 1)
                self._cut = file.read(1)[0] != _NEWLINE

    def _write_line(self, data: bytes) -> None:
        for _ in self._write_data(data):
            pass

    def _write_data(self, data: bytes) -> Iterator[int]:
        """Write complete lines; yield after each write the number of lines that it completed.

        Raises `OSError`.
        """
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
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size > _MIN_WRITE_BYTES:
            yield b"".join(piece)
            piece.clear()
            size = 0
    if piece:
        yield b"".join(piece)
