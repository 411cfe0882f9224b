"""A program in a real pseudo-terminal: start it, press keys, time what it writes."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from benchmarks.program_end import ESCAPE, ProgramEnded, status_of, story

_ANSWERS = (
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[?2048$p", b"\x1b[?2048;0$y"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[?u", b"\x1b[?0u"),
)
"""What a terminal says when a program asks what it can do."""

FRAME = 600
"""Bytes after the switch to the alternate screen that make a first frame (an empty one at 120x40 has some 5,000)."""
_TICKS = os.sysconf("SC_CLK_TCK")
_ENDING = 10.0
"""Seconds for which the end of a program is waited for whose terminal is closed."""
_LAST = 1 << 16
"""Bytes of a program's output that are kept for what is told of its end."""


class Terminal:
    """One run of a program. Times are seconds since it was started."""

    def __init__(self, command: Sequence[str], *, env: dict[str, str], size: tuple[int, int] = (120, 40)) -> None:
        # What comes is added to it at its end: copying a megabyte for each piece of 4 KB was timed as the program's.
        self.output = bytearray()
        self._last = bytearray()
        self._hung_up = False
        self._status: int | None = None
        self._size, self._home = size, env.get("CTXTUI_HOME")
        self.most_together = 0
        """The most that `memory_together` was while `rest` waited, in bytes."""
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(
                command[0], list(command), {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
            )
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, sign)
            except ProcessLookupError:
                break
            if self._gone(0.6):
                break
        os.close(self.fd)

    def _gone(self, wait: float) -> bool:
        until = time.perf_counter() + wait
        while time.perf_counter() < until:
            try:
                found, status = os.waitpid(self.pid, os.WNOHANG)
                if found:
                    self._status = os.waitstatus_to_exitcode(status)
                    return True
            except ChildProcessError:
                return True
            time.sleep(0.02)
        return False

    def read(self, wait: float) -> bytes:
        """What the program writes within `wait` seconds ("" when nothing came), answering its questions."""
        if not select.select([self.fd], [], [], wait)[0]:
            return b""
        try:
            data = os.read(self.fd, 262_144)
        except OSError:
            # Nobody has the terminal open any more.
            self._hung_up = True
            return b""
        for asked, answer in _ANSWERS:
            if asked in data:
                os.write(self.fd, answer)
        self.output += data
        self._last += data
        if len(self._last) > 4 * _LAST:
            del self._last[:-_LAST]
        return data

    def _check(self, *, ends: bool = False) -> None:
        """Raises `ProgramEnded`, with all that is known of it, where the program is gone; where it `ends` by all
        appearance, or its terminal is closed, once it is."""
        until = time.perf_counter() + (_ENDING if ends or self._hung_up else 0.0)
        while self._status is None:
            self._status = status_of(self.pid)
            if time.perf_counter() >= until:
                break
            time.sleep(0.01)
        if self._status is not None:
            while self.read(0.02):
                pass
            ran = time.perf_counter() - self.started
            raise ProgramEnded(story(self._status, ran, bytes(self._last), self._size, self._home))

    def until_frame(self, cap: float = 20.0) -> float:
        """When the first frame was there."""
        return self._until(
            lambda: len(self.output.rpartition(b"\x1b[?1049h")[2]) >= FRAME and b"\x1b[?1049h" in self.output, cap
        )

    def until_text(self, text: bytes, cap: float = 60.0) -> float:
        """When `text` (one unbroken run of cells) had been written since the last `forget`."""
        return self._until(lambda: text in self.output and text in ESCAPE.sub(b"", self.output), cap)

    def _until(self, there, cap: float) -> float:  # type: ignore[no-untyped-def]
        while not there():
            if time.perf_counter() - self.started > cap:
                raise TimeoutError(f"not on screen after {cap} s; last output: {ESCAPE.sub(b'', self.output)[-600:]!r}")
            if not self.read(0.02) and self._hung_up:
                self._check()
        return time.perf_counter() - self.started

    def text(self) -> bytes:
        """What was written since the last `forget`, less escape sequences."""
        return ESCAPE.sub(b"", self.output)

    def type(self, keys: bytes) -> None:
        """Press keys and do not wait."""
        os.write(self.fd, keys)

    def ended(self, cap: float = 10.0) -> int | None:
        """The exit code of the program once it has ended; None if it has not within `cap` seconds."""
        until = time.perf_counter() + cap
        while time.perf_counter() < until:
            self.read(0.02)
            if self._gone(0.01):
                self.read(0.05)
                return self._status
        return None

    def settle(self, quiet: float = 0.5, cap: float = 30.0) -> None:
        """Wait until the program has written nothing for `quiet` seconds."""
        until = time.perf_counter() + cap
        while time.perf_counter() < until and self.read(quiet):
            pass

    def rest(self, quiet: float = 2.0, cap: float = 240.0) -> None:
        """Wait until the program and its helpers have done nothing to speak of for `quiet` seconds: a clock that ticks
        may go on."""
        until, since, used = time.perf_counter() + cap, time.perf_counter(), self.cpu_together()
        while time.perf_counter() - since < quiet:
            if time.perf_counter() > until:
                raise TimeoutError(f"still busy after {cap} s")
            until_then = time.perf_counter() + 0.2
            while time.perf_counter() < until_then:
                self.read(0.05)
            self._check()
            now = self.cpu_together()
            self.most_together = max(self.most_together, self.memory_together())
            if now - used > 0.03:
                since = time.perf_counter()
            used = now

    def forget(self) -> None:
        """Drop what was written so far."""
        self.output = bytearray()

    def press(self, key: bytes, quiet: float = 0.04) -> float | None:
        """Seconds from pressing `key` to the last byte of what it caused; None if it caused nothing."""
        begun = time.perf_counter()
        os.write(self.fd, key)
        last = None
        wait = 1.0
        while self.read(wait):
            last, wait = time.perf_counter(), quiet
        if self._hung_up:
            self._check()
        return None if last is None else last - begun

    def cpu(self) -> float:
        """Seconds of processor time used so far (Linux)."""
        return sum(_times(self.pid)[:2]) / _TICKS

    def cpu_together(self) -> float:
        """As `cpu`, with that of the processes that the program started, whether they have ended or not."""
        return sum(sum(_times(pid)) for pid in family(self.pid)) / _TICKS

    def memory_together(self) -> int:
        """The memory that the program and the processes that it started have now, in bytes (Linux)."""
        return sum(_resident(pid) for pid in family(self.pid))

    def memory(self) -> int:
        """The most memory that the process had so far, in bytes (Linux)."""
        self._check()
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        found = next((line for line in lines if line.startswith("VmHWM:")), None)
        if found is None:
            self._check(ends=True)
        assert found is not None, "the program has no memory, and has not ended"
        return int(found.split()[1]) * 1024

    def has_child(self, word: str) -> bool:
        """Whether a process runs that the program has started with `word` in its command (Linux)."""
        return any(word.encode() in said for _, parent, said in _processes() if parent == self.pid)

    def until_child(self, word: str, cap: float = 60.0) -> float:
        """When the program has started a process with `word` in its command."""
        begun = time.perf_counter()
        while not self.has_child(word):
            self._check()
            if time.perf_counter() - begun > cap:
                raise TimeoutError(f"no process with {word} in its command after {cap} s")
            self.read(0.05)
        return time.perf_counter() - self.started


def _processes() -> Iterator[tuple[int, int, bytes]]:
    """Every process of this machine: its id, its parent's, its command."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
                parent = int(stat.rpartition(")")[2].split()[1])
                yield int(entry.name), parent, Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue


def family(pid: int) -> list[int]:
    """A process and those that it started and that are still there, with theirs."""
    children: dict[int, list[int]] = {}
    for number, parent, _ in _processes():
        children.setdefault(parent, []).append(number)
    found = [pid]
    for one in found:
        found += children.get(one, ())
    return found


def _times(pid: int) -> list[int]:
    """Ticks of the processor in the program and in the kernel: of a process, then of those it started that have
    ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return [0, 0, 0, 0]
    return [int(field) for field in fields[11:15]]


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


PYTHON = sys.executable
APPS = Path(__file__).parent / "apps"
EMPTY = (PYTHON, str(APPS / "empty.py"))
ONE_STATIC = (PYTHON, str(APPS / "one_static.py"))
CTXTUI = (PYTHON, "-m", "ctxtui")
DOWN, PAGE_UP, PAGE_DOWN, HOME, END = b"\x1b[B", b"\x1b[5~", b"\x1b[6~", b"\x1b[H", b"\x1b[F"
