"""A first-time user in a real terminal: Home, Enter, a call back, a block unfolded, out again."""

import re
from pathlib import Path

import pytest

from tests.pty_app import Screen, plant, run

CALL = re.compile(r"call (\d+)")


def on_call(screen: Screen, number: int) -> str:
    """The screen once its header says that call `number` is shown: a pane's frame stands before what it holds."""

    def there(text: str) -> bool:
        found = CALL.search(text)
        return "transcript" in text and found is not None and int(found[1]) == number

    return screen.until(there, f"call {number} is not shown")


@pytest.mark.parametrize("size", [pytest.param((120, 40), marks=pytest.mark.slow), (80, 24)], ids=["120x40", "80x24"])
def test_from_home_into_a_session_and_out(tmp_path: Path, size: tuple[int, int]) -> None:
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    recording = plant(home, cwd)
    before = recording.read_bytes(), recording.stat().st_mtime_ns
    with run(home, cwd=cwd, size=size) as terminal:
        screen = Screen(terminal, size)
        screen.wait("nothing leaves this machine", "enter", "? help")
        screen.wait("opus-4-6", "96 %")
        terminal.type(b"\r")
        on_call(screen, 30)
        terminal.type(b"[")
        assert "╰" not in on_call(screen, 29)
        terminal.type(b"\x1b[A\r")
        screen.wait("╰")
        terminal.type(b"q")
        screen.wait("q quit")
        terminal.type(b"q")
        assert terminal.ended() == 0
        assert b"\x1b[?1049l" in terminal.output
    assert (recording.read_bytes(), recording.stat().st_mtime_ns) == before


def test_a_burst_of_keys_in_one_write_ends_nothing(tmp_path: Path) -> None:
    home, cwd, size = tmp_path / "home", tmp_path / "project", (80, 24)
    cwd.mkdir()
    with run(home, str(plant(home, cwd)), cwd=cwd, size=size) as terminal:
        screen = Screen(terminal, size)
        on_call(screen, 30)
        for opens, shown, keys in (
            (b"?", "pgdn", b"\x1b\x1b"),
            (b"\x10", "▸", b"\x1b\x1b\x1b"),
            (b"W", "▸", b"\r\r\r"),
        ):
            terminal.type(opens)
            screen.wait(shown)
            terminal.type(keys)
            on_call(screen, 30)
        terminal.type(b"?\x1b\x1b\x10\x1b")
        # A `q` that is read together with the last escape would be alt+q.
        terminal.rest(1.5)
        on_call(screen, 30)
        terminal.type(b"qqq")
        assert terminal.ended() == 0, screen.text
