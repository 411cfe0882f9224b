"""Terminal capabilities: size, colours, encoding, and the width of ambiguous characters."""

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
"""An East Asian ambiguous glyph; some terminals draw it two cells wide."""
_REPORT: Final = re.compile(rb"\x1b\[\d+;(\d+)R")
"""A report of the cursor's position; the group is the column, from 1."""
ANSWER_SECONDS: Final = 0.4
"""Seconds to wait for that report."""
MIN_SIZE: Final = (60, 16)


def checks(env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Yield the findings of `ctxtui doctor` about the terminal."""
    if not sys.stdout.isatty():
        yield DoctorFinding(
            "terminal", WARNING, "standard output is not a terminal", "run `ctxtui doctor` in the terminal itself"
        )
        return
    columns, rows = shutil.get_terminal_size()
    is_small = columns < MIN_SIZE[0] or rows < MIN_SIZE[1]
    description = ", ".join(
        filter(None, (env.get("TERM", ""), env.get("TERM_PROGRAM", ""), "tmux" if "TMUX" in env else ""))
    )
    way_out = "use at least 80 x 24" if is_small else ""
    yield DoctorFinding("terminal", WARNING if is_small else OK, f"{columns} x {rows}, {description}", way_out)
    yield _check_colours(env)
    encoding = sys.stdout.encoding or "unknown"
    is_ascii = not encoding.lower().replace("-", "").startswith("utf")
    yield DoctorFinding(
        "encoding", WARNING if is_ascii else OK, encoding, "glyphs are drawn in ASCII" if is_ascii else ""
    )
    yield _check_ambiguous_glyphs()


def _check_colours(env: Mapping[str, str]) -> DoctorFinding:
    if env.get("NO_COLOR"):
        return DoctorFinding("colours", OK, "none: NO_COLOR is set")
    if env.get("COLORTERM") in ("truecolor", "24bit"):
        return DoctorFinding("colours", OK, "16 million")
    if "256" in env.get("TERM", ""):
        return DoctorFinding("colours", OK, "256", "if the terminal supports more, set COLORTERM=truecolor")
    return DoctorFinding("colours", OK, "16")


def _check_ambiguous_glyphs() -> DoctorFinding:
    drawn = ambiguous_glyph_width()
    if drawn is None:
        return DoctorFinding(
            "width of glyphs",
            WARNING,
            "not measured: the terminal did not answer",
            "if columns are misplaced: --set glyphs=ascii",
        )
    if drawn == 1:
        return DoctorFinding("width of glyphs", OK, "ambiguous glyphs are one cell wide")
    way_out = "set the terminal to narrow, or glyphs = ascii"
    return DoctorFinding("width of glyphs", WARNING, f"ambiguous glyphs are {drawn} cells wide", way_out)


def ambiguous_glyph_width() -> int | None:
    """By the cursor report; None without a terminal, or if it does not answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    with _raw_mode(sys.stdin.fileno()):
        sys.stdout.write(f"\r{_PROBE}\x1b[6n")
        sys.stdout.flush()
        answer = _read_answer(sys.stdin.fileno())
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
    report = _REPORT.search(answer)
    return int(report[1]) - 1 if report else None


@contextlib.contextmanager
def _raw_mode(fd: int) -> Iterator[None]:
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _read_answer(fd: int) -> bytes:
    answer = b""
    while not _REPORT.search(answer) and select.select([fd], [], [], ANSWER_SECONDS)[0]:
        piece = os.read(fd, 64)
        if not piece:
            break
        answer += piece
    return answer
