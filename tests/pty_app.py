"""ctxtui in a real pseudo-terminal, with a home of its own."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyte

from benchmarks.terminal import Terminal
from tests.cases.claude_code import generate

CTXTUI = (sys.executable, "-m", "ctxtui")
REPO = Path(__file__).parent.parent


def environment(home: Path) -> dict[str, str]:
    """A user whose home is `home`: nothing of the real one is read or written."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(home),
        "CTXTUI_HOME": str(home / "ctxtui"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CODEX_HOME": str(home / ".codex"),
        "CTXTUI_TIPS": "false",
        "TEXTUAL_ANIMATIONS": "none",
        "PYTHONPATH": str(REPO),
        "LANG": "C.UTF-8",
    }


def plant(home: Path, cwd: Path, *, messages: int = 60) -> Path:
    """A Claude Code session of the project `cwd` in `home`, as that client stores it."""
    project = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
    project.mkdir(parents=True, exist_ok=True)
    path = project / "5e551011-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(generate(n_messages=messages, seed=3))
    return path


_UNKNOWN = re.compile(
    rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$[a-z]|\x1b\[[0-9;]*\$[a-z]|\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\\\)"
)
"""Sequences that the emulator would print instead of ignoring."""


class Screen:
    """What a person sees of a `Terminal`: its output drawn by a terminal emulator."""

    def __init__(self, terminal: Terminal, size: tuple[int, int]) -> None:
        self.terminal = terminal
        self._cells = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._cells)
        self._drawn = 0

    @property
    def rows(self) -> list[str]:
        """The lines of the screen now."""
        news = self.terminal.output[self._drawn :]
        self._drawn += len(news)
        self._stream.feed(_UNKNOWN.sub(b"", news))
        return [line.rstrip() for line in self._cells.display]

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(self.rows)

    def feed(self, written: bytes) -> None:
        """What another program writes to the same terminal."""
        assert self.rows
        self._stream.feed(written)

    def wait(self, *words: str) -> str:
        """The screen once all `words` are on it and nothing more is written."""
        return self.until(lambda text: all(word in text for word in words), f"not on the screen: {words}")

    def until(self, there: Callable[[str], bool], otherwise: str, cap: float = 30.0) -> str:
        """The screen once `there` is true of it and nothing more is written.

        Raises `TimeoutError` after `cap` seconds, which says `otherwise` and shows the screen.
        """
        until = time.perf_counter() + cap
        while not there(self.text):
            if time.perf_counter() > until:
                raise TimeoutError(f"{otherwise}:\n{self.text}")
            self.terminal.read(0.05)
        self.terminal.settle(0.3)
        return self.text


def run(home: Path, *arguments: str, cwd: Path, size: tuple[int, int] = (120, 40)) -> Terminal:
    """ctxtui started in `cwd` with `home` as home."""
    command = ("/bin/sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *CTXTUI, *arguments)
    return Terminal(command, env=environment(home), size=size)
