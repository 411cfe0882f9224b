"""A frame goes to the terminal at once, and one that says nothing is not sent."""

from __future__ import annotations

import io

from textual._ansi_sequences import SYNC_END, SYNC_START

from ctxtui.tui.terminal import TerminalDriver, TerminalOutput


class Written(list[str]):
    """What a terminal's thread was given."""

    write = list.append


def _driver() -> tuple[TerminalDriver, Written]:
    driver, written = TerminalDriver.__new__(TerminalDriver), Written()
    driver._writer_thread, driver._output = written, TerminalOutput(io.StringIO())  # type: ignore[assignment]
    return driver, written


def test_a_frame_is_written_at_once() -> None:
    driver, written = _driver()
    for piece in (SYNC_START, "\x1b[1mab\x1b[0m", "c", SYNC_END, "d", "\x1b[1mab\x1b[0m"):
        driver.write(piece)
    assert written == [f"{SYNC_START}\x1b[1mab\x1b[0mc{SYNC_END}", "d", "\x1b[1mab\x1b[0m"]


def test_a_frame_that_says_nothing_is_not_sent() -> None:
    driver, written = _driver()
    for frame in ("\x1b[1;1Ha\x1b[9;9H", "\x1b[9;9H", "\x1b[8;8H", "\x1b[8;8H", "\x1b[1;1Hb\x1b[8;8H"):
        for piece in (SYNC_START, frame, SYNC_END):
            driver.write(piece)
    said = ("\x1b[1;1Ha\x1b[9;9H", "\x1b[8;8H", "\x1b[1;1Hb\x1b[8;8H")
    assert written == [f"{SYNC_START}{one}{SYNC_END}" for one in said]
