"""The files that attached recordings are: opened for their owner alone, written line by line, whatever goes wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from ctxtui.attach.lines import RecordedBodies, line

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def file_name(session: str) -> str:
    """What the recording of `session` is called: after it, where its name can be a file's."""
    plain = session if _NAME.fullmatch(session) else f"session-{sha256(session.encode()).hexdigest()[:32]}"
    return f"{plain}.jsonl"


class Tape:
    """One recording. `head` gives its first line of this run. What cannot be written is counted and told in the file
    as soon as that can be written again; `lost` are so many lines, `why` the last reason."""

    def __init__(self, path: Path, head: Callable[[], bytes]) -> None:
        self.path = path
        self.bodies = RecordedBodies()
        self.sent = RecordedBodies()
        """Those that left in place of the program's own."""
        self.lost = 0
        self.why = ""
        self._head = head
        self._file = -1
        self._unsaid = 0

    def write(self, data: bytes, lines: int = 1) -> bool:
        """Write `lines` whole lines; False where that cannot be."""
        try:
            if self._file < 0:
                self._open()
            if self._unsaid:
                self._put(line(lost=self._unsaid, why=self.why))
                self._unsaid = 0
            self._put(data)
        except OSError as error:
            self.lost += lines
            self._unsaid += lines
            self.why = error.strerror or str(error)
            # Later bodies must not be told by one that was lost.
            self.bodies, self.sent = RecordedBodies(), RecordedBodies()
            return False
        return True

    def close(self) -> None:
        """Nothing more comes."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        size = os.fstat(self._file).st_size
        if size:
            # A line that a killed process left cut is ended.
            with self.path.open("rb") as file:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    self._put(b"\n")
        self._put(self._head())

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
