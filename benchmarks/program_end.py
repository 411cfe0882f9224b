"""What is told of a program that ended in the middle of a measurement: how, when, and what it showed last."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

ESCAPE = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_][^\x1b]*\x1b\\|\x1b\[[0-9;:<=>?]*[ -/]*[@-~]|\x1b[@-Z\\-_]"
)
"""What a program writes that is no text."""
_TAIL = 600
"""Characters that are quoted at most."""


class ProgramEnded(RuntimeError):
    """The program that is measured has ended by itself, or something ended it."""


def how(status: int) -> str:
    """An exit code in words; a negative one is a signal's, as `os.waitstatus_to_exitcode` gives it."""
    if status < 0:
        return f"ended by signal {signal.Signals(-status).name}"
    if status > 128 and status - 128 in set(signal.Signals):
        return f"exit code {status}, as after signal {signal.Signals(status - 128).name}"
    return f"exit code {status}"


def story(status: int, seconds: float, written: bytes, size: tuple[int, int], home: str | None) -> str:
    """All that is known of a program that ran so long in a terminal of that `size`, with its data in `home`."""
    found = [f"the program has ended: {how(status)}, {seconds:.1f} s after its start"]
    found += [f"{path.name}: {_end(path)}" for path in _crashes(home)]
    found.append(f"it showed last:\n{_drawn(written, size)}")
    return "\n".join(found)


def _crashes(home: str | None) -> list[Path]:
    return sorted(Path(home).rglob("crash-*.log")) if home else []


def _end(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace").strip()[-_TAIL:]
    return "cannot be read"


def _drawn(written: bytes, size: tuple[int, int]) -> str:
    """The last screen, where there is something to draw it with; else the end of what was written."""
    plain = ESCAPE.sub(b"", written).decode(errors="replace")
    # What is written behind the alternate screen is a program's last word.
    before, left, after = written.rpartition(b"\x1b[?1049l")
    try:
        import pyte
    except ImportError:
        return plain[-_TAIL:]
    screen = pyte.Screen(*size)
    stream = pyte.ByteStream(screen)
    stream.feed(re.sub(rb"\x1b\[[<=>?][0-9;]*\$?[a-z]", b"", (before if left else written)))
    rows = [row.rstrip() for row in screen.display]
    said = ESCAPE.sub(b"", after).decode(errors="replace").strip() if left else ""
    return "\n".join([*(row for row in rows if row), *([f"and said: {said}"] if said else [])])


def status_of(pid: int) -> int | None:
    """The exit code of a child that has ended; None while it runs, or where another one has asked before."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if found else None
