"""A first-time user in a real terminal: Home, Enter, a call back, a block unfolded, out again."""

import re
from pathlib import Path

import pytest

from tests.pty_app import Screen, plant, run

CALL = re.compile(r"call (\d+)")


def shown_call(text: str) -> int:
    found = CALL.search(text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_from_home_into_a_session_and_out(tmp_path: Path, size: tuple[int, int]) -> None:
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    recording = plant(home, cwd)
    before = recording.read_bytes(), recording.stat().st_mtime_ns
    with run(home, cwd=cwd, size=size) as terminal:
        screen = Screen(terminal, size)
        welcome = screen.wait("nothing leaves this machine")
        assert "enter" in welcome and "? help" in welcome
        assert "opus-4-6" in screen.wait("96 %")
        opened = screen.press("\r")
        opened = screen.wait("transcript")
        last = shown_call(opened)
        assert last == 30
        assert shown_call(screen.press("[")) == last - 1
        assert "╰" not in screen.text
        terminal.type(b"\x1b[A\r")
        screen.wait("╰")
        terminal.type(b"q")
        assert terminal.ended() == 0
        assert b"\x1b[?1049l" in terminal.output
    assert (recording.read_bytes(), recording.stat().st_mtime_ns) == before
