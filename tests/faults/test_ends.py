"""Ended from outside, or with nowhere to write to: one clear line, the terminal in order, the right exit code."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal
from tests.pty_app import CTXTUI, environment, plant
from tests.sampling import few, few_rows

FULL = Path("/dev/full")
SAMPLE, LARGE = (next((Path(__file__).parents[2] / "sessions").glob(f"{number}-*.jsonl")) for number in (2, 1))
COMMANDS = (["show", SAMPLE], ["show", SAMPLE, "--json"], ["sessions", "--json"], ["export", LARGE, "-o", "-"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without anything."""
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)


def ended(terminal: Terminal, cap: float = 20.0) -> int:
    """The exit code of the program once it is gone, with what it wrote last in `output`."""
    until = time.monotonic() + cap
    while time.monotonic() < until:
        terminal.read(0.05)
        pid, status = os.waitpid(terminal.pid, os.WNOHANG)
        if pid:
            while terminal.read(0.2):
                pass
            return os.waitstatus_to_exitcode(status)
    raise TimeoutError(terminal.output[-500:])


@pytest.mark.parametrize(
    ("sign", "what"), few_rows([(signal.SIGTERM, "home"), (signal.SIGHUP, "session"), (signal.SIGTERM, "chat")])
)
def test_a_signal_gives_the_terminal_back(sign: signal.Signals, what: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home) | {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    path = plant(home, tmp_path)
    command = {"home": [], "session": [str(path)], "chat": ["chat", "--provider", "offline"]}[what]
    with Terminal([*CTXTUI, *command], env=env) as terminal:
        terminal.until_frame()
        os.kill(terminal.pid, sign)
        assert ended(terminal) == 128 + sign
    last = terminal.output[-2000:]
    for restored in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h"):
        assert restored in last, restored
    assert f"ctxtui: ended by {sign.name}".encode() in last
    assert b"Traceback" not in terminal.output


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", few(COMMANDS), ids=["show", "json", "sessions", "export"])
def test_a_full_disk_is_one_line_and_no_fault_of_ours(command: list[str | Path], home: None) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run([*CTXTUI, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 7
    assert done.stderr == (
        f"ctxtui: the output cannot be written: {os.strerror(errno.ENOSPC)}; the output is incomplete\n"
    )


@pytest.mark.parametrize("command", few([COMMANDS[2], ["export", SAMPLE, "-o", "-"]]), ids=["json", "export"])
def test_closed_streams_are_one_line_or_none(command: list[str | Path], home: None) -> None:
    words = " ".join(f"'{word}'" for word in (*CTXTUI, *command))
    out = subprocess.run(["sh", "-c", f"exec {words} >&-"], capture_output=True, text=True, timeout=60)
    assert (out.returncode, out.stderr.count("\n")) == (7, 1) and "cannot be written" in out.stderr
    for closed in ("2>&-", "<&-"):
        done = subprocess.run(["sh", "-c", f"exec {words} {closed}"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout and done.stderr == ""


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_what_was_wrong_first_is_what_the_exit_code_says(home: None) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ctxtui", "show", "/there/is/none", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 5 and done.stderr.startswith("ctxtui: no such file") and done.stderr.count("\n") == 1
