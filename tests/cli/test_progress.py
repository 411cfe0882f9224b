"""The line of progress on a terminal."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from ctxtui.cli import progress
from ctxtui.cli.output import write
from ctxtui.cli.progress import Working


def until_true(there: Callable[[], bool]) -> None:
    """Wait until `there`, at most five seconds."""
    end = time.monotonic() + 5
    while not there():
        assert time.monotonic() < end
        time.sleep(0.005)


class Screen(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_takes_long_is_said_and_goes_when_something_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(progress, "UPDATE_SECONDS", 0.01)
    with Working("reading") as outer:
        outer.show("3 of 40")
        until_true(lambda: screen.getvalue().endswith("reading … 3 of 40"))
        with Working("counting"):
            until_true(lambda: screen.getvalue().endswith("counting … 0 s"))
        until_true(lambda: screen.getvalue().endswith("reading … 3 of 40"))
        monkeypatch.setattr(progress, "SILENT_SECONDS", 60.0)
        write("found")
        assert screen.getvalue().endswith("\r\x1b[K") and capsys.readouterr().out == "found\n"


def test_a_pipe_gets_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.0)
    with Working("reading") as work:
        work.show("3 of 40")
    assert pipe.getvalue() == ""
