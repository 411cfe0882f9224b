"""A command of the user that takes too long is stopped with all that it started."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ctxtui.services.config.own_commands import OwnCommand
from ctxtui.services.own_command import CommandFailed, Target, run_command


def is_running(pid: int) -> bool:
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")
def test_what_a_stopped_command_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.services.own_command.MESSAGE_SECONDS", 0.5)
    command = OwnCommand("slow", f"sleep 60 & echo $! > {tmp_path}/pid; sleep 60 | cat", output="message")
    with pytest.raises(CommandFailed, match="was stopped after"):
        run_command(command, Target())
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    try:
        assert not is_running(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
