"""A terminal that another program wrote over: ctrl+l, and coming back from a stop, show all of the screen again."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.pty_app import Screen, plant, run
from tests.sampling import few

OTHERS = b"\x1b[2J\x1b[5;3Hanother program's words"
LONG = 30.0


def overwritten(screen: Screen) -> None:
    """What another program writes is on the terminal, and in nothing that ctxtui wrote."""
    screen.feed(OTHERS)
    assert "another program's words" in screen.text


def state(pid: int) -> str:
    """The state of a process as Linux names it: T where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("way", few(["ctrl+l", "stopped and continued"]))
def test_all_of_the_screen_is_shown_again(tmp_path: Path, way: str) -> None:
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    recording, size = plant(home, cwd), (100, 30)
    # Nobody works on it any more, so nothing of the screen changes by itself.
    os.utime(recording, (1.7e9, 1.7e9))
    with run(home, str(recording), cwd=cwd, size=size) as terminal:
        screen = Screen(terminal, size)
        screen.wait("transcript", "this call", "saves 86 %")
        terminal.type(b"\x1b[A\x1b[B")
        before = screen.wait("transcript")
        if way == "ctrl+l":
            overwritten(screen)
            terminal.type(b"\x0c")
        else:
            os.kill(terminal.pid, signal.SIGTSTP)
            until = time.monotonic() + LONG
            while state(terminal.pid) != "T" and time.monotonic() < until:
                terminal.read(0.02)
            assert state(terminal.pid) == "T"
            overwritten(screen)
            os.kill(terminal.pid, signal.SIGCONT)
        assert screen.until(lambda text: "another program" not in text, "it stays") == before
