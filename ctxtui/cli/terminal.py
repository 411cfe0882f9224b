"""What the terminal can do: size, colours, encoding, and how wide it draws ambiguous characters."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.services.doctor import OK, WARNING, DoctorFinding

_PROBE: Final = "§"
"""An East Asian ambiguous glyph of ours: some terminals draw it two cells wide."""
_REPORT: Final = re.compile(rb"\x1b\[\d+;(\d+)R")
_WAIT: Final = 0.4
_LEAST: Final = (60, 16)


def checks(env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Findings about the terminal that this process runs in."""
    if not sys.stdout.isatty():
        yield DoctorFinding(
            "terminal", WARNING, "standard output is no terminal", "run `ctxtui doctor` in the terminal itself"
        )
        return
    columns, rows = shutil.get_terminal_size()
    small = columns < _LEAST[0] or rows < _LEAST[1]
    about = ", ".join(filter(None, (env.get("TERM", ""), env.get("TERM_PROGRAM", ""), "tmux" if "TMUX" in env else "")))
    way_out = "80 x 24 shows everything" if small else ""
    yield DoctorFinding("terminal", WARNING if small else OK, f"{columns} x {rows}, {about}", way_out)
    yield _colours(env)
    encoding = sys.stdout.encoding or "unknown"
    plain = not encoding.lower().replace("-", "").startswith("utf")
    yield DoctorFinding("encoding", WARNING if plain else OK, encoding, "glyphs are drawn in ASCII" if plain else "")
    yield _ambiguous()


def _colours(env: Mapping[str, str]) -> DoctorFinding:
    if env.get("NO_COLOR"):
        return DoctorFinding("colours", OK, "none: NO_COLOR is set")
    if env.get("COLORTERM") in ("truecolor", "24bit"):
        return DoctorFinding("colours", OK, "16 million")
    if "256" in env.get("TERM", ""):
        return DoctorFinding("colours", OK, "256", "if the terminal has more: COLORTERM=truecolor")
    return DoctorFinding("colours", OK, "16")


def _ambiguous() -> DoctorFinding:
    drawn = drawn_width()
    if drawn is None:
        return DoctorFinding(
            "width of glyphs", WARNING, "the terminal does not tell", "misplaced columns: --set glyphs=ascii"
        )
    if drawn == 1:
        return DoctorFinding("width of glyphs", OK, "ambiguous ones are one cell wide")
    way_out = "set the terminal to narrow, or glyphs = ascii"
    return DoctorFinding("width of glyphs", WARNING, f"ambiguous ones are {drawn} cells wide", way_out)


def drawn_width() -> int | None:
    """Cells that the terminal gives an ambiguous glyph, by its cursor report; None if it does not answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    with _raw(sys.stdin.fileno()):
        sys.stdout.write(f"\r{_PROBE}\x1b[6n")
        sys.stdout.flush()
        answer = _answer(sys.stdin.fileno())
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
    report = _REPORT.search(answer)
    return int(report[1]) - 1 if report else None


@contextlib.contextmanager
def _raw(fd: int) -> Iterator[None]:
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _answer(fd: int) -> bytes:
    answer = b""
    while not _REPORT.search(answer) and select.select([fd], [], [], _WAIT)[0]:
        piece = os.read(fd, 64)
        if not piece:
            break
        answer += piece
    return answer
