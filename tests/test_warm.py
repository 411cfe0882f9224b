"""A program that is forked from the warm process is as one that an interpreter starts: words, streams, signals, end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.warm import WarmChild, warm_python

WHERE = "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ.get('ONE'), sys.stdin.read()[::-1])"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["-c", WHERE, "a", "b c"], {"input": b"hoi\n"}),
        (["-c", "raise SystemExit('no')"], {}),
        (["-c", "import sys; sys.exit(300)"], {}),
        (["-c", "import os; os.kill(os.getpid(), 15)"], {}),
        (["-c", "import atexit, threading; atexit.register(print, 1); threading.Thread(target=print).start()"], {}),
        (["-P", "-m", "ctxtui", "--version"], {}),
        (["-m", "ctxtui", "show", "/there/is/none"], {}),
        (["script.py", "x"], {}),
    ],
)  # fmt: skip
def test_it_says_and_ends_the_same(words: list[str], given: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys, beside; print(__name__, __file__, sys.argv, beside.WORDS)")
    (tmp_path / "beside.py").write_text("WORDS = 'from beside'")
    env = {**os.environ, "ONE": "1", "CTXTUI_HOME": str(tmp_path)}
    cold, warm = (
        subprocess.run([*python, *words], capture_output=True, cwd=tmp_path, env=env, timeout=60, check=False, **given)
        for python in ([sys.executable], warm_python())
    )
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert warm.stdout or warm.stderr or warm.returncode


def test_what_is_not_caught_is_a_traceback() -> None:
    ran = subprocess.run([*warm_python(), "-c", "1/0"], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1 and ran.stderr.startswith("Traceback") and "ZeroDivisionError" in ran.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_it(sign: signal.Signals) -> None:
    # Short sleeps: a signal that comes just before a sleep begins is handled when that has ended only.
    program = "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.02)"
    with subprocess.Popen(
        [*warm_python(), "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        try:
            running.send_signal(sign)
            assert running.wait(60) == -sign
        finally:
            running.kill()


def gone(pid: int) -> bool:
    """Whether a process ends within a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_it_ends_with_its_launcher() -> None:
    command = [*warm_python(), "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        running.kill()
    assert gone(pid)


def test_a_child_is_killed() -> None:
    child = WarmChild("ctxtui.services.worker:host")
    child.kill()
    child.wait()
    assert gone(child.pid)


def test_streams_that_are_closed_are_none() -> None:
    words = " ".join(f"'{word}'" for word in warm_python())
    said = f"exec {words} -c 'import sys; print(sys.stdin, sys.stdout, file=sys.stderr)' <&- >&-"
    ran = subprocess.run(["sh", "-c", said], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "None None\n")
