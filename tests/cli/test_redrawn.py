"""Output that is drawn over itself: what was drawn is taken back, and no more is drawn than there is room for."""

from __future__ import annotations

import io
import sys

import pytest

from ctxtui.cli.output import write
from ctxtui.cli.progress import RedrawnOutput, can_redraw


class Screen(io.StringIO):
    """Standard output of a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal of ten lines, from now on."""
    found = Screen()
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "10")
    return found


def lines(count: int) -> None:
    for number in range(count):
        write(f"line {number}")


def test_each_drawing_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with RedrawnOutput() as drawn:
        drawn.draw(lambda: lines(2))
        assert screen.getvalue() == "line 0\nline 1\n" and not drawn.is_due()
        drawn.draw(lambda: lines(30))
    assert screen.getvalue() == (
        "line 0\nline 1\n\x1b[2F\x1b[J" + "".join(f"line {n}\n" for n in range(8)) + "\x1b[8F\x1b[J"
    )


def test_who_interrupts_keeps_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), RedrawnOutput() as drawn:
        drawn.draw(lambda: lines(2))
        raise KeyboardInterrupt
    assert screen.getvalue() == "line 0\nline 1\n"


def test_only_a_terminal_that_can_is_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    assert can_redraw()
    monkeypatch.setenv("TERM", "dumb")
    assert not can_redraw()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not can_redraw()
