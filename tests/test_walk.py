"""A first-time user in a real terminal: Home, Enter, a call back, a block unfolded, out again."""

import re
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal
from tests.pty_app import plant, run

CALL = re.compile(rb"call\s+(\d+)")


def shown_call(terminal: Terminal) -> int:
    return int(CALL.findall(terminal.text())[-1])


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_from_home_into_a_session_and_out(tmp_path: Path, size: tuple[int, int]) -> None:
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    recording = plant(home, cwd)
    before = recording.read_bytes(), recording.stat().st_mtime_ns
    with run(home, cwd=cwd, size=size) as terminal:
        terminal.until_text(b"read-only; nothing leaves this machine")
        terminal.until_text(b"claude code")
        terminal.settle()
        terminal.forget()
        terminal.type(b"\r")
        terminal.until_text(b"transcript")
        terminal.settle()
        last = shown_call(terminal)
        assert last > 5
        terminal.forget()
        terminal.type(b"[")
        terminal.until_text(str(last - 1).encode())
        terminal.settle()
        terminal.forget()
        terminal.type(b"\r")
        terminal.until_text("╰".encode())
        terminal.type(b"q")
        assert terminal.ended() == 0
        assert terminal.output.rstrip().endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in terminal.output
    assert (recording.read_bytes(), recording.stat().st_mtime_ns) == before
