"""A terminal that is closed ends ctxtui and what it started, whoever stands between and keeps the signal to himself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal, family
from tests.pty_app import CTXTUI, Screen, environment, plant
from tests.warm import warm_ctxtui

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")

DEAF = ("/bin/sh", "-c", 'trap : HUP; "$@"; echo $? > "$0"')
"""Leads the session as make does: it hears of the closed terminal, tells nobody, and waits. $0 gets the exit code."""
SIZE = (120, 40)


def environment_of(tmp_path: Path) -> dict[str, str]:
    """A user without keys, whose every session is `tmp_path`'s."""
    return environment(tmp_path / "home") | {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}


def running(pid: int) -> bool:
    """Whether a process does something, or could: one that ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def close(terminal: Terminal) -> list[int]:
    """Close the terminal as its window is closed: what ran in it."""
    all_of_it = family(terminal.pid)
    # What `Terminal` closes at its end is another file then, not one that was opened meanwhile.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, terminal.fd)
    os.close(null)
    return all_of_it


def wait_until_gone(pids: list[int], cap: float = 60.0) -> None:
    """Wait until none of `pids` runs; else end them, and fail."""
    until = time.monotonic() + cap
    while left := [pid for pid in pids if running(pid)]:
        if time.monotonic() > until:
            told = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in left}
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"still there {cap:.0f} s after the terminal was closed: {told}")
        time.sleep(0.05)


def exit_code(path: Path) -> int:
    """What the shell in between has noted."""
    until = time.monotonic() + 20
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < until, "the program in between was not told"
        time.sleep(0.05)
    return int(path.read_text())


@pytest.mark.parametrize("what", ["home", "session"])
def test_a_closed_terminal_ends_a_screen_that_hears_no_signal(what: str, tmp_path: Path) -> None:
    path, code = plant(tmp_path / "home", tmp_path), tmp_path / "code"
    command = [*DEAF, str(code), *CTXTUI, *([str(path)] if what == "session" else [])]
    with Terminal(command, env=environment_of(tmp_path), size=SIZE) as terminal:
        terminal.until_frame()
        wait_until_gone(close(terminal))
        assert exit_code(code) == 128 + signal.SIGHUP


@pytest.mark.slow
def test_edits_that_are_staged_are_kept(tmp_path: Path) -> None:
    path, code = plant(tmp_path / "home", tmp_path), tmp_path / "code"
    env = environment_of(tmp_path)
    with Terminal([*DEAF, str(code), *CTXTUI, str(path)], env=env, size=SIZE) as terminal:
        screen = Screen(terminal, SIZE)
        terminal.until_frame()
        # What is not counted yet cannot be edited.
        terminal.rest(0.6)
        terminal.type(b"d")
        screen.wait("staged")
        wait_until_gone(close(terminal))
    with Terminal([*CTXTUI, str(path)], env=env, size=SIZE) as terminal:
        assert "staged" in Screen(terminal, SIZE).wait("staged")


@pytest.mark.slow
def test_a_chat_whose_tool_runs_is_on_record_and_leaves_nothing(tmp_path: Path) -> None:
    code, env = tmp_path / "code", environment_of(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    inside = ("/bin/sh", "-c", 'cd "$0" && exec "$@"', str(work), *CTXTUI, "chat", "--provider", "offline")
    with Terminal([*DEAF, str(code), *inside], env=env, size=SIZE) as terminal:
        screen = Screen(terminal, SIZE)
        terminal.until_frame()
        terminal.settle()
        terminal.type(b"run `sleep 987`\r")
        screen.wait("run it?")
        until, asked = time.monotonic() + 60, 0
        while not any(b"sleep\0" + b"987" in _command(pid) for pid in family(terminal.pid)):
            assert time.monotonic() < until, screen.text
            # What is pressed as soon as it asks was meant for something else, and is no answer.
            if "run it?" in screen.text and asked % 20 == 0:
                terminal.type(b"y")
            asked += 1
            terminal.read(0.05)
        wait_until_gone(close(terminal))
        assert exit_code(code) == 128 + signal.SIGHUP
    said = subprocess.run(
        [*warm_ctxtui(), "sessions", "--json"], env={**os.environ, **env}, capture_output=True, check=True
    )
    session = next(one for one in json.loads(said.stdout)["sessions"] if "sleep 987" in json.dumps(one))
    shown = subprocess.run(
        [*warm_ctxtui(), "show", session["id"]], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert "sleep 987" in shown.stdout


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.parametrize("between", [False, True], ids=["alone", "deaf parent"])
def test_one_that_was_stopped_ends_when_it_goes_on(between: bool, tmp_path: Path) -> None:
    path, code = plant(tmp_path / "home", tmp_path), tmp_path / "code"
    command = [*((*DEAF, str(code)) if between else ()), *CTXTUI, str(path)]
    with Terminal(command, env=environment_of(tmp_path), size=SIZE) as terminal:
        terminal.until_frame()
        terminal.settle()
        own = next(
            pid
            for pid in family(terminal.pid)
            if b"ctxtui" in _command(pid) and pid != (terminal.pid if between else 0)
        )
        os.kill(own, signal.SIGTSTP)
        until = time.monotonic() + 30
        while "T" not in Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()[0]:
            assert time.monotonic() < until
            terminal.read(0.02)
        there = close(terminal)
        if between:
            # Nobody but the one in between was told; a process that is stopped sees nothing by itself.
            os.kill(own, signal.SIGCONT)
        wait_until_gone(there)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_under_make_itself(tmp_path: Path) -> None:
    path = plant(tmp_path / "home", tmp_path)
    (tmp_path / "Makefile").write_text(f"run:\n\t@{sys.executable} -m ctxtui {path}\n")
    with Terminal(["make", "-C", str(tmp_path), "run"], env=environment_of(tmp_path), size=SIZE) as terminal:
        terminal.until_frame()
        wait_until_gone(close(terminal))
