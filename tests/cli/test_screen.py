"""The real program in a pseudo terminal: it starts, takes a pipe, breaks without leaving a mess."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pexpect
import pytest

from tests.services.lookalike import ClaudeCode, claude_code, lines

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?>=<]*[A-Za-z$]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|.)")


class Terminal:
    """A program on a terminal of 120 x 40."""

    def __init__(self, command: str, arguments: list[str]) -> None:
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"}
        env["CTXTUI_TIPS"] = "false"
        env.pop("NO_COLOR", None)
        self.child = pexpect.spawn(
            command, arguments, env=env, dimensions=(40, 120), encoding="utf-8", timeout=20, codec_errors="replace"
        )
        self.seen = ""

    def wait_for(self, words: str, seconds: float = 20) -> None:
        """Read until `words` were drawn."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.seen += self.child.read_nonblocking(65536, 0.2)
            except pexpect.TIMEOUT:
                pass
            except pexpect.EOF:
                break
            if words in self.text:
                return
        pytest.fail(f"{words!r} was not drawn; seen: {self.text[-2000:]!r}")

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", _ESCAPES.sub(" ", self.seen))

    def end(self) -> int:
        self.child.expect(pexpect.EOF)
        self.seen += self.child.before or ""
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -1)


def ctxtui(*arguments: str) -> Terminal:
    return Terminal(sys.executable, ["-m", "ctxtui", *arguments])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(claude_code(3, words="zebra"))
    return path


def test_a_recording_opens_and_is_left(home: Path, recording: Path) -> None:
    screen = ctxtui(str(recording))
    screen.wait_for("zebra")
    screen.child.send("q")
    assert screen.end() == 0
    assert "\x1b[?1049l" in screen.seen
    assert "Traceback" not in screen.seen


@pytest.mark.slow
def test_standard_input_leaves_the_keyboard_alone(home: Path, recording: Path) -> None:
    screen = Terminal("/bin/sh", ["-c", f"cat {recording} | {sys.executable} -m ctxtui -"])
    screen.wait_for("zebra")
    screen.child.send("q")
    assert screen.end() == 0


def test_what_grows_is_on_screen(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    session = ClaudeCode()
    path.write_bytes(lines(session.turns(2, "zebra")))
    screen = ctxtui(str(path))
    screen.wait_for("zebra")
    for word in ("quagga", "okapi", "eland"):
        with path.open("ab") as file:
            file.write(lines(session.turns(1, word)))
        screen.wait_for(word)
    screen.child.send("q")
    assert screen.end() == 0


def test_a_crash_restores_the_terminal_and_names_session_and_log(home: Path, recording: Path, tmp_path: Path) -> None:
    breaks = "import ctxtui.tui.inspector.screen as i; i.InspectorScreen.on_key = lambda *_: 1 / 0"
    start = "from ctxtui.cli.run import run; import sys; sys.exit(run(sys.argv[1:]))"
    screen = Terminal(sys.executable, ["-c", f"{breaks}\n{start}", str(recording)])
    screen.wait_for("zebra")
    screen.child.send("x")
    assert screen.end() == 1
    after = screen.seen.rpartition("\x1b[?1049l")[2]
    assert "Traceback" not in after
    assert "ZeroDivisionError" in after
    assert recording.name in after
    (log,) = (tmp_path / "ctxtui/log").glob("crash-*.log")
    assert log.name in after
    assert "division by zero" in log.read_text()


def test_nothing_heavy_is_loaded_at_first_paint(home: Path, recording: Path) -> None:
    heavy = "anthropic openai mcp aiohttp tiktoken sqlite_utils genai_prices pydantic httpx2".split()
    check = f"""
import sys
from ctxtui.tui.app import CtxtuiApp
def painted(app):
    found = sorted(set(sys.modules) & set({heavy!r}))
    app.exit(message=f"loaded: {{found}}")
CtxtuiApp.on_mount = lambda app: app.call_after_refresh(painted, app)
from ctxtui.cli.run import run
sys.exit(run(sys.argv[1:]))
"""
    for arguments in ([], [str(recording)]):
        screen = Terminal(sys.executable, ["-c", check, *arguments])
        assert screen.end() == 0
        assert "loaded: []" in screen.text


@pytest.mark.slow
def test_nothing_is_looked_through_for_garbage_when_the_screen_is_left(home: Path, recording: Path) -> None:
    check = """
import atexit, gc, sys
atexit.register(lambda: print(f"collects: {gc.isenabled()}; looks through {len(gc.get_objects()) // 1000} thousands"))
from ctxtui.cli.run import run
sys.exit(run(sys.argv[1:]))
"""
    screen = Terminal(sys.executable, ["-c", check, str(recording)])
    screen.wait_for("zebra")
    screen.child.send("q")
    assert screen.end() == 0
    assert "collects: False; looks through 0 thousands" in screen.text, screen.text[-300:]
