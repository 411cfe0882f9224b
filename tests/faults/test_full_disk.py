"""A full disk, for commands, for a chat and for its screen: said in one line, nothing broken, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal
from tests.faults.full_disk import wrapped
from tests.faults.table import BEGIN, END, PAGE, ROWS, put
from tests.faults.test_ends import ended
from tests.pty_app import CTXTUI, Screen, environment, plant

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
REPO = Path(__file__).parents[2]


@pytest.mark.slow
def test_commands_and_chats_on_a_full_disk() -> None:
    runs, chats = (150, 20) if ALL else (8, 1)
    command = [
        sys.executable,
        "-m",
        "tests.faults.full_disk",
        "--runs",
        str(runs),
        "--chats",
        str(chats),
        "--seed",
        "5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=REPO)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert (found["commands"], found["unclear"], found["lost"], found["invalid"]) == (runs, 0, 0, 0), found["wrong"]
    assert found["full"] > 1, "the disk was full now and then"


@pytest.mark.slow
def test_a_chat_that_ends_on_a_full_disk_says_so_in_the_terminal_it_gives_back(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    wrap = wrapped(folder)
    if wrap is None:
        pytest.skip("no small file system can be made here")
    env = environment(tmp_path / "home") | {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "CTXTUI_HOME": str(folder)}
    with Terminal([*wrap, *CTXTUI, "chat", "--provider", "offline"], env=env, size=(100, 30)) as terminal:
        screen = Screen(terminal, (100, 30))
        seen(screen, "the offline provider answers")
        disk = Path(f"/proc/{terminal.pid}/root{folder}")
        with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="space"):
            while True:
                filler.write(bytes(4096))
        # A commit may still fit into what the database holds already.
        for number in range(6):
            os.write(terminal.fd, b"say " + b"something long " * 40 + b"%d\r" % number)
            if seen(screen, "not recorded: the disk is full", 4, must=False):
                break
        seen(screen, "not recorded: the disk is full")
        os.write(terminal.fd, b"\x11")
        # It asks where the answer to the last message is still being written.
        until = time.monotonic() + 40
        while not gone(terminal) and not seen(screen, "leave?", 0.5, must=False):
            assert time.monotonic() < until, "it neither asks nor ends"
        if not gone(terminal):
            os.write(terminal.fd, b"y")
        code = ended(terminal, 40)
    last = terminal.output[-3000:]
    for restored in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h"):
        assert restored in last, restored
    said = last.rpartition(b"\x1b[")[2].partition(b"ctxtui: ")[2].decode()
    assert said.startswith("The end of the chat was not recorded (") and "the disk is full" in said
    assert said.count("\n") == 1 and b"Traceback" not in terminal.output
    assert code == 7


@pytest.mark.parametrize("what", ["home", "session"])
def test_a_screen_on_a_full_disk_shows_what_there_is_and_says_what_it_cannot_keep(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    wrap = wrapped(folder)
    if wrap is None:
        pytest.skip("no small file system can be made here")
    env = environment(tmp_path / "home") | {"CTXTUI_HOME": str(folder)}
    path = plant(tmp_path / "home", tmp_path)
    fill = ["sh", "-c", 'dd if=/dev/zero of="$0/filler" bs=4k 2>/dev/null; exec "$@"', str(folder)]
    size = (120, 40)
    with Terminal([*wrap, *fill, *CTXTUI, *([str(path)] if what == "session" else [])], env=env, size=size) as terminal:
        screen = Screen(terminal, size)
        if what == "session":
            seen(screen, "transcript")
        else:
            seen(screen, "sessions")
            seen(screen, "composition at peak")
            os.write(terminal.fd, b"\x10")
            seen(screen, "commands")
            os.write(terminal.fd, b"import session\r")
            seen(screen, "✗ failed: ")
            seen(screen, "full")
        os.write(terminal.fd, b"q")
        code = ended(terminal, 40)
    assert code == 0 and b"Traceback" not in terminal.output and b"report it" not in terminal.output
    for restored in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h"):
        assert restored in terminal.output[-3000:], restored


def seen(screen: Screen, words: str, cap: float = 40, *, must: bool = True) -> bool:
    """Wait until `words` are on the screen."""
    until = time.monotonic() + cap
    while time.monotonic() < until:
        screen.terminal.read(0.1)
        if words in "\n".join(screen.rows):
            return True
    assert not must, "\n".join(screen.rows)
    return False


def gone(terminal: Terminal) -> bool:
    """Whether the program has ended; its exit code is left to be asked for."""
    return os.waitid(os.P_PID, terminal.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def test_the_table_has_a_row_for_everything_that_is_run() -> None:
    page = PAGE.read_text()
    lines = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[3:]] == [row.what for row in ROWS]
    for line in lines[3:]:
        assert line.split(" | ")[3:5] == ["0", "0"], "lost, and invalid or wrong"
    assert put(page, {}) == page and put(page, {ROWS[1].what: "| another |"}).count("| another |") == 1
