"""A benchmark says how a program ended that it was measuring, and what it showed last."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from benchmarks.program_end import ProgramEnded, how
from benchmarks.terminal import Terminal

SHOWS = """
import os, sys, time
sys.stdout.write("\\x1b[?1049h\\x1b[2J\\x1b[3;5Hthe last screen")
sys.stdout.flush()
time.sleep(600)
"""


@pytest.mark.parametrize(
    "asked", [lambda run: run.rest(cap=60), lambda run: run.memory(), lambda run: run.until_text(b"never", cap=60)]
)
def test_what_ended_it_and_its_last_screen_are_told(asked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "crash-1.log").write_text("ValueError: too much")
    with Terminal([sys.executable, "-c", SHOWS], env={"CTXTUI_HOME": str(tmp_path)}) as run:
        run.until_text(b"the last screen")
        os.kill(run.pid, signal.SIGKILL)
        while run.read(0.1) or not run._hung_up:
            pass
        with pytest.raises(ProgramEnded) as told:
            asked(run)
    assert "ended by signal SIGKILL" in str(told.value)
    assert "the last screen" in str(told.value)
    assert "crash-1.log: ValueError: too much" in str(told.value)


def test_exit_codes_are_told_in_words() -> None:
    assert how(3) == "exit code 3"
    assert how(-signal.SIGHUP) == "ended by signal SIGHUP"
    assert how(128 + signal.SIGTERM) == "exit code 143, as after signal SIGTERM"


def test_it_knows_the_processes_that_a_program_started() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()', 'a-certain-word'])"
    with Terminal([sys.executable, "-c", code], env={}) as run:
        run.until_child("a-certain-word", cap=60)
        assert not run.has_child("another-word")
        run.type(b"\n")
        assert run.ended(60) == 0
